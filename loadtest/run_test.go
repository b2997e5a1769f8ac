package loadtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

func TestRun_ClosedLoop_CountsWhatEndedInTheMeasuredTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quick(road("ndb", newFake(10*time.Millisecond)))
		c.Threads = []int{1, 4}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{100, 400} {
			cell := &r.Cells[i]
			if got := cell.Throughput; got < want-5 || got > want+5 {
				t.Errorf("%d threads: got %v operations in a second, want about %v", cell.Threads, got, want)
			}
			if cell.Latency.P50 < 9.9 || cell.Latency.Max > 10.2 || len(cell.Errors) > 0 || cell.Seconds != 1 {
				t.Errorf("got %+v", cell)
			}
		}
		if r.EndedBy != loadtest.Complete || len(r.Notes) > 0 {
			t.Errorf("got ended by %q, notes %q", r.EndedBy, r.Notes)
		}
	})
}

func TestRun_EveryOperation_RowsAreCheckedAndGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := newFake(time.Millisecond)
		c := quick(road("ndb", shared), road("sql", shared))
		c.Workloads = nil // the four
		c.Workloads = append(c.Workloads, loadtest.Single(loadtest.Insert), loadtest.Single(loadtest.Update), loadtest.Single(loadtest.Delete), loadtest.Single(loadtest.List))
		c.Article, c.Repeats, c.Threads = true, 2, []int{1, 3}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		// Four workloads by two roads, and two variants, for each number of threads
		// and repeat.
		if got, want := len(r.Cells), (4*2+2)*2*2; got != want {
			t.Errorf("got %d cells, want %d", got, want)
		}
		for i := range r.Cells {
			if cell := &r.Cells[i]; cell.Ops < 400 || len(cell.Errors) > 0 || cell.Partial != "" {
				t.Errorf("got %s %s: %d operations, errors %v, partial %q", cell.Workload, cell.Backend, cell.Ops, cell.Errors, cell.Partial)
			}
		}
		var sums []string
		for _, v := range r.Verifications {
			if v.Rows != c.Rows || len(v.Problems) > 0 {
				t.Errorf("got %+v", v)
			}
			sums = append(sums, v.Checksum)
		}
		if len(sums) != 4 || sums[0] != sums[1] || sums[2] != sums[3] || sums[0] == sums[2] {
			t.Errorf("got checksums %q, want two equal ones before and two others after", sums)
		}
		left, err := shared.rows.List(t.Context(), models.EmployeeQuery{Limit: 10})
		if err != nil || len(left.Employees) > 0 {
			t.Errorf("got rows left %v (%v)", left, err)
		}
	})
}

func TestRun_FindFirst_ReadsBeforeItWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quick(road("ndb", newFake(time.Millisecond)))
		c.Workloads, c.Article = []loadtest.Workload{loadtest.Single(loadtest.Update)}, true
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		plain, found := &r.Cells[0], &r.Cells[1]
		if plain.Variant != "" || found.Variant != loadtest.FindFirst || found.Latency.P50 < 1.9*plain.Latency.P50 {
			t.Errorf("got %v: %v ms, %v: %v ms", plain.Variant, plain.Latency.P50, found.Variant, found.Latency.P50)
		}
	})
}

func TestRun_UpdateThatTouchedNoRow_IsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.before = func(op loadtest.Op) error {
			if op == loadtest.Update {
				return &target.Error{Kind: target.NotFound, Err: errors.New("no row")}
			}
			return nil
		}
		c := quick(road("sql", f))
		c.Workloads = []loadtest.Workload{loadtest.Single(loadtest.Update)}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		cell := &r.Cells[0]
		if cell.Ops != 0 || len(cell.Errors) != 1 || cell.Errors[0].Kind != target.NotFound || cell.Errors[0].Count < 1000 {
			t.Errorf("got %d operations, errors %+v", cell.Ops, cell.Errors)
		}
	})
}

