package ndb

import (
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Scanner gives the rows of a scan, one after another:
//
//	for s.Next(ctx) {
//		use(s.Row())
//	}
//	if err := s.Err(); err != nil {
//
// It is not safe for concurrent use. The data nodes send a batch of rows at a
// time, and the next one only when this one is being worked on: a Scanner takes
// little memory, however slowly it is used.
type Scanner struct {
	client *Client
	scan   *Scan
	plan   *scanPlan
	state  *scanState
	tx     *Tx // nil outside of transactions

	heads   []scanHead // of each fragment where there is an order, else one
	sorted  []int      // heads with a row, as a heap: see merge.go
	current *scanHead  // has the row that Row returns; nil before the first and after the last
	none    Row        // what Row returns then
	left    int        // rows until the limit; below 0 without one
	batches int        // that the current call has taken
	came    int        // rows in them
	asked   int        // batches that it has asked for
	closed  bool
	err     error
}

// scanHead goes over the rows of one fragment, or of one after another.
type scanHead struct {
	receiver int // of the batch
	batch    scanBatch
	at       int // the current row's place in the batch
	row      Row
	rangeNo  uint32

	// The row before, to see that they come in order.
	before      Row
	beforeRange uint32
	copied      []byte // memory of before, where its batch is gone
}

func newScanner(c *Client, scan *Scan, p *scanPlan, st *scanState, tx *Tx) *Scanner {
	s := &Scanner{client: c, scan: scan, plan: p, state: st, tx: tx, left: -1}
	if scan.Limit > 0 {
		s.left = scan.Limit
	}
	s.heads = make([]scanHead, 1)
	s.heads[0].receiver = anyReceiver
	if p.ordered {
		s.heads = make([]scanHead, p.receivers)
		for i := range s.heads {
			s.heads[i].receiver = i
		}
	}
	return s
}

// Next goes on to the next row, and tells whether there is one. When it is
// false the scan is over, and Err tells why. It waits for rows until the context
// ends, or without a deadline for the client's RequestTimeout, and that ends the
// scan. Scans are not begun anew: when a data node fails, the scan may end with a
// temporary error after any number of rows. In a transaction it may have to
// execute what was gathered: see Update.
func (s *Scanner) Next(ctx context.Context) bool {
	if s.closed {
		return false
	}
	begun := s.client.callBegins()
	s.batches, s.came, s.asked = 0, 0, 0
	more := s.next(ctx)
	if s.batches > 0 && !begun.IsZero() {
		l := s.state.rec.link
		s.client.callEnds(ctx, begun, Call{
			Op: CallNext, Table: s.scan.Table, Node: int(l.node), APINode: int(l.api.id),
			RoundTrips: s.asked, Operations: s.came, Err: s.err,
		})
	}
	return more
}

func (s *Scanner) next(ctx context.Context) bool {
	if s.left == 0 {
		s.Close()
		return false
	}
	more, err := false, errScanIsOver
	if s.tx == nil || s.tx.rec != nil {
		more, err = s.advance(ctx)
	}
	if err != nil {
		s.err = explainScan(s.scan.Table, err)
	}
	if err != nil || !more {
		s.current = nil
		s.Close()
		return false
	}
	if s.left > 0 {
		s.left--
	}
	if s.left == 0 && s.scan.Lock == CommittedRead {
		s.state.close(nil) // The row stays.
	}
	return true
}

// Row is the row that Next has gone to. Its columns are numbered as in the
// scan's projection. It is valid until the next call of Next.
func (s *Scanner) Row() *Row {
	if s.current == nil {
		return &s.none
	}
	return &s.current.row
}

// Range is the place in the scan's ranges of the one that the row is in.
func (s *Scanner) Range() int {
	if s.current == nil {
		return 0
	}
	return int(s.current.rangeNo)
}

// Err is why the scan ended, or nil: at its end, its limit, or by Close.
func (s *Scanner) Err() error { return s.err }

// Close ends the scan. It does not wait: the data nodes are told, and what they
// still send is dropped. Closing twice is fine.
func (s *Scanner) Close() {
	if s.closed {
		return
	}
	s.closed, s.current = true, nil
	if s.tx != nil && s.tx.takesOverFrom(s.state) {
		s.state.closeAfterExecute = true // The locks must live until then.
		return
	}
	s.state.close(nil)
}

func (s *Scanner) advance(ctx context.Context) (more bool, err error) {
	if s.plan.ordered && len(s.heads) > 1 {
		return s.advanceMerged(ctx)
	}
	h := &s.heads[0]
	more, err = s.step(ctx, h)
	s.current = h
	return more, err
}

// step takes a head to its next row, or tells that there is none.
func (s *Scanner) step(ctx context.Context, h *scanHead) (more bool, err error) {
	if s.plan.ordered {
		h.keep()
	}
	for h.at++; h.at >= h.batch.rows; h.at = 0 {
		if more, err := s.nextBatch(ctx, h); err != nil || !more {
			return false, err
		}
	}
	if err := s.plan.decode(h); err != nil {
		return false, err
	}
	return true, nil
}

// nextBatch takes the next batch of the head, which can be empty. The one after
// it is asked for at once, but where locks would be let go by that, or where it
// may not be needed.
func (s *Scanner) nextBatch(ctx context.Context, h *scanHead) (more bool, err error) {
	ahead := s.scan.Lock == CommittedRead && s.left < 0
	if !ahead && h.batch.rows > 0 {
		if err := s.execute(ctx); err != nil {
			return false, err
		}
		s.ask(h.receiver)
	}
	wanted := anyReceiver
	if s.plan.ordered {
		wanted = h.receiver
	}
	h.keepBeyondBatch()
	from, err := s.take(ctx, wanted, &h.batch)
	if err != nil || from == anyReceiver {
		return false, err
	}
	h.receiver = from
	s.batches++
	s.came += h.batch.rows
	if ahead || h.batch.rows == 0 {
		s.ask(from)
	}
	return true, nil
}

func (s *Scanner) ask(receiver int) {
	if s.state.ask(receiver) {
		s.asked++
	}
}

// take is scanState.take, which it gives a deadline where it has to wait.
func (s *Scanner) take(ctx context.Context, receiver int, b *scanBatch) (from int, err error) {
	ctx, cancel := s.client.bounded(ctx)
	defer cancel()
	return s.state.take(ctx, receiver, b)
}

// execute executes what takes over locks of this scan.
func (s *Scanner) execute(ctx context.Context) error {
	if s.tx == nil || !s.tx.takesOverFrom(s.state) {
		return nil
	}
	return s.tx.Execute(ctx)
}

// decode finds the values of the head's row.
func (p *scanPlan) decode(h *scanHead) error {
	h.row.projection, h.row.buf = p.columns, h.batch.row(h.at)
	n := len(p.columns.columns)
	if cap(h.row.spans) < n {
		h.row.spans = make([]row.Span, n)
	}
	h.row.spans = h.row.spans[:n]
	rest, err := p.columns.decoder.Decode(h.row.buf, h.row.spans)
	if err != nil {
		return fmt.Errorf("ndb: %w", err)
	}
	if p.withRange {
		header, value, _, err := row.NextAttr(rest)
		if err != nil || header.ID() != row.AttrRangeNo || len(value) != word.SizeBytes {
			return fmt.Errorf("%w: a row without the number of its range", errors.Join(signal.ErrMessage, err))
		}
		h.rangeNo = word.At(value, 0)
	}
	h.row.filled = true
	return nil
}
