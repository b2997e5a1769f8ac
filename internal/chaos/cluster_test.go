package chaos

import (
	"context"
	"errors"
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
const mgm = 1

var (
	dataNodes = []int{2, 3}
	sqlNodes  = []int{51, 52}
)

const (
	usableLimit = 75 * time.Second // that a started node may take
	nodeLimit   = 3 * time.Minute  // that one command of scripts/cluster may take, as it waits for others
)

// clusterScript runs scripts/cluster, which finds the cluster by CLUSTER_DIR. It has a
// limit of its own: what has failed is to return when a run is over, too.
func clusterScript(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), nodeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../../scripts/cluster", args...)
	cmd.WaitDelay = time.Second // what the script has started may hold its output open
	cmd.Env = append(os.Environ(), fmt.Sprint("CLUSTER_TIMEOUT=", int(usableLimit.Seconds())))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("scripts/cluster %v: %w\n%s", args, err, output)
	}
	return nil
}

// realNodes are those of scripts/cluster.
type realNodes struct{}

func (realNodes) kill(id int) error { return clusterScript("kill-node", strconv.Itoa(id)) }

// starts is how often a node may be started. A mysqld that starts while a data
// node or the management server starts was seen to wait for two minutes.
const starts = 3

func (n realNodes) start(id int) error {
	var errs []error
	for range starts {
		err := clusterScript("start-node", strconv.Itoa(id))
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if err := n.kill(id); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(errs...)
}

// signal signals all processes of a node.
func (realNodes) signal(id int, signal syscall.Signal) error {
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
