package ndbtest_test

import (
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/program"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// scanReq is a scan of all columns id of the employee table.
func scanReq(rec *rawRecord, target signal.ScanTarget, readList []byte) *signal.ScanTabReq {
	return &signal.ScanTabReq{
		TC: rec.tc, TCPointer: rec.tcPointer, Target: target, TransID: rec.begin(), BatchRows: 100, BatchBytes: 32768,
		Receivers: []uint32{0x10, 0x20}, AttrInfo: program.AppendInterpreted(nil, readList, nil, nil, nil, nil),
	}
}

func startScan(rec *rawRecord, req *signal.ScanTabReq) {
	rec.t.Helper()
	send(rec.rawClient, rec.node, api, req, req.Sections()...)
}

func closeScan(rec *rawRecord) {
	rec.t.Helper()
	send(rec.rawClient, rec.node, api, &signal.ScanNextReq{TC: rec.tc, TCPointer: rec.tcPointer, TransID: rec.id, Close: true})
	for {
		m := rec.next()
		var conf signal.ScanTabConf
		if m.GSN == signal.GSNScanTabConf && conf.Decode(m) == nil && conf.EndOfData && conf.Len() == 0 {
			return
		}
	}
}

func TestScan_SmallTable_EndsWithoutClose(t *testing.T) {
	_, one, _, table := rawEmployees(t)
	startScan(one, scanReq(one, signal.TableScan(table.ID, table.Version), readList(table, "id")))
	rows, words, gotWords := 0, 0, 0
	ended := false
	for !ended || gotWords < words {
		m := one.next()
		switch m.GSN {
		case signal.GSNTransIDAI:
			var ai signal.TransIDAI
			if err := ai.Decode(m); err != nil {
				t.Fatal(err)
			}
			gotWords += len(ai.Attributes) / word.SizeBytes
		case signal.GSNScanTabConf:
			var conf signal.ScanTabConf
			if err := conf.Decode(m); err != nil {
				t.Fatal(err)
			}
			for i := range conf.Len() {
				_, next, n, w := conf.Op(i)
				rows, words = rows+int(n), words+int(w)
				if next.IsValid() {
					t.Error("got a pointer for a fragment that is over")
				}
			}
			ended = conf.EndOfData
		}
	}
	if rows != 9 || gotWords != words {
		t.Errorf("got %d rows, %d of %d words, want 9 rows", rows, gotWords, words)
	}
}

func TestScan_Refused(t *testing.T) {
	_, one, _, table := rawEmployees(t)
	index := one.table("sys/def/7/PRIMARY")
	refused := func(name string, req *signal.ScanTabReq, want uint32, closeNeeded bool) {
		t.Helper()
		startScan(one, req)
		if ref := await[*signal.ScanTabRef](one.rawClient); ref.Error != want || ref.CloseNeeded != closeNeeded {
			t.Errorf("%s: got %+v, want %d", name, ref, want)
		}
		if closeNeeded {
			closeScan(one)
		}
	}
	list := readList(table, "id")
	refused("other version", scanReq(one, signal.TableScan(table.ID, table.Version+1), list), 241, false)
	refused("unknown table", scanReq(one, signal.TableScan(2000, 1), list), 284, false)
	refused("id beyond the pool", scanReq(one, signal.TableScan(4000, 1), list), 285, false)
	bounds := scanReq(one, signal.IndexScan(index.ID, index.Version), list)
	bounds.Bounds = word.Append(nil, 0, 0<<16|8, 1, 0, 1, 0<<16|8, 2, 0)
	refused("two lower bounds", bounds, 4259, true)
	bounds.TransID, bounds.Bounds = one.begin(), word.Append(nil, 4, 0<<16|4, 1)
	refused("value of the wrong size", bounds, 744, true)
	bounds.TransID, bounds.Bounds = one.begin(), word.Append(nil, 4, 5<<16|8, 1, 0)
	refused("unknown column", bounds, 4110, true)
	refused("unknown column to read", scanReq(one, signal.TableScan(table.ID, table.Version), word.Append(nil, 50<<16)), 879, true)
}

func TestScan_TooMany_245(t *testing.T) {
	_, one, two, table := rawEmployees(t, ndbtest.MaxScans(1), ndbtest.DataNodes(1))
	req := scanReq(one, signal.TableScan(table.ID, table.Version), readList(table, "id"))
	req.BatchRows = 1
	startScan(one, req)
	for m := one.next(); m.GSN != signal.GSNScanTabConf; m = one.next() {
	}
	startScan(two, scanReq(two, signal.TableScan(table.ID, table.Version), readList(table, "id")))
	for {
		m := two.next()
		var ref signal.ScanTabRef
		if m.GSN != signal.GSNScanTabRef {
			continue
		}
		if err := ref.Decode(m); err != nil || ref.Error != 245 || ref.CloseNeeded {
			t.Errorf("got %+v, want 245", ref)
		}
		break
	}
	closeScan(one)
}

func TestScan_LockedRow_274(t *testing.T) {
	_, one, two, table := rawEmployees(t, ndbtest.LockWaitTimeout(50*time.Millisecond))
	one.begin()
	one.op(0, table, signal.OpUpdate, execute, bigintKey(1), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](one.rawClient)
	req := scanReq(two, signal.TableScan(table.ID, table.Version), readList(table, "id"))
	req.Lock = signal.ScanExclusive
	startScan(two, req)
	for {
		m := two.next()
		var ref signal.ScanTabRef
		if m.GSN != signal.GSNScanTabRef {
			continue
		}
		if err := ref.Decode(m); err != nil || ref.Error != 274 || !ref.CloseNeeded {
			t.Errorf("got %+v, want 274", ref)
		}
		break
	}
	closeScan(two)
}

func TestClient_ScanTakesOverLocks(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 100)
	columns, _ := e.table.Select("id", "department")
	tx, err := e.Begin(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	s, err := tx.Scan(ctx, ndb.Scan{Table: e.table, Columns: columns, Lock: ndb.ExclusiveLock, Filter: ndb.Ge(e.depart, 5), BatchRows: 4})
	if err != nil {
		t.Fatal(err)
	}
	deleted, updated := 0, 0
	for s.Next(ctx) {
		if n, _ := s.Row().Int64(1); n == 5 {
			s.Delete()
			deleted++
		} else {
			s.Update(e.table.NewValues().Int64(e.depart, 66))
			updated++
		}
		if err := tx.Execute(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if n := e.cluster.Stats().LockedRows; n != deleted+updated {
		t.Errorf("got %d locked rows, want %d", n, deleted+updated)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[int]int{5: 0, 6: 0, 66: updated} {
		if n, err := e.Count(ctx, ndb.Scan{Table: e.table, Filter: ndb.Eq(e.depart, filter)}); err != nil || int(n) != want {
			t.Errorf("department %d: got %d rows (%v), want %d", filter, n, err, want)
		}
	}
	if deleted != 14 || updated != 14 {
		t.Errorf("got %d deleted, %d updated, want 14 each", deleted, updated)
	}
}

func TestClient_ScanWithoutTakeover_LetsGo(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 50)
	tx, err := e.Begin(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	columns, _ := e.table.Select("id")
	s, err := tx.Scan(ctx, ndb.Scan{Table: e.table, Columns: columns, Lock: ndb.SharedLock, BatchRows: 5})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s.Next(ctx) {
		n++
	}
	if err := s.Err(); err != nil || n != 50 {
		t.Errorf("got %d rows (%v), want 50", n, err)
	}
	s.Close()
	if stats := e.cluster.Stats(); stats.LockedRows != 0 || stats.Scans != 0 {
		t.Errorf("got %+v", stats)
	}
}
