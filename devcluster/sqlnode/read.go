package sqlnode

import (
	"fmt"
	"io"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// partition is ranges of an index, in the order in which to read them.
type partition struct {
	table   *table
	index   *index           // nil: rows are read in no order
	ranges  []sql.MySQLRange // nil for all rows
	reverse bool
}

func (p *partition) Key() []byte { return []byte(p.table.Name()) }

func (p *partition) read(t *transaction, forUpdate bool) *rowIter {
	i := &rowIter{partition: p, tx: t, forUpdate: forUpdate}
	if len(p.ranges) > 1 && p.index.hasText() {
		i.met = map[string]struct{}{}
	}
	return i
}

// rowIter reads the rows of a partition.
type rowIter struct {
	partition *partition
	tx        *transaction
	forUpdate bool
	next      int                // the range to read after scan
	scan      *ndbtest.LocalRows // nil before the first and after the last row of a range
	// met is the keys of the rows so far. Values that differ only in the spaces at
	// their ends are different to the engine, but not in the index, so that ranges
	// may overlap.
	met map[string]struct{}
}

func (i *rowIter) Next(ctx *sql.Context) (sql.Row, error) {
	for {
		row, err := i.read(ctx)
		switch {
		case err != nil:
			return nil, rowsError(err)
		case row != nil && !i.isMet(row):
			return row, nil
		case row == nil && i.scan == nil && i.next == len(i.partition.ranges):
			return nil, io.EOF
		}
	}
}

func (i *rowIter) isMet(row sql.Row) bool {
	if i.met == nil {
		return false
	}
	key := fmt.Sprintf("%q", i.partition.table.keyOf(row))
	_, met := i.met[key]
	i.met[key] = struct{}{}
	return met
}

// read returns a row, or nil when there may be one in another range.
func (i *rowIter) read(ctx *sql.Context) (sql.Row, error) {
	p := i.partition
	if i.scan == nil {
		if i.next == len(p.ranges) {
			return nil, nil
		}
		r := p.ranges[i.next]
		i.next++
		scan := ndbtest.LocalScan{Reverse: p.reverse, ForUpdate: i.forUpdate}
		if p.index != nil {
			if key, ok := p.index.single(r); ok {
				return i.tx.get(ctx, p.table, key, i.forUpdate)
			}
			if !p.index.bound(&scan, r) {
				return nil, nil
			}
		}
		var err error
		if i.scan, err = i.tx.scan(p.table, scan); err != nil {
			return nil, err
		}
	}
	values, err := i.scan.Next(ctx)
	if values == nil || err != nil {
		i.scan = nil
		return nil, i.tx.ended(err)
	}
	return p.table.engineRow(values), nil
}

func (i *rowIter) Close(*sql.Context) error { return nil }
