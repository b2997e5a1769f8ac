package parity

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

const (
	// blockedDeadline ends before any wait for a lock does.
	blockedDeadline = 500 * time.Millisecond
	// blockedTimeout is longer than a store may try to get a lock.
	blockedTimeout = 30 * time.Second

	// shortAtOnce is how many calls with the short deadline run at once: few, so
	// that each has its connection and has sent all before the deadline.
	shortAtOnce = 4
)

// RunBlocked fails the test where the roads say different things of rows that
// others have locked, have inserted or deleted and not committed: of the kinds of
// errors, with a deadline that comes before the end of the wait and without.
func RunBlocked(t *testing.T, twin Twin) {
	t.Helper()
	cases := blockedCalls()
	others := blockRows(t, twin.Others, cases)
	compareAll := func(deadline time.Duration, atOnce int) {
		turn := make(chan struct{}, atOnce)
		var running sync.WaitGroup
		for _, c := range cases {
			if c.deadline == deadline {
				turn <- struct{}{}
				running.Go(func() {
					c.compare(t, twin)
					<-turn
				})
			}
		}
		running.Wait()
	}
	compareAll(blockedTimeout, len(cases)) // which leaves connections for the next
	compareAll(blockedDeadline, shortAtOnce)
	if err := others.Rollback(); err != nil {
		t.Error(err)
	}
}

// blockedCall is a call about a row that others work on.
type blockedCall struct {
	call
	done     string // by others to the row, without a commit
	deadline time.Duration
}

const (
	lockedByOthers   = "locked"
	insertedByOthers = "inserted"
	deletedByOthers  = "deleted"
)

func blockedCalls() []*blockedCall {
	department := int32(1) // of the rows of others
	first, _ := models.EmployeeProperty("first")
	var cases []*blockedCall
	for _, done := range []string{lockedByOthers, insertedByOthers, deletedByOthers} {
		for _, deadline := range []time.Duration{blockedDeadline, blockedTimeout} {
			for _, c := range []call{
				{method: callGet},
				{method: callCreate},
				{method: callSave},
				{method: callSave, pre: precondition{absent: true}},
				{method: callSave, pre: precondition{present: true}},
				{method: callSave, pre: precondition{department: &department}},
				{method: callPatch},
				{method: callPatch, returnsRow: true},
				{method: callPatch, set: []models.Property{first}},
				{method: callPatch, set: []models.Property{first}, returnsRow: true},
				{method: callPatch, set: []models.Property{first}, pre: precondition{department: &department}},
				{method: callDelete},
				{method: callDelete, pre: precondition{department: &department}},
			} {
				c.id = int64(1 + len(cases))
				c.employee = models.NewEmployee()
				c.employee.ID = c.id
				cases = append(cases, &blockedCall{call: c, done: done, deadline: deadline})
			}
		}
	}
	return cases
}

// blockRows does to the rows what others do. The transaction has to be ended.
func blockRows(t *testing.T, db *sql.DB, cases []*blockedCall) *sql.Tx {
	t.Helper()
	ctx := t.Context()
	begin := func(statements ...func(c *blockedCall) string) *sql.Tx {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			for _, statement := range statements {
				text := statement(c)
				if text == "" {
					continue
				}
				if _, err := tx.ExecContext(ctx, text, c.id); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
		}
		return tx
	}
	before := begin(
		func(*blockedCall) string { return "DELETE FROM employee WHERE id = ?" },
		func(c *blockedCall) string {
			if c.done == insertedByOthers {
				return ""
			}
			return "INSERT INTO employee (id, department) VALUES (?, 1)"
		},
	)
	if err := before.Commit(); err != nil {
		t.Fatal(err)
	}
	return begin(func(c *blockedCall) string {
		switch c.done {
		case insertedByOthers:
			return "INSERT INTO employee (id, department) VALUES (?, 1)"
		case deletedByOthers:
			return "DELETE FROM employee WHERE id = ?"
		default:
			return "SELECT id FROM employee WHERE id = ? FOR UPDATE"
		}
	})
}

// isException knows the one answer that differs: a patch that returns the row and
// meets its deadline while it waits for a lock. Natively it has left as a whole,
// the commit with it, for it takes one round trip; by SQL only the read has left
// that locks the row. So one outcome is unknown, of the other it is known that
// nothing was done. Both are true.
func (c *blockedCall) isException(outcomes [2]outcome) bool {
	return c.method == callPatch && c.returnsRow && len(c.set) > 0 && c.deadline == blockedDeadline &&
		strings.Contains(outcomes[0].name, store.ErrUnknownOutcome.Error()) && strings.Contains(outcomes[1].name, store.ErrUnavailable.Error())
}

// compare makes the call by both roads at once.
func (c *blockedCall) compare(t *testing.T, twin Twin) {
	var outcomes [2]outcome
	var took [2]time.Duration
	var running sync.WaitGroup
	for i, rows := range []store.Backend{twin.NDB, twin.SQL} {
		running.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			begun := time.Now()
			outcomes[i] = c.do(ctx, &side{rows: rows}, nil)
			took[i] = time.Since(begun)
		})
	}
	running.Wait()
	if outcomes[0].same != outcomes[1].same && !c.isException(outcomes) {
		t.Errorf("%s, the row %s by others, deadline %v:\n  ndb after %v: %s\n  sql after %v: %s",
			&c.call, c.done, c.deadline, took[0], outcomes[0], took[1], outcomes[1])
	}
	const grace = blockedTimeout / 10
	if longest := slices.Max(took[:]); longest > c.deadline+grace {
		t.Errorf("%s, the row %s by others: got an answer after %v, want it by the deadline of %v", &c.call, c.done, longest, c.deadline)
	}
}
