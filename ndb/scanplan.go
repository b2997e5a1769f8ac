package ndb

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/program"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Sizes of scans.
const (
	defaultParallel = 64
	maxReceivers    = maxBatchOps

	batchBytes      = 32 << 10 // of a fragment
	scanBytes       = 1 << 20  // of all fragments together, while that leaves each
	leastBatchBytes = 2 << 10  // at least so much
)

// scanMode is what becomes of the rows for which the filter holds.
type scanMode uint8

const (
	acceptAll   scanMode = iota
	acceptFirst          // one row of each fragment is enough
	countRows            // the number of committed rows of each fragment, without reading any
)

// scanPlan is a scan for one definition of its table: all that the data nodes
// are to be asked, and what to make of the answers.
type scanPlan struct {
	def       *definition
	target    signal.ScanTarget
	lock      signal.ScanLock
	flags     signal.ScanFlags
	batchRows int
	fragments int // that are scanned
	receivers int
	preferred []signal.NodeID // where the one fragment is; nil for several
	readList  []byte
	program   []byte
	bounds    []byte

	columns    *Projection // the caller's columns, then more that the order needs
	withRange  bool        // the number of the range comes with each row
	ordered    bool
	descending bool
	order      []int // places in columns by which rows compare
}

// newScanPlan checks what the caller wants.
func newScanPlan(def *definition, scan *Scan, mode scanMode) (*scanPlan, error) {
	if err := scan.check(def); err != nil {
		return nil, err
	}
	p := &scanPlan{
		def: def, ordered: scan.Order != Unordered, descending: scan.Order == Descending, withRange: len(scan.Ranges) > 1,
		fragments: max(len(def.info.Fragments), 1),
	}
	index, err := def.currentIndex(scan.Index)
	if err != nil {
		return nil, err
	}
	if err := p.setTarget(def, index, scan); err != nil {
		return nil, err
	}
	if err := p.setColumns(def, index, scan); err != nil {
		return nil, err
	}
	if p.program, err = scanProgram(def, scan.Filter, mode, len(p.readList) > 0); err != nil {
		return nil, err
	}
	if mode == countRows {
		p.readList = row.AppendAttrHeader(nil, row.AttrRowCount, 0)
	}
	p.setSizes(scan, mode)
	if len(p.attrInfo())+len(p.bounds)+p.receivers*wordBytes > signal.MaxSectionBytes {
		return nil, errTooLarge
	}
	return p, nil
}

func (scan *Scan) check(def *definition) error {
	switch {
	case scan.Index != nil && scan.Index.Unique:
		return errNotOrdered
	case scan.Index == nil && (len(scan.Ranges) > 0 || scan.Order != Unordered):
		return errNeedsIndex
	case scan.Order > Descending || scan.Lock > ExclusiveLock:
		return errNegative
	case scan.Limit < 0 || scan.BatchRows < 0 || scan.Parallel < 0:
		return errNegative
	case scan.BatchRows > signal.MaxScanBatchRows || scan.Parallel > maxReceivers:
		return errNegative
	case scan.Order != Unordered && len(def.info.Fragments) > maxReceivers:
		return errTooMany
	case scan.Columns != nil && !def.takes(scan.Columns.def):
		return errStale
	}
	return nil
}

// currentIndex returns the index of d that x is, which may be of an older
// definition; nil for nil.
func (d *definition) currentIndex(x *Index) (*Index, error) {
	if x == nil {
		return nil, nil
	}
	same, ok := d.indexes[x.Name]
	if !ok || same.Unique != x.Unique || len(same.Columns) != len(x.Columns) {
		return nil, fmt.Errorf("%w: index %s", errOtherTable, x.Name)
	}
	for i, c := range x.Columns {
		if current, err := d.current(c); err != nil || current != same.Columns[i] {
			return nil, fmt.Errorf("%w: index %s", errOtherTable, x.Name)
		}
	}
	return same, nil
}

