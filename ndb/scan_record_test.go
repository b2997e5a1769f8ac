package ndb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// fragmentsOf makes rows for so many fragments, and all of them in order.
func fragmentsOf(rnd *rand.Rand, fragments int) (rows [][]int32, all []int32) {
	rows = make([][]int32, fragments)
	for i := range rows {
		for range rnd.IntN(30) {
			rows[i] = append(rows[i], rnd.Int32N(1000))
		}
		slices.Sort(rows[i])
		all = append(all, rows[i]...)
	}
	slices.Sort(all)
	return rows, all
}

// wantIdle checks that scans have left nothing, in the client and in the node.
func wantIdle(t *testing.T, c *testCluster, tc *fakeTC) {
	t.Helper()
	synctest.Wait()
	if n := tc.running(); n != 0 {
		t.Errorf("got %d scans that run on, want none", n)
	}
	if n := c.api().admit.inUse(); n != 0 {
		t.Errorf("got %d slots in use, want none", n)
	}
}

// Whatever happens in which order, a scan gives each row once, does nothing
// that harms a data node, and leaves nothing behind.
func TestScan_AnyOrderOfEvents(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { scanAtRandom(t, seed) })
		})
	}
}

func scanAtRandom(t *testing.T, seed uint64) {
	c := newTestCluster(t, 2)
	rnd := rand.New(rand.NewPCG(seed, 2))
	rows, all := fragmentsOf(rnd, 1+rnd.IntN(5))
	tc := newFakeTC(t, c.nodes[2], seed, rows)
	table := numbersTable(c.Client, len(rows))
	for range 5 {
		tc.mu.Lock()
		tc.rows = slices.Clone(rows)
		tc.mu.Unlock()
		scan := numbersScan(t, table)
		scan.BatchRows = 1 + rnd.IntN(6)
		switch rnd.IntN(3) {
		case 0:
			scan.Index, scan.Order = table.def.Load().indexes["PRIMARY"], Ascending
		case 1:
			scan.Parallel = 1 + rnd.IntN(len(rows))
		}
		wanted := len(all) + 1
		if rnd.IntN(2) == 0 {
			wanted = rnd.IntN(len(all) + 1)
		}
		if rnd.IntN(4) == 0 {
			scan.Limit, wanted = max(wanted, 1), len(all)+1
		}
		ctx, cancel := context.WithCancel(t.Context())
		s, err := c.Scan(ctx, scan)
		if err != nil {
			t.Fatal(err)
		}
		got := readNumbers(ctx, t, s, wanted)
		whole := s.Err() == nil && wanted > len(all) && scan.Limit == 0
		switch leave := rnd.IntN(3); {
		case leave == 0 && !s.closed:
			cancel()
			readNumbers(ctx, t, s, len(all)) // There may be rows that need no waiting.
		case leave == 1 && !s.closed:
			tc.breakScans(270)
			readNumbers(ctx, t, s, len(all))
			if err := s.Err(); err != nil && !MayRetry(err) {
				t.Errorf("got %v, want a temporary error", err)
			}
		}
		s.Close()
		cancel()
		if scan.Order == Ascending && !slices.IsSorted(got) {
			t.Errorf("got %v, want them in order", got)
		}
		if want := min(scan.Limit, len(all)); scan.Limit > 0 && len(got) != want {
			t.Errorf("got %d rows, want %d", len(got), want)
		}
		if slices.Sort(got); whole && !slices.Equal(got, all) {
			t.Errorf("got %v, want %v", got, all)
		}
		wantIdle(t, c, tc)
	}
	if n := c.Stats().Records; n > 5 {
		t.Errorf("got %d records, want them to be used again", n)
	}
}

// startedScan is a scan of which the test is the data node: 2 fragments, of
// which nothing has come.
type startedScan struct {
	*testing.T
	cluster *testCluster
	rec     *txRecord
	state   *scanState
	sent    []string // what the client has sent, in short
}

func startScan(t *testing.T) *startedScan {
	t.Helper()
	c := newTestCluster(t, 2, 3)
	st := &startedScan{T: t, cluster: c}
	newFakeTC(t, c.nodes[2], 1, nil) // gives the record
	rec, err := c.api().linkTo(2).acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.nodes[2].set(func(f *fakeNode) { f.onRequest = st.receive })
	if err := c.api().admit.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec.begin(c.api().nextTransID(), c.api().admit)
	st.rec, st.state = rec, newScanState(2, 10, true, false)
	req := &signal.ScanTabReq{Target: signal.TableScan(7, 1), BatchRows: 10, BatchBytes: 1000, AttrInfo: make([]byte, 20)}
	if err := rec.startScan(st.state, req, 0); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return st
}

// receive is called by the node, which holds its lock.
func (st *startedScan) receive(_ *transporter.ServerConn, m *signal.Message) {
	text := m.GSN.String()
	if m.GSN == signal.GSNScanNextReq {
		var s signal.ScanNextReq
		if err := s.Decode(m); err != nil {
			st.Error(err)
		}
		text = "next"
		for _, p := range s.Fragments {
			text += fmt.Sprintf(" %d", p.Value())
		}
		if s.Close {
			text = "close"
		}
	}
	st.sent = append(st.sent, text)
}

