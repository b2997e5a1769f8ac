package ndb

import (
	"errors"
	"fmt"
	"time"
)

// What callers have left ends with the answer of its data node, for which nobody
// waits who could lose patience: without a bound, a node that answers heartbeats
// and not this keeps a transaction's record and slot for ever. So the link's
// heartbeats look for it, and close a link that owes an answer for too long. What
// the node thinks of the transaction is not known then, and only the end of the
// link makes both sides forget it; all else on the link is as with a lost node.
const (
	// answerTimeout is for what a data node answers at once, or in a few seconds
	// where locks are waited for: a rollback, a commit, the close of a scan, a
	// record that is seized.
	answerTimeout = time.Minute

	// batchTimeout is for a scan that has to go on to the end of a batch before it
	// can be closed. A filter that holds for few rows of many takes its time.
	batchTimeout = 10 * time.Minute
)

var errNoAnswer = errors.New("ndb: the data node owes an answer for too long")

// overdue returns an error where the data node owes an answer for too long.
func (l *link) overdue(now time.Time) (late error) {
	l.api.records.each(func(rec *txRecord) {
		if rec.link == l && late == nil {
			late = rec.overdue(now)
		}
	})
	return late
}

func (rec *txRecord) overdue(now time.Time) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch st := rec.scan; {
	case rec.orphaned:
		return nil // There is a bound for that: see takeovers.
	case rec.abandoned && now.Sub(rec.since) > answerTimeout:
		return owed("a transaction that was left", rec.since, now)
	case st == nil || !st.closing:
		return nil
	case st.closeSent && now.Sub(st.since) > answerTimeout:
		return owed("the close of a scan", st.since, now)
	case now.Sub(st.since) > batchTimeout:
		return owed("the batch of a scan that is to be closed", st.since, now)
	}
	return nil
}

func owed(what string, since, now time.Time) error {
	return fmt.Errorf("%w: to %s, since %v", errNoAnswer, what, now.Sub(since).Round(time.Second))
}
