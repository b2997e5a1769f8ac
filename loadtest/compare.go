package loadtest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// ErrUnlike says that two reports are not of the same measurement, so that their
// numbers cannot be compared.
var ErrUnlike = errors.New("the reports are not of the same measurement")

// Comparison is two reports, cell by cell.
type Comparison struct {
	Old, New *Report
	Changes  []Change
	Notes    []string // what only one of the reports has
}

// Change is what became of one number of one cell. Of a closed loop it is the
// throughput, of an open one p99, and how much was done of what was asked for. Of
// batches it is the time of one, of a search the most that was found.
type Change struct {
	Cell     string
	Unit     string
	Old, New float64 // medians
	N        [2]int  // repeats
	// Delta is the change from old to new, 0.1 is a tenth more; NaN: not known.
	Delta float64
	// P is how likely such a difference is where there is none; NaN: too few
	// repeats to tell.
	P      float64
	Better bool // more is better
}

// Alpha is the P below which a change is taken for one.
const Alpha = 0.05

// Significant tells a change that is none by chance, as far as can be told.
func (c *Change) Significant() bool { return c.P < Alpha }

// Regress is how much worse the new number is, as a part of the old one; 0 where
// it is not worse, or only by chance. A change of which nobody can tell counts:
// more repeats tell.
func (c *Change) Regress() float64 {
	worse := c.Delta
	if c.Better {
		worse = -worse
	}
	if math.IsNaN(worse) || worse <= 0 || c.P >= Alpha {
		return 0
	}
	return worse
}

// Compare compares two reports. It returns ErrUnlike with all reasons, unless
// anyway is set, where they differ in what decides the numbers.
func Compare(older, newer *Report, anyway bool) (*Comparison, error) {
	c := &Comparison{Old: older, New: newer}
	if reasons := unlike(older, newer); len(reasons) > 0 {
		if !anyway || older.Kind != newer.Kind {
			return nil, fmt.Errorf("%w: %s", ErrUnlike, strings.Join(reasons, "; "))
		}
		c.Notes = append(c.Notes, reasons...)
	}
	old, order := samplesOf(older)
	fresh, freshOrder := samplesOf(newer)
	for _, name := range order {
		if _, ok := fresh[name]; !ok {
			c.Notes = append(c.Notes, name+" is in the old report alone")
			continue
		}
		c.Changes = append(c.Changes, changeOf(name, old[name], fresh[name]))
	}
	for _, name := range freshOrder {
		if _, ok := old[name]; !ok {
			c.Notes = append(c.Notes, name+" is in the new report alone")
		}
	}
	if len(c.Changes) == 0 {
		return nil, errNothingInCommon
	}
	c.Notes = append(c.Notes, failureNotes(older, newer)...)
	return c, nil
}

var errNothingInCommon = errors.New("the reports have no whole cell in common: other operations, roads, threads or rates")

// failureNotes tells where operations failed or were never sent: throughput and
// latency are of the others.
func failureNotes(older, newer *Report) []string {
	old := map[string]Summary{}
	for _, s := range Summaries(older) {
		old[s.name()] = s
	}
	var notes []string
	for _, s := range Summaries(newer) {
		was := old[s.name()]
		if s.Failed+s.Dropped+was.Failed+was.Dropped > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d operations failed and %d were never sent, in the old report %d and %d", s.name(), s.Failed, s.Dropped, was.Failed, was.Dropped))
		}
	}
	return shorten(notes)
}

// unlike tells what differs of that which must be the same. Versions may differ:
// they are what is compared.
func unlike(a, b *Report) []string {
	var reasons []string
	differ := func(what string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			reasons = append(reasons, fmt.Sprintf("%s: %v and %v", what, a, b))
		}
	}
	differ("kind", a.Kind, b.Kind)
	differ("way", a.Settings.Way, b.Settings.Way)
	differ("rate", a.Settings.Rate, b.Settings.Rate)
	differ("arrivals", a.Settings.Arrivals, b.Settings.Arrivals)
	differ("duration", a.Settings.Seconds, b.Settings.Seconds)
	differ("warmup", a.Settings.Warmup, b.Settings.Warmup)
	differ("rows", a.Settings.Rows, b.Settings.Rows)
	differ("keys", a.Settings.Keys, b.Settings.Keys)
	differ("seed", a.Settings.Seed, b.Settings.Seed)
	differ("max-ops", a.Settings.MaxOps, b.Settings.MaxOps)
	differ("processors", a.Host.CPUs, b.Host.CPUs)
	differ("processor", a.Host.CPU, b.Host.CPU)
	differ("platform", a.Host.OS+"/"+a.Host.Arch, b.Host.OS+"/"+b.Host.Arch)
	for _, w := range a.Settings.Workloads {
		for _, other := range b.Settings.Workloads {
			if w.Name == other.Name {
				differ("mix "+w.Name, w.Mix, other.Mix)
			}
		}
	}
	return reasons
}

// sample is one number of each repeat of a cell.
type sample struct {
	unit   string
	better bool
	values []float64
}

