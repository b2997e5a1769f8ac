package program

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

func TestServe_AnswersAndStops(t *testing.T) {
	s := serveInTest(t, opens(road{name: "ndb", backend: store.Unavailable{Reason: "down"}}, road{name: "sql", backend: &memstore.Store{}}))
	for _, url := range []string{s.public + "/v1/employees", s.admin + "/livez", s.admin + "/readyz", s.admin + "/metrics"} {
		if status, body := mustGet(t, url); status != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", url, status, body)
		}
	}
	_, metrics := mustGet(t, s.admin+"/metrics")
	for _, want := range []string{"ndbgate_backend_up", "ndbgate_http_request_duration_seconds", "go_goroutines", "process_start_time_seconds"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	s.stop()
	s.log.wait(t, "stopped")
	if got := s.exitCode(t); got != exitOK {
		t.Errorf("exit code: got %d, want 0", got)
	}
}

func TestServe_Shutdown_RequestInFlightEnds(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	s := serveInTest(t, opens(road{name: "sql", backend: &blockingStore{began: func() { close(began) }, release: release}}))
	answered := make(chan string, 1)
	go func() { // ends with the request
		status, body, err := get(s.public + "/v1/employees/1")
		answered <- fmt.Sprint(status, " ", err, " ", body)
	}()
	<-began
	s.stop()
	s.log.wait(t, "draining")

	if status, body := mustGet(t, s.admin+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "draining") {
		t.Errorf("/readyz while draining: got %d %s, want 503", status, body)
	}
	waitRefused(t, strings.TrimPrefix(s.public, "http://"))
	select {
	case code := <-s.code:
		t.Fatalf("ended with %d before the request", code)
	default:
	}

	close(release)
	if got := <-answered; !strings.HasPrefix(got, "200 <nil> ") {
		t.Errorf("request in flight: got %s, want 200", got)
	}
	if got := s.exitCode(t); got != exitOK {
		t.Errorf("exit code: got %d, want 0", got)
	}
	waitRefused(t, strings.TrimPrefix(s.admin, "http://"))
}

func TestServe_Shutdown_RequestWithoutEndIsCutOff(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	cfg, err := Load([]string{"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--default-backend=sql"}, lookup(nil))
	if err != nil {
		t.Fatal(err)
	}
	roads := []road{{name: "sql", backend: &blockingStore{began: func() { close(began) }, release: release}}}
	g := newGateway(&cfg, newRegistry(cfg, roads), &guard{watcher: &access.Watcher{}}, slog.New(slog.DiscardHandler), new(slog.LevelVar))
	g.drainTimeout = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	public, err := listen(ctx, &cfg, "listen", cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := listen(ctx, &cfg, "admin-listen", cfg.AdminListen)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.serve(ctx, public, admin) }() // ends with stop
	answered := make(chan error, 1)
	go func() { // ends with the request
		_, _, err := get("http://" + public.Addr().String() + "/v1/employees/1")
		answered <- err
	}()
	<-began
	stop()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "requests were cut off after 1ms") {
		t.Errorf("got %v, want an error that says so", err)
	}
	if err := <-answered; err == nil {
		t.Error("the request got an answer")
	}
}

func TestServe_SecondSignalEndsAtOnce(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--default-backend=sql")
	cmd.Env = append(os.Environ(), asGatewayVariable+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := readLog(stderr)
	address := log.wait(t, "listening")["address"].(string)
	answered := make(chan error, 1)
	go func() { // ends with the process
		_, _, err := get("http://" + address + "/v1/employees/1")
		answered <- err
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("got %q, %v, want the line of Get", line, err)
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if signal == syscall.SIGTERM {
			log.wait(t, "draining")
		}
	}
	log.drain()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailure {
		t.Errorf("got %v, want exit code 1", err)
	}
	if err := <-answered; err == nil {
		t.Error("the request got an answer")
	}
}

func TestServe_BusyPort_NamesTheSetting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, setting := range []string{"listen", "admin-listen"} {
		args := []string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--" + setting + "=" + l.Addr().String()}
		r := runCommand(t, opens(), args...)
		want := fmt.Sprintf("gateway: %s (flag --%s): listen tcp %s: bind: address already in use\n"+
			"another program listens there: end it, or choose another address with --%s or GATEWAY_%s\n",
			setting, setting, l.Addr(), setting, strings.ToUpper(strings.ReplaceAll(setting, "-", "_")))
		if r.code != exitFailure || !strings.HasSuffix(r.stderr, want) {
			t.Errorf("got exit code %d and %q, want 1 and %q", r.code, r.stderr, want)
		}
	}
}

func TestServe_BackendDownAtStart_ServesAndTellsNoPassword(t *testing.T) {
	address := deadAddress(t)
	s := serveInTest(t, openRoads, "--sql-dsn=root:"+password+"@tcp("+address+")/ndbtest?timeout=1s", "--ndb-connectstring="+address, "--log-level=debug")
	var seen strings.Builder
	for _, test := range []struct {
		url    string
		status int
	}{
		{s.public + "/v1/employees/1", http.StatusServiceUnavailable},
		{s.public + "/v1/backends", http.StatusOK},
		{s.admin + "/livez", http.StatusOK},
		{s.admin + "/readyz", http.StatusServiceUnavailable},
		{s.admin + "/metrics", http.StatusOK},
		{s.admin + "/debug/pprof/cmdline", http.StatusForbidden},
		{s.admin + "/debug/pprof/goroutine?debug=2", http.StatusOK},
	} {
		status, body := mustGet(t, test.url)
		if status != test.status {
			t.Errorf("%s: got %d %s, want %d", test.url, status, body, test.status)
		}
		seen.WriteString(body)
	}
	s.stop()
	if got := s.exitCode(t); got != exitOK {
		t.Errorf("exit code: got %d, want 0", got)
	}
	s.log.drain()
	if strings.Contains(seen.String()+s.log.text(), password) {
		t.Errorf("the password shows in\n%s%s", &seen, s.log.text())
	}
	for _, want := range []string{`"sql-dsn":"(set)"`, address} {
		if !strings.Contains(s.log.text(), want) {
			t.Errorf("the log lacks %s:\n%s", want, s.log.text())
		}
	}
}