func (st *startedScan) want(sent ...string) {
	st.Helper()
	synctest.Wait()
	st.cluster.nodes[2].set(func(*fakeNode) {
		if got := st.sent[1:]; !slices.Equal(got, sent) { // behind SCAN_TABREQ
			st.Errorf("got %q sent, want %q", got, sent)
		}
	})
}

func (st *startedScan) say(s signal.Incoming) {
	st.cluster.nodes[2].set(func(f *fakeNode) {
		if err := f.conn.SendSignal(signal.BlockDBTC, signal.BlockAPI, s); err != nil {
			st.Error(err)
		}
	})
	synctest.Wait()
}

// op is one of SCAN_TABCONF.
type op struct {
	receiver    int
	fragment    uint32
	rows, words uint32
}

// conf says the end of batches; those with words bring so many rows before.
func (st *startedScan) conf(end bool, ops ...op) {
	conf := &signal.ScanTabConf{Pointer: st.rec.pointer(0), TransID: st.rec.transID, EndOfData: end}
	for _, o := range ops {
		conf.AddOp(st.rec.pointer(o.receiver), o.fragment, o.rows, o.words)
	}
	st.say(conf)
}

func (st *startedScan) row(receiver int, v uint32) {
	words := word.Append(row.AppendAttrHeader(nil, 0, word.SizeBytes), v)
	st.say(&signal.TransIDAI{Pointer: st.rec.pointer(receiver), TransID: st.rec.transID, Attributes: words})
}

func (st *startedScan) wantOver(over bool) {
	st.Helper()
	if got := st.state.isOver(); got != over {
		st.Errorf("got over %t, want %t", got, over)
	}
	want := 1
	if over {
		want = 0
	}
	if got := st.cluster.api().admit.inUse(); got != want {
		st.Errorf("got %d slots in use, want %d", got, want)
	}
}

func scanTest(t *testing.T, name string, f func(st *startedScan)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(startScan(t)) })
	})
}

func TestScanState_ClosesOnlyWhatSurelyRuns(t *testing.T) {
	const none = signal.RNIL
	scanTest(t, "nothing has come", func(st *startedScan) {
		st.state.close(nil)
		st.want()
		st.conf(false, op{receiver: 0, fragment: none})
		st.want()
		st.wantOver(false)
		st.conf(true, op{receiver: 1, fragment: none})
		st.want()
		st.wantOver(true)
	})
	scanTest(t, "a pointer is held", func(st *startedScan) {
		st.conf(false, op{receiver: 0, fragment: 5, rows: 1, words: 2})
		st.row(0, 1)
		if from, err := st.state.take(st.Context(), 0, new(scanBatch)); from != 0 || err != nil {
			st.Errorf("got %d, %v", from, err)
		}
		st.state.close(nil)
		st.want("close")
		st.state.ask(0) // is too late
		st.conf(false, op{receiver: 1, fragment: 6})
		st.state.close(nil)
		st.want("close")
		st.wantOver(false)
		st.conf(true)
		st.wantOver(true)
	})
	scanTest(t, "a pointer comes later", func(st *startedScan) {
		st.state.close(nil)
		st.conf(false, op{receiver: 1, fragment: 6})
		st.want("close")
		st.conf(true)
		st.wantOver(true)
	})
	scanTest(t, "the only pointer was asked for", func(st *startedScan) {
		st.conf(false, op{receiver: 0, fragment: none}, op{receiver: 1, fragment: 6})
		var b scanBatch
		if from, err := st.state.take(st.Context(), 1, &b); from != 1 || err != nil {
			st.Errorf("got %d, %v", from, err)
		}
		st.state.ask(1)
		st.state.ask(1)
		st.state.close(nil)
		st.want("next 6")
		st.conf(true, op{receiver: 1, fragment: none})
		st.want("next 6")
		st.wantOver(true)
	})
	scanTest(t, "refused for good", func(st *startedScan) {
		st.say(&signal.ScanTabRef{Pointer: st.rec.pointer(0), TransID: st.rec.transID, Error: 245})
		st.want()
		st.wantOver(true)
	})
	scanTest(t, "failed, to be closed", func(st *startedScan) {
		st.say(&signal.ScanTabRef{Pointer: st.rec.pointer(0), TransID: st.rec.transID, Error: 270, CloseNeeded: true})
		st.want("close")
		st.wantOver(false)
		st.conf(true)
		st.wantOver(true)
	})
	scanTest(t, "failed while it is closed", func(st *startedScan) {
		st.conf(false, op{receiver: 0, fragment: 5})
		st.state.close(nil)
		st.say(&signal.ScanTabRef{Pointer: st.rec.pointer(0), TransID: st.rec.transID, Error: 270, CloseNeeded: true})
		st.want("close")
		st.conf(true)
		st.wantOver(true)
	})
}