// samplesOf gives the samples of a report by the names of their cells, and their
// order. Cells that were cut short do not count.
func samplesOf(r *Report) (map[string]*sample, []string) {
	samples := map[string]*sample{}
	var order []string
	add := func(name, unit string, better bool, values ...float64) {
		if samples[name] == nil {
			samples[name] = &sample{unit: unit, better: better}
			order = append(order, name)
		}
		samples[name].values = append(samples[name].values, values...)
	}
	if r.Kind == findMaxKind { // its cells are steps on the way
		for _, m := range r.Maxima {
			add(m.Workload+" "+Line{m.Workload, m.Backend, m.Variant}.Name()+", the most", "ops/s", true, m.Throughput)
		}
		return samples, order
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		name := cellName(Line{c.Workload, c.Backend, c.Variant}, c.Threads, c.Rate)
		if c.Partial != "" && c.Partial != errMaxOps.Error() {
			continue
		}
		if c.Rate == 0 {
			add(name, "ops/s", true, c.Throughput)
			continue
		}
		if c.Latency.P99 > 0 { // else nothing was done, and no latency is not a short one
			add(name, "p99 ms", false, c.Latency.P99)
		}
		add(name+", done", "ops/s", true, c.Throughput)
	}
	for i := range r.Batches {
		b := &r.Batches[i]
		name := fmt.Sprintf("%s: %s, %d rows, %s", b.Engine, b.Line().Name(), b.Size, writersText(b.Writers))
		for _, runs := range b.Runs {
			add(name, "ms", false, runs...)
		}
	}
	return samples, order
}

func changeOf(name string, old, fresh *sample) Change {
	c := Change{
		Cell: name, Unit: old.unit, Better: old.better, Old: median(old.values), New: median(fresh.values),
		N: [2]int{len(old.values), len(fresh.values)}, P: math.NaN(), Delta: math.NaN(),
	}
	if c.Old > 0 {
		c.Delta = c.New/c.Old - 1
	}
	c.P = pValue(old.values, fresh.values)
	return c
}

// enoughForRanks is from how many repeats on a test of ranks can find a
// difference at all: with three and three its P is never below 0.1.
const enoughForRanks = 4

// pValue takes the test of ranks (Mann and Whitney), as benchstat does; with fewer
// repeats that of Welch, which takes the repeats to be normally distributed.
func pValue(old, fresh []float64) float64 {
	if len(old) < 2 || len(fresh) < 2 {
		return math.NaN()
	}
	// The test of Welch knows nothing of numbers that are always the same, such as
	// what is done of a constant rate.
	if slices.Min(old) == slices.Max(old) && slices.Min(fresh) == slices.Max(fresh) {
		if old[0] == fresh[0] {
			return 1
		}
		return 0
	}
	a := benchmath.NewSample(slices.Clone(old), &benchmath.DefaultThresholds)
	b := benchmath.NewSample(slices.Clone(fresh), &benchmath.DefaultThresholds)
	if len(old) < enoughForRanks || len(fresh) < enoughForRanks {
		return benchmath.AssumeNormal.Compare(a, b).P
	}
	return benchmath.AssumeNothing.Compare(a, b).P
}

// Regressions are the changes that are worse by more than most, a part of the old
// number.
func (c *Comparison) Regressions(most float64) []Change {
	var worse []Change
	for i := range c.Changes {
		if c.Changes[i].Regress() > most {
			worse = append(worse, c.Changes[i])
		}
	}
	return worse
}

// WriteTable prints all changes.
func (c *Comparison) WriteTable(w io.Writer) error {
	t := table{
		title: fmt.Sprintf("old: %s, %s\nnew: %s, %s", c.Old.Began.Format("2006-01-02 15:04"), c.Old.Tool.name(), c.New.Began.Format("2006-01-02 15:04"), c.New.Tool.name()),
		rows:  [][]string{{"", "old", "new", "", "change", "p", "n"}},
		notes: c.Notes,
	}
	for i := range c.Changes {
		d := &c.Changes[i]
		t.rows = append(t.rows, []string{d.Cell, number(d.Old, 2), number(d.New, 2), d.Unit, d.text(), pText(d.P), fmt.Sprintf("%d+%d", d.N[0], d.N[1])})
	}
	var b strings.Builder
	t.appendTo(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// text is ~ for what may be chance.
func (c *Change) text() string {
	switch {
	case math.IsNaN(c.Delta):
		return "?"
	case math.IsNaN(c.P):
		return fmt.Sprintf("%+.1f %% ?", c.Delta*100)
	case !c.Significant():
		return "~"
	default:
		return fmt.Sprintf("%+.1f %%", c.Delta*100)
	}
}

func pText(p float64) string {
	if math.IsNaN(p) {
		return "one repeat"
	}
	return fmt.Sprintf("%.3f", p)
}

func (t Tool) name() string {
	if t.Commit == "" {
		return t.Version
	}
	return t.Version + " " + t.Commit[:min(12, len(t.Commit))]
}
