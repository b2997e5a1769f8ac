package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

var (
	cut    = reply{cut: true}
	silent = reply{silent: true}
)

// nodeFailure comes from the NDB API in mysqld, which lost the data nodes that it
// had sent to.
var nodeFailure = fails(1297, "Got temporary error 4010 'Node failure caused abort of transaction' from NDBCLUSTER")

func fails(code uint16, message string) reply { return reply{code: code, message: message} }

func employee(id int64) models.Employee {
	e := models.NewEmployee()
	e.ID = id
	return e
}

// operations are calls on employee 1, by name.
var operations = map[string]func(ctx context.Context, s store.Employees) error{
	"get": func(ctx context.Context, s store.Employees) error {
		_, err := s.Get(ctx, 1)
		return err
	},
	"list": func(ctx context.Context, s store.Employees) error {
		_, err := s.List(ctx, models.EmployeeQuery{Limit: 10})
		return err
	},
	"create": func(ctx context.Context, s store.Employees) error { return s.Create(ctx, employee(1)) },
	"save": func(ctx context.Context, s store.Employees) error {
		_, err := s.Save(ctx, employee(1), store.Precondition{})
		return err
	},
	"save if": func(ctx context.Context, s store.Employees) error {
		_, err := s.Save(ctx, employee(1), holds)
		return err
	},
	"patch": func(ctx context.Context, s store.Employees) error {
		_, err := s.Patch(ctx, 1, somePatch, store.PatchOptions{})
		return err
	},
	"patch if": func(ctx context.Context, s store.Employees) error {
		_, err := s.Patch(ctx, 1, somePatch, store.PatchOptions{Precondition: holds, ReturnRow: true})
		return err
	},
	"delete":    func(ctx context.Context, s store.Employees) error { return s.Delete(ctx, 1, store.Precondition{}) },
	"delete if": func(ctx context.Context, s store.Employees) error { return s.Delete(ctx, 1, holds) },
}

var (
	holds     = store.Precondition{Matches: func(*models.Employee) bool { return true }}
	somePatch = models.EmployeePatch{
		Values: models.Employee{Department: 2},
		Set:    models.EmployeeProperties()[6:],
	}
)

const fast = 100 * time.Millisecond // for what must not be answered

// deadline is a context whose deadline passes when a channel closes: just then
// and not earlier on a busy machine.
type deadline struct {
	context.Context
	passed chan struct{}
}

func (d *deadline) Done() <-chan struct{} { return d.passed }

