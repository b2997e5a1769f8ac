package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/store"
)

// The answer of a batch that is one transaction follows from the request and the
// ids that were assigned. So only these are kept under an idempotency key, for a
// batch of any size, and the answer is made anew when the same request comes again.
// For that a keyed batch of changes is always answered as with return=minimal:
// what its rows were then nobody knows later.

// createOnce creates some employees as one transaction, all of them where the
// request has an idempotency key.
func (s *server) createOnce(x *exchange, rows batchRows, b *batchBody, first, end int) error {
	if x.once == nil {
		return rows.CreateAll(x.ctx, b.employees[first:end])
	}
	return s.onceBefore(x, b, rows.once.CreateAllOnce(x.ctx, b.employees, x.kept(b.onceReply())))
}

// onceBefore makes the batch what it was when it was done, if err says that it was
// done before. The caller answers then as the first time.
func (s *server) onceBefore(x *exchange, b *batchBody, err error) error {
	answered, ok := errors.AsType[*store.AnsweredError](err)
	if !ok {
		return err
	}
	r, err := s.answeredBefore(x, &answered.Answer)
	if err != nil {
		return err
	}
	return b.reassignRuns(r.assigned)
}

// minimalOnce takes back the promise of a representation.
func minimalOnce(x *exchange) (minimal bool) {
	if x.w.Header().Get("Preference-Applied") == "return=representation" {
		x.w.Header().Del("Preference-Applied")
	}
	return true
}

// onceReply is what is kept of the batch.
func (b *batchBody) onceReply() *reply {
	return &reply{status: http.StatusOK, assigned: b.assignedRuns()}
}

// assignedRuns writes the ids that were assigned, in the order of the items, as
// runs of ids that follow each other, such as "247179218944000+50 247179219001344+3".
func (b *batchBody) assignedRuns() string {
	var text strings.Builder
	for k := 0; k < len(b.assigned); {
		first, n := b.ids[b.assigned[k]], 1
		for k+n < len(b.assigned) && b.ids[b.assigned[k+n]] == first+int64(n) {
			n++
		}
		if k > 0 {
			text.WriteByte(' ')
		}
		fmt.Fprintf(&text, "%d+%d", first, n)
		k += n
	}
	return text.String()
}

// reassignRuns gives the items the ids of the runs.
func (b *batchBody) reassignRuns(runs string) error {
	k := 0
	for run := range strings.FieldsSeq(runs) {
		text, length, _ := strings.Cut(run, "+")
		first, err := strconv.ParseInt(text, 10, 64)
		n, errLength := strconv.Atoi(length)
		if err != nil || errLength != nil || n < 1 || n > len(b.assigned)-k {
			return errNoReply
		}
		for i := range n {
			item := b.assigned[k+i]
			b.ids[item], b.employees[item].ID = first+int64(i), first+int64(i)
		}
		k += n
	}
	if k != len(b.assigned) {
		return errNoReply
	}
	return nil
}
