package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

func openTwo(t *testing.T) (a, b *fakeServer, s *sqlstore.Store, log *logLines) {
	t.Helper()
	a, b = startServer(t), startServer(t)
	logger, log := newLog()
	s = open(t, sqlstore.Config{DSNs: []string{a.dsn(), b.dsn()}, Logger: logger, DialTimeout: 2 * time.Second})
	return a, b, s, log
}

func mustGet(t *testing.T, s store.Employees) {
	t.Helper()
	if _, err := s.Get(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

func TestNodes_TakenInTurn(t *testing.T) {
	a, b, s, _ := openTwo(t)
	for range 10 {
		mustGet(t, s)
	}
	if gotA, gotB := a.count("EXECUTE"), b.count("EXECUTE"); gotA != 5 || gotB != 5 {
		t.Errorf("got %d and %d calls, want 5 each", gotA, gotB)
	}
}

func TestNodes_DeadOneIsSkippedAndComesBack(t *testing.T) {
	a, b, s, log := openTwo(t)
	mustGet(t, s)
	mustGet(t, s)
	a.stop()
	for range 10 {
		for call, run := range operations {
			if err := run(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", call, err)
			}
		}
	}
	log.wait(t, "SQL node is down", a.address)
	status := s.Status()
	if !status.Up || status.Nodes[0].Up || !status.Nodes[1].Up {
		t.Errorf("got status %+v, want up, with the first node down", status)
	}

	a.start()
	log.wait(t, "SQL node is up", a.address)
	before := a.count("EXECUTE")
	mustGet(t, s)
	mustGet(t, s)
	if got := a.count("EXECUTE") - before; got != 1 {
		t.Errorf("got %d of 2 calls on the node that came back, want 1", got)
	}
	if n := b.count("EXECUTE"); n == 0 {
		t.Error("got no call on the other node")
	}
}

// openProbed opens one node and returns when its first probe is over.
func openProbed(t *testing.T) (*fakeServer, *sqlstore.Store, *logLines) {
	t.Helper()
	server := startServer(t)
	probed := make(chan struct{}, 1)
	server.onRequest(func(request string) reply {
		if request == "QUIT" {
			select {
			case probed <- struct{}{}:
			default:
			}
		}
		return reply{}
	})
	logger, log := newLog()
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, Logger: logger})
	<-probed
	server.on("", reply{})
	return server, s, log
}