func (d *deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// faults are what can happen to a call on the way. The kind nil stands for no
// kind; cause is what must be found beside it.
var faults = []struct {
	name    string
	calls   string // in operations, separated by commas
	request string
	reply   reply
	kind    error
	cause   error
}{
	{"cut after a write was sent", "create,save,patch,delete", "EXECUTE", cut, store.ErrUnknownOutcome, nil},
	{"silence after a write was sent", "create,save,patch,delete", "EXECUTE", silent, store.ErrUnknownOutcome, context.DeadlineExceeded},
	{"cut before a write was sent", "create,save,patch,delete", "PREPARE", cut, store.ErrUnavailable, nil},
	{"silence before a write was sent", "create,save,patch,delete", "PREPARE", silent, store.ErrUnavailable, context.DeadlineExceeded},

	{"cut at a read", "get,list", "EXECUTE", cut, store.ErrUnavailable, nil},
	{"silence at a read", "get,list", "EXECUTE", silent, nil, context.DeadlineExceeded},

	{"cut at the commit", "save if,patch if,delete if", "QUERY COMMIT", cut, store.ErrUnknownOutcome, nil},
	{"silence at the commit", "save if,patch if,delete if", "QUERY COMMIT", silent, store.ErrUnknownOutcome, context.DeadlineExceeded},
	{"cut at the start of a transaction", "save if,patch if,delete if", "QUERY START", cut, store.ErrUnavailable, nil},
	{"silence at the start of a transaction", "save if,patch if,delete if", "QUERY START", silent, store.ErrUnavailable, context.DeadlineExceeded},
	{"cut at the read in a transaction", "save if,patch if,delete if", "EXECUTE SELECT", cut, store.ErrUnavailable, nil},
	{"silence at the read in a transaction", "save if,patch if,delete if", "EXECUTE SELECT", silent, store.ErrUnavailable, context.DeadlineExceeded},
	{"cut at the write in a transaction", "save if,patch if", "EXECUTE UPDATE", cut, store.ErrUnavailable, nil},
	{"silence at the write in a transaction", "save if,patch if", "EXECUTE UPDATE", silent, store.ErrUnavailable, context.DeadlineExceeded},
	{"cut at the delete in a transaction", "delete if", "EXECUTE DELETE", cut, store.ErrUnavailable, nil},

	{"cut at the handshake", allCalls, "CONNECT", cut, store.ErrUnavailable, nil},
	{"silence at the handshake", allCalls, "CONNECT", silent, store.ErrUnavailable, context.DeadlineExceeded},
	{"cut at the settings of a connection", allCalls, "QUERY SET", cut, store.ErrUnavailable, nil},

	{"deadlock", "create,save,patch,delete", "EXECUTE", fails(1213, "Deadlock found"), store.ErrUnavailable, nil},
	{"deadlock in a transaction", "save if,patch if,delete if", "EXECUTE SELECT", fails(1213, "Deadlock found"), store.ErrUnavailable, nil},
	{"lock wait timeout", "patch if", "EXECUTE UPDATE", fails(1205, "Lock wait timeout exceeded"), store.ErrUnavailable, nil},
	{"the data nodes refuse", "create,delete", "EXECUTE", fails(1297, "Got temporary error 286 'Node failure caused abort of transaction' from NDBCLUSTER"), store.ErrUnavailable, nil},
	{"the data nodes refuse the commit", "save if", "QUERY COMMIT", fails(1297, "Got temporary error 286 'Node failure caused abort of transaction' from NDBCLUSTER"), store.ErrUnavailable, nil},
	{"NDB gave up a write", "create,save,patch,delete", "EXECUTE", nodeFailure, store.ErrUnknownOutcome, nil},
	{"NDB gave up a commit", "save if,patch if,delete if", "QUERY COMMIT", nodeFailure, store.ErrUnknownOutcome, nil},
	{"NDB gave up a write before the commit", "save if,patch if,delete if", "EXECUTE", nodeFailure, store.ErrUnavailable, nil},
	{"NDB gave up a read", "get,list", "EXECUTE", nodeFailure, store.ErrUnavailable, nil},
	{"NDB did not answer a write", "create,save", "EXECUTE", fails(1296, "Got error 4009 'Cluster Failure' from NDBCLUSTER"), store.ErrUnknownOutcome, nil},
	{"NDB did not answer a commit", "save if", "QUERY COMMIT", fails(1180, "Got error 4012 - 'Request ndbd time-out' during COMMIT"), store.ErrUnknownOutcome, nil},
	{"NDB did not answer a read", "get,list", "EXECUTE", fails(1296, "Got error 4009 'Cluster Failure' from NDBCLUSTER"), store.ErrUnavailable, nil},
	{"NDB did not answer a write before the commit", "save if", "EXECUTE UPDATE", fails(1296, "Got error 4009 'Cluster Failure' from NDBCLUSTER"), store.ErrUnavailable, nil},
	{"the cluster is away", allCalls, "EXECUTE", fails(1296, "Got error 157 'Could not connect to storage engine' from NDBCLUSTER"), store.ErrUnavailable, nil},
	{"the table is not there yet", allCalls, "PREPARE", fails(1146, "Table 'ndbtest.employee' doesn't exist"), store.ErrUnavailable, nil},
	{"the server shuts down", allCalls, "PREPARE", fails(1053, "Server shutdown in progress"), store.ErrUnavailable, nil},
	{"the password is wrong", allCalls, "CONNECT", fails(1045, "Access denied for user 'hr_gateway'@'localhost' (using password: YES)"), store.ErrUnavailable, nil},
	{"the row exists", "create", "EXECUTE", fails(1062, "Duplicate entry '1' for key 'employee.PRIMARY'"), store.ErrConflict, nil},
	{"no row is there", "get,patch,patch if,delete,delete if", "EXECUTE", reply{none: true}, store.ErrNotFound, nil},
	{"the row always goes away under a save", "save", "EXECUTE", fails(1032, "Can't find record in 'employee'"), store.ErrUnavailable, nil},
	{"the table is another", allCalls, "PREPARE", fails(1054, "Unknown column 'first' in 'field list'"), store.ErrUnavailable, nil},
	{"the table wants more", "create,save", "EXECUTE", fails(1364, "Field 'country' doesn't have a default value"), store.ErrUnavailable, nil},
	{"the table is full", "create,save", "EXECUTE", fails(1114, "The table 'employee' is full"), store.ErrUnavailable, nil},
	{"NDB is full", "create,save", "EXECUTE", fails(1296, "Got error 827 'Out of memory in Ndb Kernel, table data' from NDBCLUSTER"), store.ErrUnavailable, nil},
	{"a failure for good", allCalls, "EXECUTE", fails(1064, "You have an error in your SQL syntax"), nil, nil},
}

const allCalls = "get,list,create,save,save if,patch,patch if,delete,delete if"

func TestFaults(t *testing.T) {
	for _, f := range faults {
		for call := range strings.SplitSeq(f.calls, ",") {
			t.Run(f.name+"/"+call, func(t *testing.T) {
				server := startServer(t)
				server.on(f.request, f.reply)
				s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
				ctx := context.Context(&deadline{t.Context(), server.silence})
				if f.request == "CONNECT" { // probes connect, too
					short, cancel := context.WithTimeout(t.Context(), fast)
					defer cancel()
					ctx = short
				}
				wantError(t, operations[call](ctx, s), f.kind, f.cause)
			})
		}
	}
}

// wantError fails where err is not of that kind alone, has not that cause, or
// names the account.
func wantError(t *testing.T, err, kind, cause error) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, k := range []error{
		store.ErrNotFound, store.ErrConflict, store.ErrInvalid,
		store.ErrPreconditionFailed, store.ErrUnavailable, store.ErrUnknownOutcome,
	} {
		if got := errors.Is(err, k); got != (k == kind) {
			t.Fatalf("got error %q, is it %q: %v; want kind %v", err, k, got, kind)
		}
	}
	if cause != nil && !errors.Is(err, cause) {
		t.Fatalf("got error %q, want cause %q", err, cause)
	}
	if cause == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		t.Fatalf("got error %q, want no end of a context in it", err)
	}
	wantNoSecret(t, err.Error())
}

