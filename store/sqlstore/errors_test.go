package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

func TestVerdictOf(t *testing.T) {
	for _, c := range []struct {
		number    uint16
		message   string
		kind      error
		elsewhere bool
	}{
		{1062, "Duplicate entry '1' for key 'employee.PRIMARY'", store.ErrConflict, false},
		{1205, "Lock wait timeout exceeded; try restarting transaction", store.ErrUnavailable, false},
		{1213, "Deadlock found when trying to get lock; try restarting transaction", store.ErrUnavailable, false},
		{1032, "Can't find record in 'employee'", store.ErrUnavailable, false},
		{1040, "Too many connections", store.ErrUnavailable, true},
		{1045, "Access denied for user 'a'@'b' (using password: YES)", store.ErrUnavailable, true},
		{1049, "Unknown database 'ndbtest'", store.ErrUnavailable, true},
		{1053, "Server shutdown in progress", store.ErrUnavailable, true},
		{1036, "Table 'employee' is read only", store.ErrUnavailable, true},
		{1146, "Table 'ndbtest.employee' doesn't exist", store.ErrUnavailable, true},
		{1290, "The MySQL server is running with the --read-only option", store.ErrUnavailable, true},
		{1048, "Column 'department' cannot be null", store.ErrInvalid, false},
		{1264, "Out of range value for column 'department' at row 1", store.ErrInvalid, false},
		{1292, "Incorrect date value: '2020-02-30' for column 'started' at row 1", store.ErrInvalid, false},
		{1366, "Incorrect string value: '\\xF0\\x9F' for column 'first' at row 1", store.ErrInvalid, false},
		{1406, "Data too long for column 'first' at row 1", store.ErrInvalid, false},
		{1297, "Got temporary error 266 'Time-out in NDB, probably caused by deadlock' from NDBCLUSTER", store.ErrUnavailable, false},
		{1297, "Got temporary error 286 'Node failure caused abort of transaction' from NDBCLUSTER", store.ErrUnavailable, false},
		{1297, "Got temporary error 4002 'Send to NDB failed' from NDBCLUSTER", store.ErrUnavailable, false},
		{1297, "Got temporary error 4035 'Cluster temporary unavailable' from NDBCLUSTER", store.ErrUnavailable, false},
		{1297, "Got temporary error 1218 'Send Buffers overloaded in NDB kernel' from NDBCLUSTER", store.ErrUnavailable, false},
		{1297, "Got temporary error 4010 'Node failure caused abort of transaction' from NDBCLUSTER", store.ErrUnknownOutcome, false},
		{1297, "Got temporary error 4115 'Transaction was committed but all read information was not received due to node crash' from NDBCLUSTER", store.ErrUnknownOutcome, false},
		{1030, "Got error 4025 - 'Node failure caused abort of transaction' from storage engine", store.ErrUnknownOutcome, false},
		{1297, "Got temporary error 4009 'Cluster Failure' from NDBCLUSTER", store.ErrUnknownOutcome, false},
		{1296, "Got error 4008 'Receive from NDB failed' from NDBCLUSTER", store.ErrUnknownOutcome, false},
		{1296, "Got error 4009 'Cluster Failure' from NDBCLUSTER", store.ErrUnknownOutcome, false},
		{1296, "Got error 4012 'Request ndbd time-out, maybe due to high load' from NDBCLUSTER", store.ErrUnknownOutcome, false},
		{1296, "Got error 157 'Could not connect to storage engine' from NDBCLUSTER", store.ErrUnavailable, true},
		{1296, "Got error 630 'Tuple already existed when attempting to insert' from NDBCLUSTER", store.ErrConflict, false},
		{1296, "Got error 625 'Out of memory in Ndb Kernel, hash index part' from NDBCLUSTER", store.ErrUnavailable, false},
		{1296, "Got error 827 'Out of memory in Ndb Kernel, table data' from NDBCLUSTER", store.ErrUnavailable, false},
		{1296, "Got error 99999999999999999999 'nobody knows' from NDBCLUSTER", nil, false},
		{1296, "Got error 241 'Invalid schema object version' from NDBCLUSTER", nil, false},
		{1114, "The table 'employee' is full", store.ErrUnavailable, false},
		{1021, "Disk full (/tmp/x); waiting for someone to free some space", store.ErrUnavailable, true},
		{1364, "Field 'country' doesn't have a default value", store.ErrUnavailable, true},
		{1030, "Got error 157 - 'Could not connect to storage engine' from storage engine", store.ErrUnavailable, true},
		{1030, "Got error 168 - 'Unknown (generic) error from engine' from storage engine", nil, false},
		{1180, "Got error 4012 - 'Request ndbd time-out' during COMMIT", store.ErrUnknownOutcome, false},
		{1180, "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT", store.ErrUnavailable, false},
		{1180, "Got error 157 - 'Could not connect to storage engine' during COMMIT", store.ErrUnknownOutcome, false},
		{1180, "Got error 286 - 'Node failure caused abort of transaction' during COMMIT", store.ErrUnavailable, false},
		{1180, "Got error 28 - 'No space left on device' during COMMIT", store.ErrUnknownOutcome, false},
		{1054, "Unknown column 'first' in 'field list'", store.ErrUnavailable, true},
		{1064, "You have an error in your SQL syntax", nil, false},
	} {
		v, ok := verdictOf(&mysql.MySQLError{Number: c.number, Message: c.message})
		if v.kind != c.kind || v.elsewhere != c.elsewhere || ok != (c.kind != nil) {
			t.Errorf("%d %s: got %v, elsewhere %v; want %v, %v", c.number, c.message, v.kind, v.elsewhere, c.kind, c.elsewhere)
		}
	}
}

