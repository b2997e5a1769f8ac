package ndb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// fakeTC is the scanning part of a transaction coordinator, and of the
// fragments behind it. What happens next among all that can happen is drawn by
// lot. It fails the test where a client does what stops a data node, or makes it
// drop the client.
type fakeTC struct {
	t    *testing.T
	rows [][]int32 // the rows of each fragment
	ref  signal.TCRef

	mu      sync.Mutex // guards all below
	conn    *transporter.ServerConn
	rnd     *rand.Rand
	scans   map[uint32]*fakeScan // by the pointer of the record
	seized  map[uint32]uint32    // our pointer of each record
	ready   []func()             // what can happen, each once
	starts  int
	refuse  uint32 // the next scan
	sending bool
}

// fakeScan is a scan that the coordinator knows of.
type fakeScan struct {
	req       signal.ScanTabReq
	tcPointer uint32
	fragments []*fakeFragment
	closing   bool // the close came
	broken    bool // it waits for the close
}

// fakeFragment is a fragment under a scan: running, or delivered and waiting.
type fakeFragment struct {
	receiver  uint32
	rows      []int32
	delivered bool
	finished  bool
}

// newFakeTC makes the node of a test cluster a coordinator.
func newFakeTC(t *testing.T, node *fakeNode, seed uint64, rows [][]int32) *fakeTC {
	ref, err := signal.NewTCRef(signal.NewBlockRef(signal.BlockDBTC.WithInstance(1), node.id))
	if err != nil {
		t.Fatal(err)
	}
	tc := &fakeTC{
		t: t, rows: rows, ref: ref, rnd: rand.New(rand.NewPCG(seed, 1)),
		scans: map[uint32]*fakeScan{}, seized: map[uint32]uint32{},
	}
	node.set(func(f *fakeNode) {
		f.onRequest = tc.receive
	})
	return tc
}

// receive runs on the node's reader goroutine.
func (tc *fakeTC) receive(conn *transporter.ServerConn, m *signal.Message) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	tc.conn = conn
	var err error
	switch m.GSN {
	case signal.GSNTCSeizeReq:
		var s signal.TCSeizeReq
		if err = s.Decode(m); err == nil {
			pointer := uint32(100 + len(tc.seized))
			tc.seized[pointer] = s.Pointer
			tc.later(func() {
				tc.send(&signal.TCSeizeConf{Pointer: s.Pointer, TCPointer: pointer, TC: tc.ref})
			})
		}
	case signal.GSNScanTabReq:
		var s signal.ScanTabReq
		if err = s.Decode(m); err == nil {
			tc.start(s)
		}
	case signal.GSNScanNextReq:
		var s signal.ScanNextReq
		if err = s.Decode(m); err == nil {
			tc.next(&s)
		}
	default:
		err = fmt.Errorf("unexpected %v", m.GSN)
	}
	if err != nil {
		tc.t.Error(err)
	}
}

// later adds to what can happen. Somebody makes it happen at once if nobody
// does already: all in one goroutine, which ends when nothing is left.
func (tc *fakeTC) later(f func()) {
	tc.ready = append(tc.ready, f)
	if tc.sending {
		return
	}
	tc.sending = true
	go func() {
		tc.mu.Lock()
		defer tc.mu.Unlock()
		for len(tc.ready) > 0 {
			i, last := tc.rnd.IntN(len(tc.ready)), len(tc.ready)-1
			f := tc.ready[i]
			tc.ready[i] = tc.ready[last]
			tc.ready = tc.ready[:last]
			f()
		}
		tc.sending = false
	}()
}

func (tc *fakeTC) send(s signal.Incoming) {
	// A connection that is gone by now is the test's intention.
	_ = tc.conn.SendSignal(tc.ref.Block(), signal.BlockAPI, s)
}

