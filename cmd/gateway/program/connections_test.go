package program

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// What the clients are that nobody should notice.
const (
	idleClients = 10_000
	slowClients = 200 // half of them in the header, half in the body; a byte per second

	// connectionsForVariable in the environment is how long the clients stay, such as
	// 1m; the default is long enough to see slow headers cut off.
	connectionsForVariable = "TEST_CONNECTIONS_FOR"
	connectionsFor         = 7 * time.Second

	// mostPerConnection bounds the memory of an idle connection: a goroutine and two
	// buffers of net/http, and what the collector leaves.
	mostPerConnection = 64 << 10
)

// Two gateways, one with 10,000 idle connections and 200 slow writers and one without,
// answer other clients, block by block in turn, so that what else happens on the
// machine meets both.
func TestConnections_IdleAndSlowOnes_DoNotSlowOthersDown(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("takes many goroutines, more than the race detector can have, and some seconds")
	}
	stay := connectionsFor
	if text := os.Getenv(connectionsForVariable); text != "" {
		var err error
		if stay, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	needDescriptors(t, idleClients+slowClients+500)
	quiet, loaded := startGateway(t), startGateway(t)
	before := loaded.gauges(t)

	idle := dialIdle(t, loaded.address)
	ctx, endSlow := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	var cut atomic.Int64
	for i := range slowClients {
		slow.Go(func() { writeSlowly(ctx, loaded.address, i, &cut) }) // ends with endSlow
	}
	var p99s [2][]time.Duration
	for end := time.Now().Add(stay); time.Now().Before(end) || len(p99s[0]) < 5; {
		for i, g := range []*childGateway{quiet, loaded} {
			p99s[i] = append(p99s[i], g.p99(t))
		}
	}
	during, quietGauges := loaded.gauges(t), quiet.gauges(t)
	endSlow()
	slow.Wait()
	for _, c := range idle {
		c.Close()
	}

	alone, beside := median(p99s[0]), median(p99s[1])
	perConnection := (during["process_resident_memory_bytes"] - quietGauges["process_resident_memory_bytes"]) / (idleClients + slowClients)
	t.Logf("p99 of others: %v alone, %v beside %d idle and %d slow connections (medians of %d); %d slow ones were cut off; %.1f KiB of memory per connection",
		alone, beside, idleClients, slowClients, len(p99s[0]), cut.Load(), perConnection/1024)
	if beside > 2*alone {
		t.Errorf("p99: got %v, want at most twice %v", beside, alone)
	}
	if got := during["ndbgate_connections"]; got < idleClients {
		t.Errorf("open connections: got %v, want at least %d", got, idleClients)
	}
	if perConnection > mostPerConnection {
		t.Errorf("memory per connection: got %.0f bytes, want at most %d", perConnection, mostPerConnection)
	}
	if cut.Load() == 0 {
		t.Error("no slow writer was cut off")
	}
	loaded.waitFor(t, func(now map[string]float64) bool {
		// Those of the clients that measure, and the one that looks, may stay.
		return now["ndbgate_connections"] <= blockClients && now["go_goroutines"] <= before["go_goroutines"]+2*blockClients
	})
}

// needDescriptors raises the limit of open files, also of the processes that are
// started from here on, or skips the test.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= n {
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: max(n, limit.Max)}); err != nil {
		t.Skipf("needs %d open files (ulimit -n), not %d: %v", n, limit.Cur, err)
	}
}

// childGateway is a gateway in a process of its own.
type childGateway struct {
	address, admin string
	client         *http.Client
}

func startGateway(t *testing.T) *childGateway {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--default-backend=sql")
	cmd.Env = append(os.Environ(), asGatewayVariable+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := readLog(stderr)
	line := log.wait(t, "listening")
	read := make(chan struct{})
	go func() { // ends with the process
		log.drain()
		close(read)
	}()
	g := &childGateway{address: line["address"].(string), admin: line["admin_address"].(string)}
	g.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: blockClients}, Timeout: patience}
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
	return g
}

// A block is this many requests of each of some clients.
const (
	blockClients  = 4
	blockRequests = 100
)

// p99 measures a block of lists.
func (g *childGateway) p99(t *testing.T) time.Duration {
	t.Helper()
	took := make([][]time.Duration, blockClients)
	var clients sync.WaitGroup
	for i := range took {
		clients.Go(func() { // ends with its requests
			for range blockRequests {
				begun := time.Now()
				answer, err := g.client.Get("http://" + g.address + "/v1/employees?page_size=1")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Errorf("got %d, %v", answer.StatusCode, err)
					return
				}
				took[i] = append(took[i], time.Since(begun))
			}
		})
	}
	clients.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) < blockClients*blockRequests {
		t.Fatal("requests failed")
	}
	return all[len(all)*99/100]
}

func median(of []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}

// gauges reads the metrics that have no labels.
func (g *childGateway) gauges(t *testing.T) map[string]float64 {
	t.Helper()
	status, text := mustGet(t, "http://"+g.admin+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("metrics: got %d", status)
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = n
		}
	}
	return values
}

func (g *childGateway) waitFor(t *testing.T, done func(map[string]float64) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		now := g.gauges(t)
		if done(now) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("connections %v, goroutines %v: they have not ended", now["ndbgate_connections"], now["go_goroutines"])
		}
	}
}

// dialFrom connects from one of several addresses of the loopback: one alone has not
// ports enough for all clients.
func dialFrom(i int, address string) (net.Conn, error) {
	var d net.Dialer
	if runtime.GOOS == "linux" { // others have only 127.0.0.1
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%8))}
	}
	d.Timeout = patience
	return d.Dial("tcp", address)
}

// dialIdle opens connections that have had one answer each.
func dialIdle(t *testing.T, address string) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, idleClients)
	var dialling sync.WaitGroup
	const dialers = 16
	for first := range dialers {
		dialling.Go(func() { // ends with its share
			for i := first; i < len(conns); i += dialers {
				c, err := dialFrom(i, address)
				if err != nil {
					t.Error(err)
					return
				}
				conns[i] = c
				t.Cleanup(func() { c.Close() })
				if err := askOnce(c); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	dialling.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return conns
}

func askOnce(c net.Conn) error {
	if _, err := io.WriteString(c, "GET /v1/backends HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(c, 4096), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("an idle client got %d", answer.StatusCode)
	}
	return nil
}

// writeSlowly is a client that sends a byte per second, and begins anew where the
// gateway ends its connection.
func writeSlowly(ctx context.Context, address string, i int, cut *atomic.Int64) {
	text := "GET /v1/employees HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
	if i%2 == 1 {
		text = "PUT /v1/employees/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		c, err := dialFrom(i, address)
		if err != nil {
			continue
		}
		for _, err = io.WriteString(c, text); err == nil; _, err = io.WriteString(c, " ") {
			select {
			case <-tick.C:
			case <-ctx.Done():
				c.Close()
				return
			}
		}
		cut.Add(1)
		c.Close()
	}
}