func TestStartScan_OfAnotherCluster_IsNotSent(t *testing.T) {
	scanTest(t, "", func(st *startedScan) {
		st.conf(true)
		rec, err := st.cluster.api().linkTo(2).acquire(st.Context())
		if err != nil {
			st.Fatal(err)
		}
		rec.begin(st.cluster.api().nextTransID(), nil)
		req := &signal.ScanTabReq{Target: signal.TableScan(7, 1), BatchRows: 10, AttrInfo: make([]byte, 20)}
		if err := rec.startScan(newScanState(1, 10, true, false), req, 1); !isStaleSchema(err) {
			st.Errorf("got %v, want an error that asks for the table's definition", err)
		}
		st.want()
	})
}

func TestScanState_EndOfData_WaitsForTheLastRows(t *testing.T) {
	scanTest(t, "", func(st *startedScan) {
		st.conf(true, op{receiver: 0, fragment: signal.RNIL, rows: 1, words: 2}, op{receiver: 1, fragment: signal.RNIL})
		st.wantOver(false)
		st.row(0, 7)
		st.wantOver(true)
		var b scanBatch
		for from, rows := range map[int]int{0: 1, 1: 0} {
			if got, err := st.state.take(st.Context(), from, &b); got != from || b.rows != rows || err != nil {
				st.Errorf("got %d with %d rows, %v; want %d with %d", got, b.rows, err, from, rows)
			}
		}
		if from, err := st.state.take(st.Context(), anyReceiver, &b); from != anyReceiver || err != nil {
			st.Errorf("got %d, %v, want the end", from, err)
		}
		st.want()
	})
}

func TestScanState_LostNodes_EndTheScan(t *testing.T) {
	take := func(st *startedScan) error {
		_, err := st.state.take(st.Context(), anyReceiver, new(scanBatch))
		return err
	}
	want4028 := func(st *startedScan) {
		st.Helper()
		if err := take(st); !isCode(err, 4028) || !MayRetry(err) {
			st.Errorf("got %v, want the temporary error 4028", err)
		}
	}
	scanTest(t, "the coordinator", func(st *startedScan) {
		st.cluster.nodes[2].kill()
		synctest.Wait()
		want4028(st)
		st.wantOver(true)
	})
	scanTest(t, "another one with rows on their way", func(st *startedScan) {
		st.conf(false, op{receiver: 0, fragment: 5, rows: 1, words: 2})
		st.cluster.nodes[3].kill()
		want4028(st)
		st.want("close")
		st.conf(true)
		st.wantOver(true)
	})
	scanTest(t, "another one with nothing on its way", func(st *startedScan) {
		st.conf(false, op{receiver: 0, fragment: 5}, op{receiver: 1, fragment: signal.RNIL})
		st.cluster.nodes[3].kill()
		synctest.Wait()
		if err := take(st); err != nil {
			st.Error(err)
		}
		st.state.ask(0)
		st.want("next 5")
		st.conf(true, op{receiver: 0, fragment: signal.RNIL})
		st.wantOver(true)
	})
}

func TestScanState_BatchesThatAreNotAsAnnounced_AreErrors(t *testing.T) {
	wantError := func(st *startedScan) {
		st.Helper()
		_, err := st.state.take(st.Context(), anyReceiver, new(scanBatch))
		if e := (*Error)(nil); !errors.As(err, &e) || e.Classification != ClassInternal {
			st.Errorf("got %v, want an internal error", err)
		}
	}
	scanTest(t, "more words", func(st *startedScan) {
		st.row(0, 1)
		st.conf(false, op{receiver: 0, fragment: 5, rows: 1, words: 1})
		wantError(st)
		st.want("close")
	})
	scanTest(t, "another number of rows", func(st *startedScan) {
		st.conf(false, op{receiver: 0, fragment: 5, rows: 2, words: 2})
		st.row(0, 1)
		wantError(st)
		st.want("close")
	})
	scanTest(t, "more rows than were asked for", func(st *startedScan) {
		for range 11 {
			st.row(0, 1)
		}
		wantError(st)
	})
	scanTest(t, "a receiver that has not asked", func(st *startedScan) {
		st.conf(false, op{receiver: 0, fragment: 5})
		st.conf(false, op{receiver: 0, fragment: 6})
		if st.cluster.info(2).Usable {
			st.Error("the link is still up")
		}
		st.wantOver(true)
	})
}

func TestScanState_SignalsOfOthers_AreDropped(t *testing.T) {
	scanTest(t, "", func(st *startedScan) {
		other := st.rec.transID
		other.Low++
		st.say(&signal.ScanTabConf{Pointer: st.rec.pointer(0), TransID: other, EndOfData: true})
		st.say(&signal.ScanTabRef{Pointer: st.rec.pointer(0), TransID: other, Error: 270})
		st.say(&signal.TransIDAI{Pointer: st.rec.pointer(0), TransID: other})
		st.say(&signal.KeyInfo20{Receiver: st.rec.pointer(0), TransID: other})
		st.say(&signal.ScanTabConf{Pointer: 0xfffff000, TransID: st.rec.transID, EndOfData: true})
		st.say(&signal.TransIDAI{Pointer: st.rec.pointer(9), TransID: st.rec.transID})
		st.wantOver(false)
		st.want()
		st.conf(true)
		st.wantOver(true)
	})
}

func isCode(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
