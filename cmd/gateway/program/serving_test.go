package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// asGatewayVariable in the environment makes the test binary a gateway.
const asGatewayVariable = "TEST_AS_GATEWAY"

// patience is how long a test waits for what comes at once where all is well.
const patience = 20 * time.Second

// blockingStore tells when a Get began, and lets it end when it is released.
type blockingStore struct {
	memstore.Store
	began   func()
	release <-chan struct{}
}

func (s *blockingStore) Get(context.Context, int64) (models.Employee, error) {
	s.began()
	<-s.release
	e := models.NewEmployee()
	e.ID = 1
	return e, nil
}

// openBlocking opens a backend sql whose Get writes a line and never ends.
func openBlocking(w io.Writer) func(Config, *slog.Logger) ([]road, error) {
	s := &blockingStore{began: func() { fmt.Fprintln(w, "get began") }}
	return opens(road{name: sqlName, backend: s})
}

// serving is a gateway that a test started.
type serving struct {
	public, admin string // URLs
	log           *logLines
	stop          context.CancelFunc
	code          <-chan int
}

func serveInTest(t *testing.T, open func(Config, *slog.Logger) ([]road, error), args ...string) *serving {
	t.Helper()
	return serveWith(t, process{open: open}, args...)
}

// serveWith serves with roads and signals of the process.
func serveWith(t *testing.T, p process, args ...string) *serving {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	code := make(chan int, 1)
	go func() { // ends with stop
		args := append([]string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--default-backend=sql"}, args...)
		p.getenv, p.stdout, p.stderr = lookup(nil), io.Discard, writer
		code <- command(ctx, args, p)
		writer.Close()
	}()
	s := &serving{log: readLog(reader), stop: stop, code: code}
	line := s.log.wait(t, "listening")
	s.public, s.admin = "http://"+line["address"].(string), "http://"+line["admin_address"].(string)
	t.Cleanup(func() { stop(); s.log.drain() })
	return s
}

func (s *serving) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case code := <-s.code:
		return code
	case <-time.After(patience):
		t.Fatalf("still running; its log:\n%s", s.log.text())
		return 0
	}
}

// logLines reads a log of JSON objects as it grows.
type logLines struct {
	lines chan map[string]any // closed at the end of the log

	mu  sync.Mutex // guards all
	all strings.Builder
}

func readLog(r io.Reader) *logLines {
	l := &logLines{lines: make(chan map[string]any, 1000)}
	go func() { // ends with the log
		defer close(l.lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			l.mu.Lock()
			l.all.WriteString(scanner.Text() + "\n")
			l.mu.Unlock()
			line := map[string]any{}
			if json.Unmarshal(scanner.Bytes(), &line) == nil {
				l.lines <- line
			}
		}
	}()
	return l
}

func (l *logLines) wait(t *testing.T, message string) map[string]any {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-l.lines:
			if !ok {
				t.Fatalf("the log ended without %q:\n%s", message, l.text())
			}
			if line["msg"] == message {
				return line
			}
		case <-timeout:
			t.Fatalf("no %q in the log:\n%s", message, l.text())
		}
	}
}

func (l *logLines) drain() {
	for range l.lines {
	}
}

func (l *logLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// client keeps no connections, which would live longer than the test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}

func get(url string) (status int, body string, err error) {
	response, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func mustGet(t *testing.T, url string) (status int, body string) {
	t.Helper()
	status, body, err := get(url)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// waitRefused dials until nobody listens any more.
func waitRefused(t *testing.T, address string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(end) {
			t.Fatalf("%s still accepts connections", address)
		}
	}
}