func (p *scanPlan) setTarget(def *definition, index *Index, scan *Scan) error {
	switch scan.Lock {
	case CommittedRead:
		p.lock = signal.ScanCommittedRead
	case SharedLock:
		p.lock = signal.ScanShared
	case ExclusiveLock:
		p.lock = signal.ScanExclusive
		p.flags |= signal.ScanKeyInfo
	}
	if !slices.ContainsFunc(def.columns, func(c *Column) bool { return c.info.Disk }) {
		p.flags |= signal.ScanNoDisk
	}
	if index == nil {
		p.target = signal.TableScan(def.id, def.version)
		p.flags |= signal.ScanMemoryOrder
		return nil
	}
	p.target = signal.IndexScan(index.id, index.version)
	if p.descending {
		p.flags |= signal.ScanDescending
	}
	var err error
	if p.bounds, err = appendRanges(nil, index, scan.Ranges); err != nil {
		return err
	}
	if hash, ok := def.hashOf(index, scan.Ranges); ok {
		p.target = signal.PrunedIndexScan(index.id, index.version, hash)
		p.fragments, p.preferred = 1, def.nodesOfHash(hash)
	}
	return nil
}

// setColumns adds to the caller's columns those by which rows compare, where
// these are not among them.
func (p *scanPlan) setColumns(def *definition, index *Index, scan *Scan) error {
	var columns []*Column
	if scan.Columns != nil {
		columns = slices.Clone(scan.Columns.columns)
		p.columns = scan.Columns
	}
	if p.ordered && p.fragments > 1 {
		equal := 0
		if len(scan.Ranges) == 1 {
			equal = scan.Ranges[0].equalColumns(index)
		}
		for _, c := range index.Columns[equal:] {
			place := slices.IndexFunc(columns, func(have *Column) bool { return have.Name == c.Name })
			if place < 0 {
				place = len(columns)
				columns = append(columns, c)
			}
			p.order = append(p.order, place)
		}
	}
	if p.columns == nil || len(columns) > len(p.columns.columns) {
		var err error
		if p.columns, err = newProjection(def, columns); err != nil {
			return err
		}
	}
	p.readList = p.columns.decoder.AppendReadList(nil)
	if p.withRange {
		p.readList = row.AppendAttrHeader(p.readList, row.AttrRangeNo, 0)
	}
	return nil
}

// scanProgram translates the filter. A scan that reads something needs no
// program without one.
func scanProgram(def *definition, filter Filter, mode scanMode, reads bool) ([]byte, error) {
	var bound program.Filter
	if filter != nil {
		var err error
		if bound, err = filter.bind(def); err != nil {
			return nil, err
		}
	}
	var words []byte
	var err error
	switch {
	case mode == countRows, mode == acceptFirst && filter == nil:
		return program.First(), nil
	case mode == acceptFirst:
		words, err = program.CompileFirst(bound)
	case filter != nil || !reads:
		words, err = program.Compile(bound, program.RefuseNoMatch)
	}
	if err != nil {
		return nil, fmt.Errorf("ndb: the filter of a scan: %w", err)
	}
	return words, nil
}

func (p *scanPlan) setSizes(scan *Scan, mode scanMode) {
	switch {
	case p.ordered:
		p.receivers = p.fragments
	case scan.Parallel > 0:
		p.receivers = min(p.fragments, scan.Parallel)
	default:
		p.receivers = min(p.fragments, defaultParallel)
	}
	p.batchRows = scan.BatchRows
	if p.batchRows == 0 {
		p.batchRows = signal.MaxScanBatchRows
	}
	if scan.Limit > 0 {
		p.batchRows = min(p.batchRows, scan.Limit)
	}
	if mode != acceptAll {
		p.batchRows = 1
	}
}

func (p *scanPlan) attrInfo() []byte {
	return program.AppendInterpreted(nil, p.readList, p.program, nil, nil, nil)
}

// request is the request without what belongs to the record and the
// transaction.
func (p *scanPlan) request() *signal.ScanTabReq {
	return &signal.ScanTabReq{
		Target:     p.target,
		Lock:       p.lock,
		Flags:      p.flags,
		BatchRows:  p.batchRows,
		BatchBytes: uint32(min(batchBytes, max(scanBytes/p.receivers, leastBatchBytes))),
		AttrInfo:   p.attrInfo(),
		Bounds:     p.bounds,
	}
}
