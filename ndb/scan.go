package ndb

import (
	"context"
	"errors"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Order is the order in which a scan of an index gives its rows.
type Order uint8

// The orders.
const (
	Unordered  Order = iota // as they come: the fastest
	Ascending               // of the index: NULL first
	Descending              // of the index: NULL last
)

// Scan says which rows to read, and how. Table is needed; the zero value of all
// else means its default.
type Scan struct {
	Table *Table

	// Columns is what is read of each row. Nil reads nothing: rows are only
	// counted.
	Columns *Projection

	// Filter says which rows; nil means all.
	Filter Filter

	// Index is the ordered index to go over. Nil means the table itself.
	Index *Index

	// Ranges are the parts of the index to read; none means all of it. Rows of
	// one range come together only where there is an order: those of the first
	// range first. A single range that holds all columns of the distribution key
	// at one value each reads one fragment only.
	Ranges []Range

	// Order needs an index. The fragments of a table are sorted each, and merged
	// here; the columns of the index are read for that, whatever Columns says.
	// Text compares by its collation, so that an order is possible as far as this
	// package knows that: in binary collations, latin1_swedish_ci,
	// utf8mb3_general_ci and utf8mb4_general_ci, and for ASCII text in
	// utf8mb4_0900_ai_ci and the unicode_ci collations. For other text, the scan
	// ends with ErrUnknownOrder before a row comes out of place.
	// Columns that a single range holds at one value need no order.
	Order Order

	// Limit is after how many rows the scan ends; 0 means all.
	Limit int

	// Lock says how rows are locked. Anything but CommittedRead is for scans in
	// transactions. The lock of a row lasts until Scanner.Next has gone on
	// behind some rows more, unless Scanner.Update or Delete keeps it.
	Lock LockMode

	// BatchRows is how many rows of a fragment come at a time, at most 992, which
	// is the default. A batch ends before with 32 KiB of rows, or less where
	// there are many fragments.
	BatchRows int

	// Parallel is how many fragments are read at a time. The default is all, up to
	// 64. With an order it is all.
	Parallel int
}

// ErrUnknownOrder is the error of an ordered scan that finds text which this
// package cannot compare as the data nodes do.
var ErrUnknownOrder = errors.New("ndb: text of unknown order")

// Errors of the use of scans.
var (
	errNoTable       = errors.New("ndb: a scan needs a table")
	errNotOrdered    = errors.New("ndb: a scan goes over an ordered index, or over the table")
	errNeedsIndex    = errors.New("ndb: ranges and an order need an index")
	errLockOutsideTx = errors.New("ndb: a scan that locks rows needs a transaction")
	errNegative      = errors.New("ndb: a number of a scan is negative or too large")
	errTooMany       = errors.New("ndb: an ordered scan of too many fragments")
	errScanIsOver    = errors.New("ndb: the scan has ended with its transaction")
)

// Scan starts a scan, outside of transactions: each row comes as it was last
// committed at the moment when it was read, so that the rows together are no
// snapshot. It waits for a free slot, and for the data nodes to accept the scan.
// Every Scanner must be closed. Next says what happens when data nodes fail.
func (c *Client) Scan(ctx context.Context, scan Scan) (*Scanner, error) {
	if scan.Lock != CommittedRead {
		return nil, errLockOutsideTx
	}
	return c.startScan(ctx, &scan, nil)
}

// startScan is scan, of which it tells.
func (c *Client) startScan(ctx context.Context, scan *Scan, tx *Tx) (*Scanner, error) {
	begun := c.callBegins()
	trip := trip{op: CallScan, table: scan.Table}
	s, err := c.scan(ctx, scan, tx, acceptAll, &trip)
	if !begun.IsZero() {
		c.callEnds(ctx, begun, trip.call(0, err))
	}
	return s, err
}

// scan starts a scan, of the transaction tx or, for nil, of none. Where the
// cluster says that the table has changed, and what was asked for means the same
// in it, it is done once more.
func (c *Client) scan(ctx context.Context, scan *Scan, tx *Tx, mode scanMode, trip *trip) (*Scanner, error) {
	if scan.Table == nil {
		return nil, errNoTable
	}
	caller := ctx
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	def := scan.Table.def.Load()
	s, err := c.tryScan(ctx, def, scan, tx, mode, trip)
	if err == nil || !isStaleSchema(err) {
		return s, err
	}
	same, refreshErr := scan.Table.refresh(ctx, def, trip)
	if refreshErr != nil || !same {
		return nil, err
	}
	trip.retry(caller, c, err)
	return c.tryScan(ctx, scan.Table.def.Load(), scan, tx, mode, trip)
}

func (c *Client) tryScan(ctx context.Context, def *definition, scan *Scan, tx *Tx, mode scanMode, trip *trip) (*Scanner, error) {
	p, err := newScanPlan(def, scan, mode)
	if err != nil {
		return nil, err
	}
	rec, buddy, err := c.scanRecord(ctx, p, tx)
	if err != nil {
		return nil, explainScan(scan.Table, err)
	}
	trip.began(rec)
	st := newScanState(p.receivers, p.batchRows, len(p.readList) > 0, p.flags&signal.ScanKeyInfo != 0)
	req := p.request()
	req.InTransaction, req.Buddy = tx != nil, buddy
	s := newScanner(c, scan, p, st, tx)
	if err := rec.startScan(st, req, def.epoch); err != nil {
		return nil, explainScan(scan.Table, err)
	}
	if tx != nil {
		tx.scans = append(tx.scans, st)
	}
	trip.waits++
	if err := st.awaitAnswer(ctx); err != nil {
		s.Close()
		return nil, explainScan(scan.Table, err)
	}
	return s, nil
}

// scanRecord takes a record for a scan: with a slot of its own, or beside that of
// the transaction to which it belongs, whose pointer is the buddy.
func (c *Client) scanRecord(ctx context.Context, p *scanPlan, tx *Tx) (rec *txRecord, buddy uint32, err error) {
	if tx == nil {
		rec, err = c.beginOn(ctx, &Operation{preferred: p.preferred})
		return rec, 0, err
	}
	return tx.scanRecord(ctx)
}

// explainScan says in an error of this package what was done.
func explainScan(t *Table, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Op == "" {
		e.Op = "scan " + t.String()
	}
	return err
}
