package loadtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ndbgate/ndbgate/loadtest/cpu"
)

// Line is one road of a workload: a line of a chart.
type Line struct {
	Workload string
	Backend  string
	Variant  Variant
}

// Name is the line without its workload, as in "ndb, find first".
func (l Line) Name() string {
	if l.Variant == "" {
		return l.Backend
	}
	return l.Backend + ", " + string(l.Variant)
}

// cellName is that of a cell without its repeat, as in "insert ndb, 8 threads,
// 500/s".
func cellName(l Line, threads int, rate float64) string {
	name := l.Workload + " " + l.Name() + ", " + threadsText(threads)
	if rate > 0 {
		name += fmt.Sprintf(", %g/s", rate)
	}
	return name
}

func threadsText(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// Summary is all repeats of a cell together.
type Summary struct {
	Line
	Threads int
	Rate    float64

	Throughputs []float64 // of each repeat
	Throughput  float64   // their median
	Rows        float64   // in a second: the median
	Latency     Latency   // of all operations of all repeats
	Service     *Latency
	Done        int64 // operations, of all repeats
	Failed      int64
	Late        int64
	Dropped     int64

	// In percent of all processors of the host, means of the repeats; NaN: not
	// known.
	DatabaseCPU, GatewayCPU, GeneratorCPU, HostCPU float64
	// PerCPUSecond is how many operations a second of processor time of database
	// and gateway is good for; NaN: not known.
	PerCPUSecond float64
}

func (s *Summary) name() string { return cellName(s.Line, s.Threads, s.Rate) }

// PerPoint is the operations in a second for each percent of the host that the
// database used; NaN: not known.
func (s *Summary) PerPoint() float64 {
	if s.DatabaseCPU <= 0 {
		return math.NaN()
	}
	return s.Throughput / s.DatabaseCPU
}

// Summaries groups the cells of a report, in the order in which lines and
// numbers of threads first came.
func Summaries(r *Report) []Summary {
	type key struct {
		Line
		threads int
		rate    float64
	}
	var order []key
	groups := map[key][]*Cell{}
	for i := range r.Cells {
		c := &r.Cells[i]
		k := key{Line{c.Workload, c.Backend, c.Variant}, c.Threads, c.Rate}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	var summaries []Summary
	for _, k := range order {
		summaries = append(summaries, summarize(k.Line, groups[k]))
	}
	return summaries
}

func summarize(line Line, cells []*Cell) Summary {
	s := Summary{Line: line, Threads: cells[0].Threads, Rate: cells[0].Rate}
	var latencies, services []Latency
	var rows, database, gateway, generator, host, perSecond []float64
	for _, c := range cells {
		s.Throughputs = append(s.Throughputs, c.Throughput)
		rows = append(rows, float64(c.Rows)/c.Seconds)
		latencies = append(latencies, c.Latency)
		if c.Service != nil {
			services = append(services, *c.Service)
		}
		s.Done += c.Ops
		s.Late += c.Late
		s.Dropped += c.Dropped
		for _, e := range c.Errors {
			s.Failed += e.Count
		}
		database = append(database, c.roles(cpu.Role.IsDatabase).percent())
		gateway = append(gateway, c.roles(func(r cpu.Role) bool { return r == cpu.Gateway }).percent())
		generator = append(generator, c.roles(func(r cpu.Role) bool { return r == cpu.Generator }).percent())
		host = append(host, orNaN(c.HostCPU))
		perSecond = append(perSecond, c.perCPUSecond())
	}
	s.Throughput, s.Rows = median(s.Throughputs), median(rows)
	s.Latency = Merge(latencies)
	if services != nil {
		merged := Merge(services)
		s.Service = &merged
	}
	s.DatabaseCPU, s.GatewayCPU, s.GeneratorCPU, s.HostCPU = mean(database), mean(gateway), mean(generator), mean(host)
	s.PerCPUSecond = mean(perSecond)
	return s
}

type uses []CPU

// roles are the processes of a cell that play one of the roles.
func (c *Cell) roles(is func(cpu.Role) bool) uses {
	var found uses
	for _, use := range c.CPU {
		if is(cpu.RoleOf(use.Name)) && use.Unknown == "" {
			found = append(found, use)
		}
	}
	return found
}

// percent is NaN where there are none.
func (u uses) percent() float64 {
	if len(u) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, use := range u {
		sum += use.Percent
	}
	return sum
}

// perCPUSecond counts the processes of the target, that is all that are known
// but for the generator. It is NaN where none are.
func (c *Cell) perCPUSecond() float64 {
	sum := 0.0
	for _, use := range c.roles(func(r cpu.Role) bool { return r != cpu.Generator }) {
		sum += use.Seconds
	}
	if sum <= 0 {
		return math.NaN()
	}
	return float64(c.Ops) / sum
}

func orNaN(percent float64) float64 {
	if percent < 0 {
		return math.NaN()
	}
	return percent
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// mean leaves out what is not known.
func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// kneeGain is how much more a doubling of the threads must give to be worth it.
const kneeGain = 0.10

// Knee finds where more threads stop to pay: the smallest number of threads from
// which on no doubling gives a tenth more, as far as was measured. The summaries
// are of one line, in ascending order of threads. -1: more threads still paid at
// the end, or there is only one.
func Knee(line []Summary) int {
	for i := 0; i+1 < len(line); i++ {
		best := 0.0
		for _, later := range line[i+1:] {
			doublings := math.Log2(float64(later.Threads) / float64(line[i].Threads))
			gain := math.Pow(later.Throughput/line[i].Throughput, 1/doublings) - 1
			best = max(best, gain)
		}
		if best < kneeGain {
			return i
		}
	}
	return -1
}

// Lines groups summaries by line, each in ascending order of threads.
func Lines(summaries []Summary) [][]Summary {
	var lines [][]Summary
	for _, s := range summaries {
		i := slices.IndexFunc(lines, func(line []Summary) bool { return line[0].Line == s.Line })
		if i < 0 {
			lines = append(lines, nil)
			i = len(lines) - 1
		}
		lines[i] = append(lines[i], s)
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(a, b Summary) int { return cmp.Compare(a.Threads, b.Threads) })
	}
	return lines
}