// Connections that the server closed while they were idle cost no call.
func TestNodes_RestartBetweenCalls_CostsNoCall(t *testing.T) {
	server, s, _ := openProbed(t)
	for call, run := range operations {
		mustGet(t, s)
		server.stop()
		server.start()
		if err := run(t.Context(), s); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// What surely was not done on one node is done on the next one, once.
func TestNodes_NextOneIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		reply   reply
		calls   string
	}{
		"cut before a write was sent":    {"PREPARE", cut, allCalls},
		"cut at a read":                  {"EXECUTE SELECT", cut, "get,list,save if,patch if,delete if"},
		"cut at the start of a tx":       {"QUERY START", cut, "save if,patch if,delete if"},
		"cut in a tx before the commit":  {"EXECUTE UPDATE", cut, "save if,patch if"},
		"not connected to the cluster":   {"EXECUTE", fails(1296, "Got error 157 'Could not connect to storage engine' from NDBCLUSTER"), allCalls},
		"table not there yet":            {"PREPARE", fails(1146, "Table 'ndbtest.employee' doesn't exist"), allCalls},
		"read only while it joins":       {"EXECUTE", fails(1036, "Table 'employee' is read only"), "create,save,patch,delete"},
		"too many connections":           {"CONNECT", fails(1040, "Too many connections"), allCalls},
		"access denied":                  {"CONNECT", fails(1045, "Access denied for user 'hr_gateway'@'localhost'"), allCalls},
		"shutting down":                  {"QUERY START", fails(1053, "Server shutdown in progress"), "save if,patch if,delete if"},
		"the table is an older one":      {"PREPARE", fails(1054, "Unknown column 'first' in 'field list'"), allCalls},
		"NDB lost at a read":             {"EXECUTE", nodeFailure, "get,list,save if,patch if,delete if"},
		"NDB lost at a read in a tx":     {"EXECUTE SELECT", fails(1296, "Got error 4009 'Cluster Failure' from NDBCLUSTER"), "save if,delete if"},
		"handshake breaks off":           {"CONNECT", cut, allCalls},
		"settings are refused for a tie": {"QUERY SET", fails(1053, "Server shutdown in progress"), allCalls},
	} {
		for call := range strings.SplitSeq(c.calls, ",") {
			t.Run(name+"/"+call, func(t *testing.T) {
				a, b, s, _ := openTwo(t)
				a.on(c.request, c.reply)
				for range 2 { // one of the two begins with node a
					if err := operations[call](t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				if n := b.count("EXECUTE"); n == 0 {
					t.Error("got no call on the other node")
				}
			})
		}
	}
}

// What may have been done, and what another node would answer too, is not tried
// again.
func TestNodes_NextOneIsNotAsked(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		reply   reply
		calls   string
	}{
		"cut after a write was sent": {"EXECUTE", cut, "create,save,patch,delete"},
		"cut at the commit":          {"QUERY COMMIT", cut, "save if,patch if,delete if"},
		"NDB did not answer":         {"EXECUTE", fails(1296, "Got error 4009 'Cluster Failure' from NDBCLUSTER"), "create,save,patch,delete"},
		"row exists":                 {"EXECUTE", fails(1062, "Duplicate entry"), "create"},
		"deadlock":                   {"EXECUTE", fails(1213, "Deadlock found"), "create,save,patch,delete,save if"},
		"no row":                     {"EXECUTE", reply{none: true}, "get,patch,delete"},
		"NDB gave up":                {"EXECUTE", nodeFailure, "create,save,patch,delete"},
		"for good":                   {"EXECUTE", fails(1064, "You have an error in your SQL syntax"), allCalls},
	} {
		for call := range strings.SplitSeq(c.calls, ",") {
			t.Run(name+"/"+call, func(t *testing.T) {
				a, b, s, _ := openTwo(t)
				a.on(c.request, c.reply)
				b.on(c.request, c.reply)
				if err := operations[call](t.Context(), s); err == nil {
					t.Fatal("got no error")
				}
				if nA, nB := a.count(c.request), b.count(c.request); nA > 0 && nB > 0 {
					t.Errorf("got %d and %d requests on the nodes, want one node asked", nA, nB)
				}
			})
		}
	}
}

func TestNodes_AllDown_PromptlyUnavailable(t *testing.T) {
	a, b := startServer(t), startServer(t)
	a.on("CONNECT", silent) // as a host that drops packets
	b.stop()
	logger, log := newLog()
	const dialTimeout = time.Second
	s := open(t, sqlstore.Config{DSNs: []string{a.dsn(), b.dsn()}, DialTimeout: dialTimeout, Logger: logger})
	log.wait(t, "SQL node is down", b.address)
	log.wait(t, "SQL node is down", a.address)

	for call, run := range operations {
		start := time.Now()
		wantError(t, run(t.Context(), s), store.ErrUnavailable, nil)
		if took := time.Since(start); took > dialTimeout/2 {
			t.Errorf("%s: took %v with all nodes known to be down", call, took)
		}
	}
	wantError(t, s.Ping(t.Context()), store.ErrUnavailable, nil)
	status := s.Status()
	if status.Up || !strings.Contains(status.Reason, a.address) || !strings.Contains(status.Reason, b.address) {
		t.Errorf("got status %+v, want down with the reasons of both nodes", status)
	}

	b.start()
	log.wait(t, "SQL node is up", b.address)
	mustGet(t, s)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}

// A server that is stopped, not dead, is found out by a probe.
func TestNodes_SilentOneIsTakenOut(t *testing.T) {
	a, b, s, log := openTwo(t)
	mustGet(t, s)
	mustGet(t, s)
	a.on("", silent)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), fast)
		_, err := s.Get(ctx, 1)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	log.wait(t, "SQL node is down", a.address)
	before := b.count("EXECUTE")
	for range 4 {
		mustGet(t, s)
	}
	if got := b.count("EXECUTE") - before; got != 4 {
		t.Errorf("got %d of 4 calls on the node that answers", got)
	}
	a.on("", reply{})
	log.wait(t, "SQL node is up", a.address)
}

// A node without a connection to spare still serves those that it has.
func TestNodes_TooManyConnections_StaysUp(t *testing.T) {
	server := startServer(t)
	logger, _ := newLog()
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, Logger: logger})
	mustGet(t, s)
	server.on("CONNECT", fails(1040, "Too many connections"))
	busy, release := make(chan struct{}), make(chan struct{})
	held := store.Precondition{Matches: func(*models.Employee) bool {
		close(busy)
		<-release
		return true
	}}
	done := make(chan error)
	go func() { done <- s.Delete(t.Context(), 1, held) }() // ends after release
	<-busy
	_, err := s.Get(t.Context(), 1)
	wantError(t, err, store.ErrUnavailable, nil)
	if status := s.Status(); !status.Up {
		t.Errorf("got status %+v, want up", status)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("delete: %v", err)
	}
	mustGet(t, s)
}