// secrets are the parts of fakeServer.dsn that nobody may see.
var secrets = []string{"hr_gateway", "s3cr3t"}

func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("got %q, want no %q in it", text, secret)
		}
	}
}

// A caller that leaves while its write is on the way does not know its outcome.
func TestCreate_CancelledAfterSend_OutcomeUnknown(t *testing.T) {
	server := startServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	server.onRequest(func(request string) reply {
		if strings.HasPrefix(request, "EXECUTE INSERT") {
			cancel()
			return silent
		}
		return reply{}
	})
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	wantError(t, s.Create(ctx, employee(1)), store.ErrUnknownOutcome, context.Canceled)
}

func TestPool_NoConnectionFreeUntilDeadline_Unavailable(t *testing.T) {
	server := startServer(t)
	busy := make(chan struct{}, 1)
	server.onRequest(func(request string) reply {
		if strings.HasPrefix(request, "EXECUTE INSERT") {
			busy <- struct{}{}
			return silent
		}
		return reply{}
	})
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, MaxOpenConns: 1})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { first <- s.Create(ctx, employee(1)) }() // ends with ctx
	<-busy

	for _, call := range []string{"get", "create", "save if"} {
		short, cancelShort := context.WithTimeout(t.Context(), fast)
		wantError(t, operations[call](short, s), store.ErrUnavailable, context.DeadlineExceeded)
		cancelShort()
	}
	if n := s.Status().Nodes[0].Waits; n < 3 {
		t.Errorf("got %d waits, want at least 3", n)
	}
	cancel()
	wantError(t, <-first, store.ErrUnknownOutcome, context.Canceled)
}

func TestClose_CallsEndWithAnError(t *testing.T) {
	for call, kind := range map[string]error{"get": store.ErrUnavailable, "create": store.ErrUnknownOutcome} {
		t.Run(call, func(t *testing.T) {
			server := startServer(t)
			busy := make(chan struct{}, 1)
			server.onRequest(func(request string) reply {
				if strings.Contains(request, "`id` = ?") || strings.HasPrefix(request, "EXECUTE INSERT") {
					busy <- struct{}{}
					return silent
				}
				return reply{}
			})
			s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
			running := make(chan error)
			go func() { running <- operations[call](t.Context(), s) }() // ends with Close
			<-busy
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			wantError(t, <-running, kind, nil)
			wantError(t, operations[call](t.Context(), s), store.ErrUnavailable, nil)
		})
	}
}