func (tc *fakeTC) start(req signal.ScanTabReq) {
	tc.starts++
	if tc.scans[req.TCPointer] != nil {
		tc.t.Errorf("a second scan on record %d", req.TCPointer)
	}
	// The sections belong to the message.
	sc := &fakeScan{req: req, tcPointer: req.TCPointer}
	sc.req.AttrInfo, sc.req.Bounds = nil, nil
	if code := tc.refuse; code != 0 {
		tc.refuse = 0
		tc.later(func() { tc.send(tc.refusal(sc, code)) })
		return
	}
	tc.scans[req.TCPointer] = sc
	for _, rows := range tc.rows {
		sc.fragments = append(sc.fragments, &fakeFragment{rows: rows})
	}
	var idle []uint32
	for i, receiver := range sc.req.Receivers {
		if i < len(sc.fragments) {
			tc.run(sc, sc.fragments[i], receiver)
			continue
		}
		idle = append(idle, receiver)
	}
	if len(idle) > 0 {
		conf := tc.conf(sc)
		for _, receiver := range idle {
			conf.AddOp(receiver, signal.RNIL, 0, 0)
		}
		tc.later(func() { tc.send(conf) })
	}
}

func (tc *fakeTC) refusal(sc *fakeScan, code uint32) *signal.ScanTabRef {
	return &signal.ScanTabRef{Pointer: tc.seized[sc.tcPointer], TransID: sc.req.TransID, Error: code}
}

func (tc *fakeTC) conf(sc *fakeScan) *signal.ScanTabConf {
	return &signal.ScanTabConf{Pointer: tc.seized[sc.tcPointer], TransID: sc.req.TransID}
}

// run lets a fragment bring its next batch sometime.
func (tc *fakeTC) run(sc *fakeScan, f *fakeFragment, receiver uint32) {
	f.receiver, f.delivered = receiver, false
	tc.later(func() {
		if sc.closing || sc.broken || tc.scans[sc.tcPointer] != sc {
			return
		}
		n := min(len(f.rows), sc.req.BatchRows)
		if n > 1 && tc.rnd.IntN(4) == 0 {
			n = tc.rnd.IntN(n) // a batch may be any smaller, or empty
		}
		batch := f.rows[:n]
		f.rows = f.rows[n:]
		f.delivered = true
		f.finished = len(f.rows) == 0 && (n < sc.req.BatchRows || tc.rnd.IntN(2) == 0)
		endFirst := tc.rnd.IntN(2) == 0 // it comes from another node than the rows
		if endFirst {
			tc.endBatch(sc, f, uint32(n))
		}
		for _, v := range batch {
			words := word.Append(row.AppendAttrHeader(nil, 0, word.SizeBytes), uint32(v))
			tc.send(&signal.TransIDAI{Pointer: receiver, TransID: sc.req.TransID, Attributes: words})
		}
		if !endFirst {
			tc.endBatch(sc, f, uint32(n))
		}
	})
}

// endBatch tells the end of a batch. The last one of the last fragment ends the
// scan, at this moment.
func (tc *fakeTC) endBatch(sc *fakeScan, f *fakeFragment, rows uint32) {
	conf := tc.conf(sc)
	pointer := signal.RNIL
	if !f.finished {
		pointer = tc.pointerOf(sc, f)
	}
	conf.AddOp(f.receiver, pointer, rows, 2*rows)
	if f.finished {
		conf.EndOfData = true
		for i, other := range sc.fragments {
			if other.finished {
				continue
			}
			conf.EndOfData = false
			if other.receiver == 0 && i >= len(sc.req.Receivers) {
				tc.takeReceiver(sc, other, f, conf)
				break
			}
		}
	}
	if conf.EndOfData {
		delete(tc.scans, sc.tcPointer)
	}
	tc.send(conf)
}

