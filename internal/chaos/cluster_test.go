package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Node IDs of deploy/config.ini.
const managementServer = 1

var (
	dataNodes = []int{2, 3}
	sqlNodes  = []int{51, 52}
)

// nodeLimit is how long one command of scripts/cluster may take.
const nodeLimit = 3 * time.Minute

// clusterScript runs scripts/cluster, which finds the cluster by CLUSTER_DIR.
func clusterScript(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), nodeLimit)
	defer cancel()
	if output, err := exec.CommandContext(ctx, "../../scripts/cluster", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("scripts/cluster %v: %w\n%s", args, err, output)
	}
	return nil
}

func killNode(id int) error  { return clusterScript("kill-node", strconv.Itoa(id)) }
func startNode(id int) error { return clusterScript("start-node", strconv.Itoa(id)) }

// signalNode signals all processes of a node.
func signalNode(id int, signal syscall.Signal) error {
	text, err := os.ReadFile(filepath.Join(os.Getenv("CLUSTER_DIR"), "run", fmt.Sprint(id, ".pid")))
	if err != nil {
		return err
	}
	leader, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("node %d: %w", id, err)
	}
	if err := syscall.Kill(-leader, signal); err != nil {
		return fmt.Errorf("node %d: %w", id, err)
	}
	return nil
}