func TestRun_MaxOps_AllOfThemCount(t *testing.T) {
	for name, rate := range map[string]float64{"closed loop": 0, "open loop": 200} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := quick(road("ndb", newFake(10*time.Millisecond)))
				c.Threads, c.MaxOps, c.Warmup, c.Rate, c.Duration = []int{64}, 100, -1, rate, 10*time.Second
				r, err := loadtest.Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if cell := &r.Cells[0]; cell.Ops != 100 || cell.Latency.Count != 100 || cell.Dropped != 0 || cell.Seconds > 1 {
					t.Errorf("got %d operations, %d latencies, %d dropped in %v s; want 100 at once", cell.Ops, cell.Latency.Count, cell.Dropped, cell.Seconds)
				}
			})
		})
	}
}

func TestRun_TargetDies_EndsWithWhatWasMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		var dead atomic.Bool
		f.before = func(loadtest.Op) error {
			if dead.Load() {
				return errDown
			}
			return nil
		}
		c := quick(road("ndb", f))
		c.Repeats, c.GiveUp, c.Duration = 3, 2*time.Second, 4*time.Second
		c.Hooks = []loadtest.Hook{{Name: "die", Cell: 1, At: time.Second, Run: func(context.Context) error { dead.Store(true); return nil }}}
		began := time.Now()
		r, err := loadtest.Run(t.Context(), c)
		if !errors.Is(err, loadtest.ErrTargetDied) || !strings.Contains(err.Error(), "connection refused") {
			t.Fatalf("got %v, want a target that died of a refused connection", err)
		}
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("it took %v to give up", took)
		}
		if len(r.Cells) != 2 || r.Cells[0].Partial != "" || r.Cells[1].Partial == "" || r.Cells[1].Ops < 900 || r.EndedBy != err.Error() {
			t.Errorf("got %d cells, ended by %q", len(r.Cells), r.EndedBy)
		}
		// A target that refuses at once is asked some ten times in a second.
		if e := r.Cells[1].Errors; len(e) != 1 || e[0].Count > 60 {
			t.Errorf("got %+v", e)
		}
	})
}

func TestRun_TargetComesBack_GoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		var dead atomic.Bool
		f.before = func(loadtest.Op) error {
			if dead.Load() {
				return errDown
			}
			return nil
		}
		c := quick(road("ndb", f))
		c.Duration, c.GiveUp = 5*time.Second, 2*time.Second
		set := func(to bool) func(context.Context) error {
			return func(context.Context) error { dead.Store(to); return nil }
		}
		c.Hooks = []loadtest.Hook{{Name: "back", At: 2500 * time.Millisecond, Run: set(false)}, {Name: "die", At: time.Second, Run: set(true)}}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil || r.EndedBy != loadtest.Complete {
			t.Fatalf("got %v", err)
		}
		// The dip shows in the series, and when it was in the events.
		var zero int
		for _, p := range r.Cells[0].Series {
			if p.OpsPerSecond == 0 {
				zero++
			}
		}
		if zero < 10 || zero > 13 {
			t.Errorf("got %d intervals of %d without an operation, want 12 of 40", zero, len(r.Cells[0].Series))
		}
		if len(r.Events) != 2 || r.Events[0].Name != "die" || r.Events[0].Since < 1 || r.Events[0].Since > 1.01 {
			t.Errorf("got %+v", r.Events)
		}
	})
}

func TestRun_Interrupted_ReportsAndCleans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		c := quick(road("ndb", f))
		c.Repeats = 5
		ctx, cancel := context.WithCancel(t.Context())
		c.Hooks = []loadtest.Hook{{Name: "interrupt", Cell: 1, At: 500 * time.Millisecond, Run: func(context.Context) error { cancel(); return nil }}}
		r, err := loadtest.Run(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Cells) != 2 || r.Cells[1].Partial == "" || r.Cells[1].Seconds < 0.49 || r.Cells[1].Seconds > 0.61 || r.EndedBy != "interrupted" {
			t.Errorf("got %d cells, the last %q after %v s, ended by %q", len(r.Cells), r.Cells[len(r.Cells)-1].Partial, r.Cells[len(r.Cells)-1].Seconds, r.EndedBy)
		}
		if left, err := f.rows.List(t.Context(), models.EmployeeQuery{Limit: 10}); err != nil || len(left.Employees) > 0 {
			t.Errorf("got rows left %v (%v)", left, err)
		}
	})
}

func TestRun_DeletesWithoutKnowingTheRate_HaveRowsForAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(200 * time.Microsecond) // more than is guessed
		c := quick(road("ndb", f))
		c.Workloads = []loadtest.Workload{loadtest.Single(loadtest.Delete)}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil || len(r.Cells) != 1 || r.Cells[0].Partial != "" || r.Cells[0].Ops < 4500 {
			t.Errorf("got %v, %+v", err, r.Cells)
		}
	})
}