func TestVerdicts_EveryRuleHasAMessage(t *testing.T) {
	for number, v := range verdicts {
		if (v.kind == store.ErrInvalid) != (v.rule != "") {
			t.Errorf("%d: kind %v, rule %q", number, v.kind, v.rule)
		}
		if v.rule != "" && columnrule.Broken("x", v.rule).Message == "" {
			t.Errorf("%d: got no message for the rule %q", number, v.rule)
		}
	}
}

func TestIsConnectionLoss(t *testing.T) {
	for _, err := range []error{
		driver.ErrBadConn, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF,
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}, mysql.ErrPktSync, mysql.ErrMalformPkt,
	} {
		if !isConnectionLoss(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("%v: got false, want true", err)
		}
	}
	for _, err := range []error{errors.New("other"), &mysql.MySQLError{Number: 1062}, mysql.ErrPktTooLarge, store.ErrNotFound} {
		if isConnectionLoss(err) {
			t.Errorf("%v: got true, want false", err)
		}
	}
}

func TestInvalid_NamesTheProperty(t *testing.T) {
	columns, err := readColumns()
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{columns: columns}
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		number  uint16
		message string
		values  models.Employee
		want    []string
	}{
		{1406, "Data too long for column 'municipality' at row 1", models.Employee{}, []string{"city"}},
		{1366, "Incorrect string value: '\\xF0\\x9F' for column 'first' at row 1", models.Employee{}, []string{"first"}},
		{1048, "Column 'department' cannot be null", models.Employee{}, []string{"department"}},
		{1292, "Incorrect date value: '2020-02-30' for column 'ended' at row 1", models.Employee{}, []string{"ended"}},
		{1264, "Out of range value for column 'salary' at row 1", models.Employee{}, nil},
		{
			3988, "Conversion from collation utf8mb4_general_ci into utf8mb3_general_ci impossible for parameter",
			models.Employee{First: text("Åse"), Last: text("😀"), City: text("😀")},
			[]string{"last", "city"},
		},
		{
			3988, "Conversion from collation utf8mb4_general_ci into latin1_swedish_ci impossible for parameter",
			models.Employee{First: text("Ada"), Last: text("Łoś")},
			[]string{"last"},
		},
	} {
		err := s.invalid(&call{values: &c.values, set: allProperties},
			&mysql.MySQLError{Number: c.number, Message: c.message}, verdicts[c.number].rule)
		var broken *models.ValidationError
		var got []string
		if errors.As(err, &broken) {
			for _, f := range broken.Fields {
				got = append(got, f.Property)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got properties %v, want %v", c.message, got, c.want)
		}
	}
}