// takeReceiver gives the receiver of a finished fragment to one that has none.
func (tc *fakeTC) takeReceiver(sc *fakeScan, next, finished *fakeFragment, conf *signal.ScanTabConf) {
	rows, words := uint32(0), uint32(0)
	if conf.Len() > 0 {
		_, _, rows, words = conf.Op(0)
	}
	*conf = *tc.conf(sc)
	next.receiver, next.delivered = finished.receiver, true
	conf.AddOp(finished.receiver, tc.pointerOf(sc, next), rows, words)
}

// pointerOf names a fragment: not by a number that is ever 0.
func (tc *fakeTC) pointerOf(sc *fakeScan, f *fakeFragment) uint32 {
	for i, other := range sc.fragments {
		if other == f {
			return sc.tcPointer<<8 | uint32(i)
		}
	}
	panic("no such fragment")
}

func (tc *fakeTC) next(s *signal.ScanNextReq) {
	sc := tc.scans[s.TCPointer]
	switch {
	case sc == nil:
		tc.t.Errorf("SCAN_NEXTREQ (close %t) to record %d, which does not scan: all data nodes would drop the client", s.Close, s.TCPointer)
		return
	case s.TransID != sc.req.TransID || sc.closing:
		tc.t.Errorf("SCAN_NEXTREQ (close %t) for %v, the scan of which is %v, closing %t", s.Close, s.TransID, sc.req.TransID, sc.closing)
		return
	case s.Close:
		sc.closing = true
		tc.later(func() {
			delete(tc.scans, sc.tcPointer)
			conf := tc.conf(sc)
			conf.EndOfData = true
			tc.send(conf)
		})
		return
	}
	for _, p := range s.Fragments {
		i := int(p.Value() & 0xff)
		if p.Value()>>8 != sc.tcPointer || i >= len(sc.fragments) || !sc.fragments[i].delivered {
			tc.t.Errorf("SCAN_NEXTREQ with fragment pointer %#x, which is not to be asked for: a data node would stop", p.Value())
			return
		}
		tc.run(sc, sc.fragments[i], sc.fragments[i].receiver)
	}
}

// breakScans makes each scan fail that runs, so that it waits for its close.
func (tc *fakeTC) breakScans(code uint32) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	for _, sc := range tc.scans {
		if sc.broken || sc.closing {
			continue
		}
		sc.broken = true
		tc.later(func() {
			if !sc.closing {
				tc.send(&signal.ScanTabRef{Pointer: tc.seized[sc.tcPointer], TransID: sc.req.TransID, Error: code, CloseNeeded: true})
			}
		})
	}
}

func (tc *fakeTC) running() int {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	return len(tc.scans)
}

// numbersTable is a table of one column, an INT key, with an ordered index.
func numbersTable(c *Client, fragments int) *Table {
	column := dictinfo.Column{
		Name: "id", Type: dictinfo.TypeInt, ElementBitsLog2: 5, Elements: 1, Length: 1, Key: true, DistributionKey: true,
	}
	replicas := make([][]signal.NodeID, fragments)
	def := newDefinition(c.cluster.epoch.Load(), &dictinfo.Table{
		Name: "d/def/numbers", ID: 7, Version: 1, Type: dictinfo.ObjectUserTable, Columns: []dictinfo.Column{column}, Fragments: replicas,
	}, nil)
	def.indexes["PRIMARY"] = &Index{Name: "PRIMARY", Columns: def.columns, id: 8, version: 1}
	t := &Table{client: c, database: "d", name: "numbers", internal: "d/def/numbers"}
	t.def.Store(def)
	return t
}

func numbersScan(t *testing.T, table *Table) Scan {
	t.Helper()
	columns, err := table.Select("id")
	if err != nil {
		t.Fatal(err)
	}
	return Scan{Table: table, Columns: columns}
}

// readNumbers reads up to limit rows.
func readNumbers(ctx context.Context, t *testing.T, s *Scanner, limit int) (all []int32) {
	t.Helper()
	for len(all) < limit && s.Next(ctx) {
		v, err := s.Row().Int64(0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, int32(v))
	}
	return all
}