func TestRun_InsertsMayLeaveNoMoreRowsThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		c := quick(road("ndb", f))
		c.Workloads, c.MaxRows = []loadtest.Workload{loadtest.Single(loadtest.Insert)}, 500
		r, err := loadtest.Run(t.Context(), c)
		if err != nil || r.Cells[0].Partial == "" || r.Cells[0].Seconds > 0.5 {
			t.Errorf("got %v, %+v", err, r.Cells)
		}
	})
}

func TestRun_MaxOps_EndsTheCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		c := quick(road("ndb", f))
		c.MaxOps, c.Warmup, c.Keep, c.Unchecked = 120, -1, true, true
		r, err := loadtest.Run(t.Context(), c)
		if err != nil || f.count(loadtest.Select) != 120 || r.Cells[0].Partial == "" {
			t.Errorf("got %v, %d operations", err, f.count(loadtest.Select))
		}
	})
}

func TestRun_Mix_KeepsTheWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := loadtest.ParseMix("busy=select:80,update:15,insert:3,delete:2")
		if err != nil {
			t.Fatal(err)
		}
		c := quick(road("ndb", newFake(100*time.Microsecond)))
		c.Workloads = []loadtest.Workload{w}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		cell := &r.Cells[0]
		var sum int64
		for i, want := range []float64{80, 15, 3, 2} {
			share := 100 * float64(cell.ByOp[i].Count) / float64(cell.Latency.Count)
			if share < want*0.8-0.3 || share > want*1.2+0.3 {
				t.Errorf("%s: got %.1f %%, want about %v", cell.ByOp[i].Op, share, want)
			}
			sum += cell.ByOp[i].Count
		}
		if sum != cell.Latency.Count || len(cell.Errors) > 0 {
			t.Errorf("got %d of %d operations, errors %v", sum, cell.Latency.Count, cell.Errors)
		}
	})
}

func TestRun_SameSeed_SameRowsAreAsked(t *testing.T) {
	var asked [2][]int64
	for i := range asked {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(time.Millisecond)
			c := quick(road("ndb", &spy{fake: f, ids: &asked[i]}))
			c.Unchecked, c.Rows, c.Seed = true, 10_000, 7
			if _, err := loadtest.Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		})
	}
	if len(asked[0]) < 1000 || !slices.Equal(asked[0], asked[1]) {
		t.Errorf("got %d and %d rows, which differ", len(asked[0]), len(asked[1]))
	}
}

// spy notes the rows that are read.
type spy struct {
	*fake
	ids *[]int64
}

func (s *spy) Open(context.Context) (target.Session, error) {
	return &spySession{fakeSession{s.fake}, s.ids}, nil
}

type spySession struct {
	fakeSession
	ids *[]int64
}

func (s *spySession) Select(ctx context.Context, id int64, e *models.Employee) error {
	*s.ids = append(*s.ids, id)
	return s.fakeSession.Select(ctx, id, e)
}

func TestRun_CheckpointAfterEachRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quick(road("ndb", newFake(time.Millisecond)))
		c.Repeats = 3
		var cells []int
		c.Checkpoint = func(r *loadtest.Report) error {
			cells = append(cells, len(r.Cells))
			return errors.New("no space left on device")
		}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil || !slices.Equal(cells, []int{1, 2, 3}) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "no space left") {
			t.Errorf("got %v, checkpoints with %v cells, notes %q", err, cells, r.Notes)
		}
	})
}

func TestConfig_Validate_NamesEveryField(t *testing.T) {
	c := loadtest.Config{
		Threads: []int{0, 3, 3}, Rate: -1, Arrivals: "often", Keys: "some", Duration: -1, Repeats: 1000, Rows: -1, MaxOps: -1,
		Workloads: []loadtest.Workload{{Name: "x", Mix: []loadtest.Share{{Op: "jump", Weight: 1}}}},
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"backends", "threads: 0", "threads: 3 is there twice", "rate", "arrivals", "keys", "duration", "repeats", "rows", "max-ops", "jump"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want something about %s", err, want)
		}
	}
}
