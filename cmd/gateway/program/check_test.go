package program

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// pingStore answers Ping and Status as it is told.
type pingStore struct {
	memstore.Store
	err    error
	status store.Status
	keys   error
}

func (s *pingStore) Ping(context.Context) error { return s.err }
func (s *pingStore) Status() store.Status       { return s.status }

func (s *pingStore) CheckAnswers(context.Context) error { return s.keys }

func opens(roads ...road) func(Config, *slog.Logger) ([]road, error) {
	return func(Config, *slog.Logger) ([]road, error) { return roads, nil }
}

// deadAddress is one that nobody listens on.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var duration = regexp.MustCompile(`[0-9.]+m?s\b`)

func TestCheck(t *testing.T) {
	twoNodes := store.Status{Up: true, Nodes: []store.NodeStatus{{Address: "h:1", Up: true}, {Address: "h:2"}}}
	onlyNode := store.Status{Nodes: []store.NodeStatus{{Address: "h:1"}}, Reason: "it was down a moment ago"}
	ndb := road{name: "ndb", address: "mgm:1186", backend: &pingStore{}}
	sql := func(b *pingStore) road { return road{name: "sql", address: "h:1,h:2", backend: b} }
	tests := []struct {
		name  string
		roads []road
		code  int
		want  []string
	}{
		{"ok", []road{ndb, sql(&pingStore{})}, exitOK, []string{
			"ndb  mgm:1186  ok  0s",
			"sql  h:1,h:2   ok  0s",
		}},
		{"one node down", []road{sql(&pingStore{status: twoNodes})}, exitOK, []string{"sql  h:1,h:2  ok  0s, but down: h:2"}},
		{"no table for keys", []road{ndb, sql(&pingStore{keys: fmt.Errorf("%w: %w", store.ErrNoAnswers, store.ErrUnavailable)})}, exitOK, []string{
			"ndb  mgm:1186  ok  0s\n",
			"sql  h:1,h:2   ok  0s, but Idempotency-Key is refused: the table idempotency of deploy/schema.sql is missing, or another one\n",
		}},
		{"no table for keys, and one node down", []road{sql(&pingStore{status: twoNodes, keys: store.ErrNoAnswers})}, exitOK, []string{
			"sql  h:1,h:2  ok  0s, but down: h:2; Idempotency-Key is refused: the table",
		}},
		{"keys could not be checked", []road{sql(&pingStore{keys: store.ErrUnavailable})}, exitOK, []string{"sql  h:1,h:2  ok  0s\n"}},
		{"the only node was down before it answered", []road{sql(&pingStore{status: onlyNode})}, exitOK, []string{"sql  h:1,h:2  ok  0s\n"}},
		{"failed", []road{ndb, sql(&pingStore{err: fmt.Errorf("%w: access denied\nand more", store.ErrUnavailable)})}, exitFailure, []string{
			"sql  h:1,h:2   failed  access denied; and more, after 0s",
		}},
		{"one of two failed", []road{sql(&pingStore{err: store.ErrUnavailable}), {name: "x", backend: &pingStore{}}}, exitFailure, []string{
			"sql  h:1,h:2  failed  unavailable, after 0s", "x             ok      0s",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := runCommand(t, opens(test.roads...), "check")
			if r.code != test.code {
				t.Errorf("exit code: got %d, want %d", r.code, test.code)
			}
			stdout := duration.ReplaceAllString(r.stdout, "0s")
			for _, want := range test.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("got\n%s\nwant a line with %q", stdout, want)
				}
			}
			if got := strings.Count(r.stdout, "\n"); got != len(test.roads) {
				t.Errorf("lines: got %d, want %d", got, len(test.roads))
			}
		})
	}
}

// silentServers accept connections and never answer.
func silentServers(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String() // the kernel accepts as far as the backlog goes
}

func TestCheck_DeadOrSilentServers_SaysSoInTime(t *testing.T) {
	tests := []struct {
		name, address string
		want          string
	}{
		{"dead", deadAddress(t), "connection refused"},
		{"silent", silentServers(t), "failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			r := runCommand(t, openRoads, "check", "--sql-dsn=root:"+password+"@tcp("+test.address+")/ndbtest", "--ndb-connectstring="+test.address)
			if took := time.Since(start); took > checkTimeout+2*time.Second {
				t.Errorf("took %v, more than %v", took, checkTimeout+2*time.Second)
			}
			if r.code != exitFailure {
				t.Errorf("exit code: got %d, want 1", r.code)
			}
			for _, want := range []string{"sql  " + test.address, "ndb  " + test.address, "failed", test.want} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("got\n%s\nwant a line with %q", r.stdout, want)
				}
			}
			if strings.Contains(r.stdout+r.stderr, password) {
				t.Errorf("the password is in the output: %s%s", r.stdout, r.stderr)
			}
			t.Logf("%s", r.stdout)
		})
	}
}