func TestScrub_KeepsNumberAndKind(t *testing.T) {
	err := scrub(&connectError{&mysql.MySQLError{Number: 1045, Message: "Access denied for user 'me'@'here'"}})
	var connect *connectError
	if errorNumber(err) != 1045 || !errors.As(err, &connect) {
		t.Errorf("got %#v", err)
	}
	if got, want := err.Error(), "connect: Error 1045: access denied"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The MySQL driver answers ErrBadConn where it wrote nothing, and database/sql
// then tries again.
func TestSend(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		sent bool
	}{
		{"done", t.Context(), nil, true},
		{"lost", t.Context(), mysql.ErrInvalidConn, true},
		{"refused", t.Context(), &mysql.MySQLError{Number: 1062}, true},
		{"nothing written", t.Context(), driver.ErrBadConn, false},
		{"context ended before", ended, nil, false},
	} {
		a := &attempt{}
		_ = send(withAttempt(c.ctx, a), func() error { return c.err })
		if a.isSent() != c.sent {
			t.Errorf("%s: got sent %v, want %v", c.name, a.isSent(), c.sent)
		}
	}
	a := &attempt{}
	a.progress.Store(sent)
	_ = send(withAttempt(t.Context(), a), func() error { return driver.ErrBadConn })
	if !a.isSent() {
		t.Error("what was sent before was forgotten")
	}
}

// aliveConn is a connection that takes every statement.
type aliveConn struct {
	innerConn
	statements []string
}

func (c *aliveConn) IsValid() bool { return true }

func (c *aliveConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return nil, nil }

func (c *aliveConn) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	c.statements = append(c.statements, statement)
	return nil, nil
}

// A deadline can pass after database/sql looked at it and before the COMMIT
// leaves. The transaction is then still open.
func TestCommit_ContextEndsJustBefore_ConnectionIsNotUsedAgain(t *testing.T) {
	inner := &aliveConn{}
	c := &conn{innerConn: inner, node: &node{}}
	ctx, cancel := context.WithCancel(t.Context())
	begun, err := c.BeginTx(ctx, driver.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := begun.Commit(); !errors.Is(err, context.Canceled) || len(inner.statements) > 0 {
		t.Fatalf("got error %v and statements %q, want the context's error and nothing sent", err, inner.statements)
	}
	if c.IsValid() {
		t.Error("a connection with an open transaction goes back to the pool")
	}
}

func TestCommit_Answered_ConnectionIsUsedAgain(t *testing.T) {
	c := &conn{innerConn: &aliveConn{}, node: &node{}}
	begun, err := c.BeginTx(t.Context(), driver.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := begun.Commit(); err != nil || !c.IsValid() {
		t.Errorf("got error %v, valid %v", err, c.IsValid())
	}
}

type fakeStmt struct {
	preparedStmt
	closed bool
}

func (s *fakeStmt) Close() error {
	s.closed = true
	return nil
}

func TestStmtCache_ClosesTheLeastRecentlyUsed(t *testing.T) {
	c := newStmtCache()
	stmts := make([]*fakeStmt, maxStmts+1)
	for i := range stmts[:maxStmts] {
		stmts[i] = &fakeStmt{}
		c.put(fmt.Sprint(i), stmts[i])
	}
	if _, ok := c.get("0"); !ok {
		t.Fatal("statement 0 is gone")
	}
	c.put("one more", &fakeStmt{})
	if len(c.entries) != maxStmts {
		t.Errorf("got %d statements, want %d", len(c.entries), maxStmts)
	}
	if stmts[0].closed || !stmts[1].closed || stmts[2].closed {
		t.Error("not the least recently used statement was closed")
	}
	c.drop("0")
	if _, ok := c.get("0"); ok || !stmts[0].closed {
		t.Error("a dropped statement is still there")
	}
}
