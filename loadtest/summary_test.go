package loadtest

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestKnee(t *testing.T) {
	for _, c := range []struct {
		name    string
		threads []int
		tps     []float64
		want    int
	}{
		{"none yet", []int{1, 2, 4}, []float64{100, 190, 360}, -1},
		{"flat", []int{1, 2, 4, 8}, []float64{100, 190, 195, 196}, 1},
		{"falls", []int{1, 2, 4, 8}, []float64{100, 190, 100, 90}, 1},
		{"a dip on the way up", []int{1, 2, 4, 8}, []float64{100, 90, 300, 310}, 2},
		{"steps of four", []int{1, 4, 16}, []float64{100, 400, 420}, 1},
		{"one", []int{8}, []float64{5}, -1},
		{"at once", []int{1, 2}, []float64{100, 101}, 0},
	} {
		var line []Summary
		for i, n := range c.threads {
			line = append(line, Summary{Threads: n, Throughput: c.tps[i]})
		}
		if got := Knee(line); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func emptyReport() *Report {
	return &Report{
		Format: Format, Kind: "run", EndedBy: Complete, Began: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Settings: Settings{Way: "http", Backends: []string{"ndb", "sql"}, Repeats: 2, Seconds: 1, Rows: 10, Workloads: []Workload{Single(Select)}},
		Host:     Host{CPUs: 2, CPU: "a", OS: "linux", Arch: "amd64"}, Tool: Tool{Version: "v1"},
	}
}

// smallReport is two lines with two numbers of threads and two repeats.
func smallReport() *Report {
	r := emptyReport()
	for repeat := 1; repeat <= 2; repeat++ {
		for _, backend := range []string{"ndb", "sql"} {
			for _, threads := range []int{1, 8} {
				tps := float64(1000 * threads * repeat)
				cpu := 10.0 * float64(threads)
				if backend == "sql" {
					tps /= 2
					cpu *= 2
				}
				r.Cells = append(r.Cells, Cell{
					Workload: "select", Backend: backend, Threads: threads, Repeat: repeat, Seconds: 1, Ops: int64(tps), Rows: int64(tps), Throughput: tps,
					Latency: LatencyFor(100, func(i int) time.Duration { return time.Duration(i+1) * time.Millisecond }), HostCPU: 50,
					CPU: []CPU{{Name: "data node 2", Seconds: cpu / 50, Percent: cpu}, {Name: "gateway", Seconds: 0.1, Percent: 5}, {Name: "generator", Seconds: 0.04, Percent: 2}, {Name: "mysqld 51", Unknown: "gone"}},
				})
			}
		}
	}
	return r
}

func TestSummaries_JoinRepeats(t *testing.T) {
	s := Summaries(smallReport())
	if len(s) != 4 {
		t.Fatalf("got %d, want 4", len(s))
	}
	first := s[0]
	if first.Backend != "ndb" || first.Threads != 1 || first.Throughput != 1500 || !slices.Equal(first.Throughputs, []float64{1000, 2000}) || first.Latency.Count != 200 {
		t.Errorf("got %+v", first)
	}
	if first.DatabaseCPU != 10 || first.GatewayCPU != 5 || first.GeneratorCPU != 2 || first.HostCPU != 50 || first.PerPoint() != 150 {
		t.Errorf("got %+v", first)
	}
	// 1000/(0.2+0.1) and 2000/(0.2+0.1): the generator does not count.
	if math.Abs(first.PerCPUSecond-5000) > 1e-6 {
		t.Errorf("got %v operations for a second of processor time, want 5000", first.PerCPUSecond)
	}
}

func TestWriteTables_AreThoseOfTheArticle(t *testing.T) {
	r := smallReport()
	r.Cells[2].Notes = []Note{{GeneratorLimits, "the generator was the bottleneck: it used 1.9 of 2 processors", 0.95}}
	r.Cells[3].Errors = []ErrorCount{{"unavailable", 3, "down"}}
	var b bytes.Buffer
	if err := WriteTables(&b, r); err != nil {
		t.Fatal(err)
	}
	want := `Operations in a second, by threads (median of 2)
                   1        8
  select ndb  1500.0  12000.0
  select sql   750.0   6000.0

Throughput, as a ratio of the roads
                       1     8
  select ndb / sql  2.00  2.00
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
	for _, want := range []string{
		"Processor time of the database, in percent of the host\n                 1      8\n  select ndb  10.0   80.0\n",
		"each percent of the host that the database used\n                  1      8\n  select ndb  150.0  150.0\n",
		"The same, as a ratio of the roads\n                       1     8\n  select ndb / sql  4.00  4.00\n",
		"! select sql, 1 thread, repeat 1: the generator was the bottleneck: it used 1.9 of 2 processors\n",
		"! select sql, 8 threads, repeat 1: 3 operations failed: 3 unavailable (down)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant something like\n%s", b.String(), want)
		}
	}
}

func TestNotes_OfOneKind_AreTogether(t *testing.T) {
	r := smallReport()
	for i := range r.Cells {
		r.Cells[i].Notes = []Note{{GeneratorWaits, "it waited", float64(i)}}
	}
	notes := Notes(r)
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "in 8 of 8 cells") || !strings.Contains(notes[0], "sql, 8 threads, repeat 2") {
		t.Errorf("got %q", notes)
	}
	if want := "select ndb, 1 thread, repeat 1, and perhaps others: the processor time of mysqld 51 is missing, in sums too: gone"; len(notes) == 2 && notes[1] != want {
		t.Errorf("got %q, want %q", notes[1], want)
	}
}

func TestReport_RoundTrip(t *testing.T) {
	r := smallReport()
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadReport(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v, want %+v", got, r)
	}
	for _, text := range []string{"", "{}", "[]", `{"format":"ndbgate-loadtest/99"}`, `{"format":`} {
		if _, err := ReadReport(strings.NewReader(text)); !errors.Is(err, ErrNoReport) {
			t.Errorf("%q: got %v, want no report", text, err)
		}
	}
}

func TestWriteCSV_HasALineForEachCell(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCSV(&b, smallReport()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 9 || !strings.HasPrefix(lines[1], "select,ndb,,1,0.0,1,") || strings.Count(lines[1], ",") != strings.Count(lines[0], ",") {
		t.Errorf("got %d lines, the second %q", len(lines), lines[1])
	}
}

func TestMerge_GivesTheDistributionOfAll(t *testing.T) {
	fast := LatencyFor(990, func(int) time.Duration { return time.Millisecond })
	slow := LatencyFor(10, func(int) time.Duration { return time.Second })
	all := Merge([]Latency{fast, slow, {}})
	if all.Count != 1000 || math.Abs(all.P50-1) > 0.01 || math.Abs(all.P999-1000) > 5 || all.P99 > 2 {
		t.Errorf("got %+v", all)
	}
	if got := all.Percentiles([]float64{50, 99.9}); len(got) != 2 || math.Abs(got[1]-1000) > 5 {
		t.Errorf("got %v", got)
	}
}

func TestBottleneckNotes(t *testing.T) {
	host := &Host{CPUs: 2}
	cell := func(own, busy float64) *Cell {
		return &Cell{Seconds: 10, Ops: 1000, HostCPU: busy, CPU: []CPU{{Name: "generator", Seconds: own}, {Name: "mysqld 51", Seconds: 3}}}
	}
	late := cell(1, 50)
	late.LateTimer = 20
	waits := cell(1, 50)
	waits.SchedulerP99 = 6
	for _, c := range []struct {
		name string
		cell *Cell
		want []NoteKind
	}{
		{"idle", cell(1, 20), nil},
		{"alone", cell(19, 99), []NoteKind{GeneratorLimits}},
		{"beside a busy target", cell(8, 99), []NoteKind{GeneratorShares}},
		{"small beside a busy target", cell(2, 99), nil},
		{"waits", waits, []NoteKind{GeneratorWaits}},
		{"late", late, []NoteKind{GeneratorLate}},
	} {
		var got []NoteKind
		for _, n := range bottleneckNotes(c.cell, host, "http") {
			got = append(got, n.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSeries_IsBounded(t *testing.T) {
	s := newSeries(time.Millisecond, time.Hour)
	if len(s.points) > maxPoints+1 || s.interval < time.Second {
		t.Errorf("got %d points of %v", len(s.points), s.interval)
	}
}
