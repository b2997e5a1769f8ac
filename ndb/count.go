package ndb

import (
	"context"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Count tells how many rows a scan would give, up to its limit where it has one.
// Without a filter, an index and a limit the data nodes know it and read no row;
// with one, they read and only tell. Columns, Order and BatchRows do not count.
// The rows are those that are committed while Count runs.
func (c *Client) Count(ctx context.Context, scan Scan) (int64, error) {
	scan.Columns, scan.Order, scan.BatchRows = nil, Unordered, 0
	if scan.Lock != CommittedRead {
		return 0, errLockOutsideTx
	}
	mode := acceptAll
	if scan.Filter == nil && scan.Index == nil && scan.Limit == 0 && scan.knownCopies() {
		mode = countRows
	}
	begun := c.callBegins()
	trip := trip{op: CallCount, table: scan.Table}
	count, err := c.count(ctx, &scan, mode, &trip)
	if !begun.IsZero() {
		c.callEnds(ctx, begun, trip.call(int(count), err))
	}
	return count, err
}

func (c *Client) count(ctx context.Context, scan *Scan, mode scanMode, trip *trip) (int64, error) {
	s, err := c.scan(ctx, scan, nil, mode, trip)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	count, err := s.count(ctx, mode)
	trip.waits += s.asked
	if err != nil {
		return 0, explainScan(scan.Table, err)
	}
	if scan.Limit > 0 {
		count = min(count, int64(scan.Limit))
	}
	return count, nil
}

// knownCopies tells whether the fragments together have each row once.
func (scan *Scan) knownCopies() bool {
	return scan.Table != nil && !scan.Table.def.Load().info.FullyReplicated
}

// Exists tells whether a scan would give any row. The data nodes end it with the
// first.
func (c *Client) Exists(ctx context.Context, scan Scan) (bool, error) {
	scan.Columns, scan.Order, scan.Limit = nil, Unordered, 1
	if scan.Lock != CommittedRead {
		return false, errLockOutsideTx
	}
	begun := c.callBegins()
	trip := trip{op: CallExists, table: scan.Table}
	found, err := c.exists(ctx, &scan, &trip)
	if !begun.IsZero() {
		c.callEnds(ctx, begun, trip.call(0, err))
	}
	return found, err
}

func (c *Client) exists(ctx context.Context, scan *Scan, trip *trip) (bool, error) {
	s, err := c.scan(ctx, scan, nil, acceptFirst, trip)
	if err != nil {
		return false, err
	}
	defer s.Close()
	found := s.next(ctx)
	trip.waits += s.asked
	return found, s.Err()
}

// count adds up batches: their rows, or the numbers that their rows are.
func (s *Scanner) count(ctx context.Context, mode scanMode) (int64, error) {
	var count int64
	var b scanBatch
	for s.left < 0 || count < int64(s.left) {
		from, err := s.take(ctx, anyReceiver, &b)
		if err != nil || from == anyReceiver {
			return count, err
		}
		s.ask(from)
		if mode != countRows {
			count += int64(b.rows)
			continue
		}
		for i := range b.rows {
			n, err := rowCount(b.row(i))
			if err != nil {
				return 0, err
			}
			count += n
		}
	}
	return count, nil
}

const rowCountBytes = 8

func rowCount(words []byte) (int64, error) {
	header, value, _, err := row.NextAttr(words)
	if err != nil || header.ID() != row.AttrRowCount || len(value) != rowCountBytes {
		return 0, fmt.Errorf("%w: a fragment without its row count", signal.ErrMessage)
	}
	var n int64
	for i := rowCountBytes - 1; i >= 0; i-- {
		n = n<<8 | int64(value[i])
	}
	return n, nil
}
