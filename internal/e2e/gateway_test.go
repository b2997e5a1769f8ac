package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binary is the path of the gateway that TestMain built.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv(mortalPoint) != "" {
			return mortalMain()
		}
		if os.Getenv("TEST_MYSQL_DSN") == "" {
			return m.Run() // Every test says what it misses.
		}
		dir, err := os.MkdirTemp("", "e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "gateway")
		build := exec.Command("go", "build", "-o", binary, "github.com/ndbgate/ndbgate/cmd/gateway")
		if output, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the gateway: %v\n%s", err, output)
			return 1
		}
		return m.Run()
	}())
}

// cluster returns the DSNs of the SQL nodes, separated by spaces.
func cluster(t testing.TB) string {
	t.Helper()
	dsns := os.Getenv("TEST_MYSQL_DSN")
	if dsns == "" {
		t.Skip("TEST_MYSQL_DSN is not set: no real cluster to test on")
	}
	return dsns
}

// killableCluster is cluster for tests that kill nodes, which scripts/cluster finds
// by CLUSTER_DIR. It skips the test where that is not set, or any of the others.
func killableCluster(t testing.TB, others ...string) string {
	t.Helper()
	dsns := cluster(t)
	for _, name := range append([]string{"CLUSTER_DIR"}, others...) {
		if os.Getenv(name) == "" {
			t.Skip(name + " is not set: no cluster whose nodes may be killed")
		}
	}
	return dsns
}

// command prepares a run of the gateway with the given settings.
func command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// gateway is a running gateway process.
type gateway struct {
	t     testing.TB
	url   string
	admin string
	road  string // asked for by requests that name none themselves; empty = the default
	cmd   *exec.Cmd
	ended chan error
}

const requestTimeout = 3 * time.Second

// serve starts a gateway on free ports and returns once it listens.
func serve(t testing.TB, dsns string) *gateway {
	t.Helper()
	return start(t, command([]string{
		"GATEWAY_LISTEN=127.0.0.1:0", "GATEWAY_ADMIN_LISTEN=127.0.0.1:0", "GATEWAY_DEFAULT_BACKEND=sql",
		"GATEWAY_NDB_CONNECTSTRING=" + os.Getenv("TEST_NDB_CONNECTSTRING"),
		"GATEWAY_SQL_DSN=" + dsns, "GATEWAY_REQUEST_TIMEOUT=" + requestTimeout.String(),
	}, "serve"))
}

// start starts a gateway and returns once it listens and its roads can serve.
func start(t testing.TB, cmd *exec.Cmd) *gateway {
	t.Helper()
	g := &gateway{t: t, cmd: cmd, ended: make(chan error, 1)}
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan struct{})
	go func() { // ends with the process
		var last bytes.Buffer
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			last.Reset()
			last.Write(lines.Bytes())
			if g.url == "" && g.readAddresses(lines.Bytes()) {
				close(listening)
			}
		}
		err := g.cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, last.String())
		}
		g.ended <- err
	}()
	select {
	case <-listening:
	case err := <-g.ended:
		t.Fatalf("the gateway did not start: %v", err)
	}
	t.Cleanup(func() {
		if g.cmd.ProcessState == nil {
			g.stop()
		}
	})
	g.awaitRoads()
	return g
}

func (g *gateway) readAddresses(line []byte) bool {
	var entry struct {
		Msg, Address string
		AdminAddress string `json:"admin_address"`
	}
	if json.Unmarshal(line, &entry) != nil || entry.Msg != "listening" {
		return false
	}
	g.url, g.admin = "http://"+entry.Address, "http://"+entry.AdminAddress
	return true
}

// stop ends the gateway as an operator does and checks that it ends well.
func (g *gateway) stop() {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	if err := <-g.ended; err != nil {
		g.t.Errorf("the gateway ended with %v", err)
	}
}

// on is the gateway with another road asked for.
func (g *gateway) on(road string) *gateway {
	other := *g
	other.road = road
	return &other
}

// roads are the names of the roads, for tests of both.
var roads = []string{"ndb", "sql"}

// onEachRoad runs a test by each road of one gateway.
func onEachRoad(t *testing.T, g *gateway, f func(t *testing.T, g *gateway)) {
	for _, road := range roads {
		t.Run(road, func(t *testing.T) {
			g := g.on(road)
			g.t = t
			f(t, g)
		})
	}
}

// awaitRoads returns once every road can serve.
func (g *gateway) awaitRoads() {
	g.t.Helper()
	await(g.t, "every road is up", waitLimit, func() (bool, string) {
		_, body := g.adminGet("/readyz")
		return strings.Contains(body, `"down":[]`), body
	})
}

// await looks every 20 ms until what is waited for is so, and fails the test
// with what was seen last where it is not after the limit.
func await(t testing.TB, what string, limit time.Duration, look func() (ok bool, seen string)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		ok, seen := look()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: got %s, want that %s", limit, seen, what)
		}
	}
}

// answer is what came back for one request.
type answer struct {
	status int
	header http.Header
	body   string
}

// client gives up only long after the gateway should have.
var client = &http.Client{
	Timeout:   4 * requestTimeout,
	Transport: &http.Transport{MaxIdleConnsPerHost: 64},
}

func (g *gateway) try(method, path, body string, headers ...string) (answer, error) {
	r, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if g.road != "" {
		r.Header.Set("X-Backend", g.road)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b)}, err
}

func (g *gateway) do(method, path, body string, headers ...string) answer {
	g.t.Helper()
	a, err := g.try(method, path, body, headers...)
	if err != nil {
		g.t.Fatal(err)
	}
	return a
}
