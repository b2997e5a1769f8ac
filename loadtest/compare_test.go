package loadtest

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// repeated is a report of one cell with these throughputs.
func repeated(tps ...float64) *Report {
	r := emptyReport()
	for i, v := range tps {
		r.Cells = append(r.Cells, Cell{Workload: "select", Backend: "ndb", Threads: 4, Repeat: i + 1, Seconds: 1, Throughput: v})
	}
	return r
}

func TestCompare_Regressions(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new []float64
		text     string
		worse    bool // by more than a twentieth
	}{
		{"the same", []float64{100, 101, 99, 100}, []float64{100, 99, 101, 100}, "~", false},
		{"worse", []float64{100, 101, 99, 100}, []float64{80, 81, 79, 80}, "-20.0 %", true},
		{"better", []float64{100, 101, 99, 100}, []float64{120, 121, 119, 120}, "+20.0 %", false},
		{"worse, a little", []float64{100, 101, 99, 100}, []float64{97, 97.5, 96.5, 97}, "-3.0 %", false},
		{"worse, by chance", []float64{100, 150, 50, 100}, []float64{90, 130, 60, 85}, "~", false},
		{"three repeats are enough", []float64{100, 101, 99}, []float64{80, 81, 79}, "-20.0 %", true},
		{"always the same, and worse", []float64{200, 200, 200}, []float64{150, 150, 150}, "-25.0 %", true},
		{"always the same", []float64{200, 200}, []float64{200, 200}, "~", false},
		{"one repeat tells nothing, and counts", []float64{100}, []float64{80}, "-20.0 % ?", true},
		{"one repeat, better", []float64{100}, []float64{120}, "+20.0 % ?", false},
	} {
		got, err := Compare(repeated(c.old...), repeated(c.new...), false)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Changes[0].text(); text != c.text {
			t.Errorf("%s: got %q, want %q", c.name, text, c.text)
		}
		if worse := len(got.Regressions(0.05)) > 0; worse != c.worse {
			t.Errorf("%s: got worse %v, want %v", c.name, worse, c.worse)
		}
	}
}

func TestCompare_OpenLoop_ByP99(t *testing.T) {
	old, fresh := repeated(500, 500, 500, 500), repeated(500, 500, 500, 500)
	for i := range old.Cells {
		old.Cells[i].Rate, fresh.Cells[i].Rate = 500, 500
		old.Cells[i].Latency.P99, fresh.Cells[i].Latency.P99 = 2+float64(i)/100, 4+float64(i)/100
	}
	c, err := Compare(old, fresh, false)
	if err != nil || len(c.Regressions(0.5)) != 1 || c.Changes[0].Unit != "p99 ms" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestCompare_OpenLoop_OperationsThatFailAtOnceAreNoFastOnes(t *testing.T) {
	old, fresh := repeated(500, 500, 500, 501), repeated(0, 0, 0, 1)
	for i := range old.Cells {
		old.Cells[i].Rate, fresh.Cells[i].Rate = 500, 500
		old.Cells[i].Latency.P99 = 2
		fresh.Cells[i].Errors = []ErrorCount{{Kind: "unavailable", Count: 500}}
	}
	c, err := Compare(old, fresh, false)
	if err != nil {
		t.Fatal(err)
	}
	if worse := c.Regressions(0.05); len(worse) != 1 || worse[0].Cell != "select ndb, 4 threads, 500/s, done" {
		t.Errorf("got %+v, want fewer operations done", worse)
	}
	want := []string{"select ndb, 4 threads, 500/s is in the old report alone", "select ndb, 4 threads, 500/s: 2000 operations failed and 0 were never sent, in the old report 0 and 0"}
	if !slices.Equal(c.Notes, want) {
		t.Errorf("got notes %q, want %q", c.Notes, want)
	}
}

func TestCompare_FindMax_ByTheMost(t *testing.T) {
	search := func(most float64) *Report {
		r := repeated(100, most)
		r.Kind, r.Maxima = findMaxKind, []Maximum{{Workload: "select", Backend: "ndb", Throughput: most}}
		return r
	}
	c, err := Compare(search(1000), search(700), false)
	if err != nil || len(c.Changes) != 1 || c.Changes[0].Cell != "select ndb, the most" || len(c.Regressions(0.05)) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestCompare_RefusesUnlikeRuns(t *testing.T) {
	for name, change := range map[string]func(r *Report){
		"kind":       func(r *Report) { r.Kind = "batch" },
		"way":        func(r *Report) { r.Settings.Way = "direct" },
		"rate":       func(r *Report) { r.Settings.Rate = 5 },
		"duration":   func(r *Report) { r.Settings.Seconds = 2 },
		"rows":       func(r *Report) { r.Settings.Rows = 11 },
		"processors": func(r *Report) { r.Host.CPUs = 4 },
		"mix select": func(r *Report) { r.Settings.Workloads = []Workload{{"select", []Share{{Select, 1}, {Update, 1}}}} },
	} {
		r := repeated(1, 2, 3)
		change(r)
		_, err := Compare(repeated(1, 2, 3), r, false)
		if !errors.Is(err, ErrUnlike) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := Compare(repeated(1, 2, 3), r, true); name != "kind" && err != nil {
			t.Errorf("%s, anyway: got %v", name, err)
		}
	}
	none := repeated()
	if _, err := Compare(repeated(1), none, false); !errors.Is(err, errNothingInCommon) || errors.Is(err, ErrUnlike) {
		t.Errorf("nothing in common: got %v", err)
	}
	newer := repeated(1, 2, 3)
	newer.Tool = Tool{Version: "v2", Commit: "abc"}
	if _, err := Compare(repeated(1, 2, 3), newer, false); err != nil {
		t.Errorf("another version: got %v", err)
	}
}

func TestCompare_WriteTable(t *testing.T) {
	old := repeated(100, 101, 99, 100)
	old.Cells = append(old.Cells, Cell{Workload: "insert", Backend: "sql", Threads: 1, Seconds: 1, Throughput: 5})
	c, err := Compare(old, repeated(80, 81, 79, 80), false)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"select ndb, 4 threads  100.00  80.00  ops/s  -20.0 %  0.029  4+4", "insert sql, 1 thread is in the old report alone"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", b.String(), want)
		}
	}
}

func TestPValue_TooFew(t *testing.T) {
	if p := pValue([]float64{1}, []float64{2, 3}); !math.IsNaN(p) {
		t.Errorf("got %v", p)
	}
}
