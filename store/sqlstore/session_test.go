package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

func TestSession_LimitsAreSet(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, StatementTimeout: 2500 * time.Millisecond})
	mustGet(t, s)
	if server.count("QUERY SET lock_wait_timeout=3,innodb_lock_wait_timeout=3,max_execution_time=3000,optimizer_switch='index_merge=off'") == 0 {
		t.Errorf("got requests %q, want the limits set", server.requests())
	}
}

// A server that knows only a part of the limits is served with that part.
func TestSession_LimitUnknown_OthersAreSet(t *testing.T) {
	server := startServer(t)
	server.onRequest(func(request string) reply {
		if strings.Contains(request, "innodb_") || request == askSession {
			return fails(1193, "Unknown system variable")
		}
		return reply{}
	})
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	mustGet(t, s)
	for _, limit := range []string{"lock_wait_timeout=10", "max_execution_time=10000"} {
		if server.count("QUERY SET "+limit) == 0 {
			t.Errorf("got requests %q, want %s set", server.requests(), limit)
		}
	}
}

// cutOff ends a call while its statement runs. Of the requests after that, those
// that begin with the prefix go to the channel.
func cutOff(t *testing.T, server *fakeServer, s *sqlstore.Store, prefix string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan string, 10)
	server.onRequest(func(request string) reply {
		switch {
		case strings.HasPrefix(request, "EXECUTE INSERT"):
			cancel()
			return silent
		case strings.HasPrefix(request, prefix):
			seen <- request
		}
		return reply{}
	})
	wantError(t, s.Create(ctx, employee(1)), store.ErrUnknownOutcome, context.Canceled)
	return seen
}

func TestSession_StatementCutOff_IsKilled(t *testing.T) {
	server, s, _ := openProbed(t)
	mustGet(t, s) // session 2, after the probe
	if got := <-cutOff(t, server, s, "QUERY KILL"); got != "QUERY KILL 2" {
		t.Errorf("got %s, want session 2 killed", got)
	}
}

// Behind a balancer the number may be that of someone else's session.
func TestSession_CutOffOnAnotherServer_IsLeftAlone(t *testing.T) {
	server, s, _ := openProbed(t)
	mustGet(t, s)
	server.mu.Lock()
	server.uuid = "another"
	server.mu.Unlock()
	<-cutOff(t, server, s, "QUIT") // of the killer
	if n := server.count("QUERY KILL"); n > 0 {
		t.Errorf("got %d sessions killed", n)
	}
}

// A statement that waits for a lock ends with the call, not with the lock.
func TestMySQL_StatementCutOff_EndsOnTheServer(t *testing.T) {
	const table = "employee_innodb"
	s := open(t, sqlstore.Config{DSNs: testDSNs(t)[:1], Table: table})
	e := newRow(t, s)
	if err := s.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	locker := rawDB(t)
	mustExec(t, locker, "LOCK TABLES "+table+" WRITE")
	defer mustExec(t, locker, "UNLOCK TABLES")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	e.Department = 5
	if _, err := s.Save(ctx, e, store.Precondition{}); err == nil {
		t.Skip("this server locks no tables")
	} else if !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	observer := rawDB(t)
	const running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'INSERT INTO `" + table + "`%'"
	for start, n := time.Now(), 1; n > 0; {
		if err := observer.QueryRowContext(t.Context(), running).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) > 5*time.Second { // half of its lock_wait_timeout
			t.Fatal("the statement goes on")
		}
	}
}

func mustExec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Error(err)
	}
}