// A node that lets nobody in serves nothing.
func TestNodes_TooManyConnections_NoneOpen_IsTakenOut(t *testing.T) {
	server := startServer(t)
	server.on("CONNECT", fails(1040, "Too many connections"))
	logger, log := newLog()
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, Logger: logger})
	log.wait(t, "SQL node is down", "1040")
	wantError(t, s.Create(t.Context(), employee(1)), store.ErrUnavailable, nil)
	server.on("", reply{})
	log.wait(t, "SQL node is up")
	mustGet(t, s)
}

// A pool that was emptied in the meantime is found out by the calls.
func TestNodes_TooManyConnections_AfterARestart_IsTakenOut(t *testing.T) {
	server, s, log := openProbed(t)
	mustGet(t, s)
	server.on("CONNECT", fails(1040, "Too many connections"))
	server.stop()
	server.start()
	_, err := s.Get(t.Context(), 1)
	wantError(t, err, store.ErrUnavailable, nil)
	log.wait(t, "SQL node is down", "1040")
}

// The data nodes are all dead, and nobody reads.
func TestNodes_ClusterIsDead_WritesAreSoonRefusedAtOnce(t *testing.T) {
	server, s, log := openProbed(t)
	mustGet(t, s)
	server.onRequest(func(request string) reply {
		if strings.Contains(request, "EXECUTE") {
			return nodeFailure
		}
		return reply{}
	})
	wantError(t, s.Create(t.Context(), employee(1)), store.ErrUnknownOutcome, nil)
	log.wait(t, "SQL node is down", "4010")
	before := server.count("EXECUTE")
	wantError(t, s.Create(t.Context(), employee(1)), store.ErrUnavailable, nil)
	if server.count("EXECUTE") > before {
		t.Error("a node that is known to be down was asked")
	}
}

// What a node carried out says more than an older probe.
func TestNodes_CallSucceedsAfterAFailedProbe_NodeIsUp(t *testing.T) {
	server := startServer(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	var probes atomic.Int32
	server.onRequest(func(request string) reply {
		switch {
		case strings.HasPrefix(request, "PROBE EXECUTE"):
			<-asked
			if probes.Add(1) > 1 {
				return silent
			}
			return fails(1053, "Server shutdown in progress")
		case strings.HasPrefix(request, "EXECUTE"):
			close(asked)
			<-answer
		}
		return reply{}
	})
	logger, log := newLog()
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, Logger: logger})
	got := make(chan error)
	go func() { // ends with the answer
		_, err := s.Get(t.Context(), 1)
		got <- err
	}()
	log.wait(t, "SQL node is down")
	close(answer)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if status := s.Status(); !status.Up || !status.Nodes[0].Up {
		t.Errorf("got status %+v, want up", status)
	}
}

func TestStatus_CountsConnections(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, MaxOpenConns: 5})
	mustGet(t, s)
	got := s.Status().Nodes[0]
	want := store.NodeStatus{Address: server.address, Up: true, Max: 5, Idle: 1}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Nothing that the store says holds the account of a DSN.
func TestSecrets_InNoErrorLogOrStatus(t *testing.T) {
	for name, r := range map[string]reply{
		"1044": fails(1044, "Access denied for user 'hr_gateway'@'%' to database 'ndbtest'"),
		"1045": fails(1045, "Access denied for user 'hr_gateway'@'localhost' (using password: YES)"),
		"1130": fails(1130, "Host '10.0.0.1' is not allowed to connect to this MySQL server"),
		"1142": fails(1142, "SELECT command denied to user 'hr_gateway'@'localhost' for table 'employee'"),
		"1203": fails(1203, "User hr_gateway already has more than 'max_user_connections' active connections"),
		"1226": fails(1226, "User 'hr_gateway' has exceeded the 'max_questions' resource (current value: 1)"),
		"1396": fails(1396, "Operation CREATE USER failed for 'hr_gateway'@'localhost'"),
		"3118": fails(3118, "Access denied for user 'hr_gateway'@'localhost'. Account is locked."),
		"cut":  cut,
	} {
		for _, request := range []string{"CONNECT", "QUERY", "PREPARE", "EXECUTE", "PROBE"} {
			t.Run(name+" at "+request, func(t *testing.T) {
				server := startServer(t)
				server.on(request, r)
				logger, log := newLog()
				s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, Logger: logger})
				for _, run := range operations {
					if err := run(t.Context(), s); err != nil {
						wantNoSecret(t, err.Error())
					}
				}
				if err := s.Ping(t.Context()); err != nil {
					wantNoSecret(t, err.Error())
				}
				status, err := json.Marshal(s.Status())
				if err != nil {
					t.Fatal(err)
				}
				wantNoSecret(t, string(status))
				wantNoSecret(t, log.String())
			})
		}
	}
}
