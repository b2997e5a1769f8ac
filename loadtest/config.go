package loadtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/cpu"
	"github.com/ndbgate/ndbgate/loadtest/target"
)

// Config is a sweep. The zero value of a field means its default.
type Config struct {
	Title   string
	Way     string        // how the targets are reached, for the report: http, direct or null
	Timeout time.Duration // of one operation, for the report: the targets keep it
	Targets []Road        // at least one

	Workloads []Workload // default: insert, select, update, delete
	Threads   []int      // default: 1 to 64 in powers of two
	// Rate is how many operations are sent in a second, whatever the target does; 0
	// is a closed loop. Threads then are the most operations in flight.
	Rate     float64
	Arrivals Arrivals // of an open loop; default: constant

	// FindMax looks for the most that each road can do of each workload, instead of
	// a sweep: it doubles the threads, or the rate of an open loop, from the first
	// of Threads or from Rate on, until more do not give more, or p99 is longer than
	// MaxP99. Repeats do not count.
	FindMax bool
	MaxP99  time.Duration // 0: no limit

	Duration time.Duration // of a cell, without its warm-up; default 10 s
	Warmup   time.Duration // default: 3 s; negative: none
	Repeats  int           // default 3
	MaxOps   int64         // of a cell, warm-up included; 0: no limit but time
	Interval time.Duration // of the series; default: a 40th of the duration, at least 100 ms

	Rows    int64  // of the data set that is read and changed; default 10,000
	FirstID int64  // of the rows that the run owns; default DefaultFirstID
	MaxRows int64  // that inserts may leave at once; default 200,000
	Seed    uint64 // default 1
	Keys    Keys   // how rows of the data set are chosen; default: uniform
	// Article adds cells that work as the first article's samplers did; see Variant.
	Article bool
	Keep    bool // the data set stays
	// Unchecked leaves out the verifications: the target has no rows.
	Unchecked bool
	// MaxLag is how late an operation of an open loop may be sent; later ones are
	// dropped, and counted. Default 10 s.
	MaxLag time.Duration

	// GiveUp is how long a target may answer nothing but that it is down, before
	// the run ends. Default 5 s.
	GiveUp time.Duration

	CPU   []cpu.Source // of which processor time is taken, besides this process
	Hooks []Hook

	// Progress is told what goes on, several times in a second, by one goroutine at
	// a time. Nil: nobody.
	Progress func(Progress)
	// Checkpoint gets the report after each repeat, to keep it. Its error is
	// noted in the report. Nil: nobody.
	Checkpoint func(*Report) error
}

// Road is one road of a target, by the name that the report calls it.
type Road struct {
	Name   string
	Native bool // it needs no mysqld: the article's own way differs between the roads
	Target target.Target
}

// Arrivals is how the operations of an open loop are spread over time.
type Arrivals string

// The ways.
const (
	Constant Arrivals = "constant" // at equal distances
	Poisson  Arrivals = "poisson"  // as independent clients would send them
)

// Keys is how the row of an operation is chosen.
type Keys string

// The ways.
const (
	Uniform    Keys = "uniform"    // each row is as likely as any other
	Sequential Keys = "sequential" // one after the other, by all threads together
	Zipf       Keys = "zipf"       // few rows are chosen often
)

// DefaultFirstID begins the IDs that a run owns: those of the gateway are far
// above.
const DefaultFirstID = 1_000_000_000

// Limits of a Config.
const (
	maxThreads  = 4096
	maxDuration = 7 * 24 * time.Hour
	maxRepeats  = 100
	maxRows     = 1_000_000_000
	maxCells    = 100_000
)

// withDefaults fills in what is left out.
func (c Config) withDefaults() Config {
	if len(c.Workloads) == 0 {
		c.Workloads = []Workload{Single(Insert), Single(Select), Single(Update), Single(Delete)}
	}
	if len(c.Threads) == 0 {
		c.Threads = []int{1, 2, 4, 8, 16, 32, 64}
	}
	setDefault(&c.Arrivals, Constant)
	setDefault(&c.Duration, 10*time.Second)
	setDefault(&c.Warmup, 3*time.Second)
	c.Warmup = max(c.Warmup, 0)
	setDefault(&c.Repeats, 3)
	setDefault(&c.Interval, max(c.Duration/40, 100*time.Millisecond))
	setDefault(&c.Rows, 10_000)
	setDefault(&c.FirstID, DefaultFirstID)
	setDefault(&c.MaxRows, 200_000)
	setDefault(&c.Seed, 1)
	setDefault(&c.Keys, Uniform)
	setDefault(&c.GiveUp, 5*time.Second)
	setDefault(&c.MaxLag, 10*time.Second)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate names every field that is wrong.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(len(c.Targets) > 0, "backends: there is none")
	names := map[string]bool{}
	for _, road := range c.Targets {
		check(road.Name != "" && !names[road.Name], "backends: %q is there twice, or empty", road.Name)
		names[road.Name] = true
	}
	for i, threads := range c.Threads {
		check(threads >= 1 && threads <= maxThreads, "threads: %d is not from 1 to %d", threads, maxThreads)
		check(!slices.Contains(c.Threads[:i], threads), "threads: %d is there twice", threads)
	}
	check(c.Rate >= 0 && c.Rate <= 10_000_000, "rate: %v is not from 0 to 10,000,000", c.Rate)
	check(c.Arrivals == "" || c.Arrivals == Constant || c.Arrivals == Poisson, "arrivals: %q is neither constant nor poisson", c.Arrivals)
	check(slices.Contains([]Keys{"", Uniform, Sequential, Zipf}, c.Keys), "keys: %q is none of uniform, sequential, zipf", c.Keys)
	check(c.Duration >= 0 && c.Duration <= maxDuration, "duration: %v is not from 0 to %v", c.Duration, maxDuration)
	check(c.Warmup <= maxDuration, "warmup: %v is longer than %v", c.Warmup, maxDuration)
	check(c.Repeats >= 0 && c.Repeats <= maxRepeats, "repeats: %d is not from 1 to %d", c.Repeats, maxRepeats)
	check(c.Rows >= 0 && c.Rows <= maxRows, "rows: %d is not from 1 to %d", c.Rows, maxRows)
	check(c.MaxRows >= 0 && c.MaxRows <= maxRows, "max-rows: %d is not from 1 to %d", c.MaxRows, maxRows)
	check(c.MaxOps >= 0, "max-ops: %d is negative", c.MaxOps)
	check(c.FirstID >= 0 && c.FirstID < 1<<52, "first-id: %d is not from 1 to 2^52", c.FirstID)
	check(c.MaxP99 >= 0, "max-p99: %v is negative", c.MaxP99)
	check(c.MaxLag >= 0, "max-lag: %v is negative", c.MaxLag)
	check(c.GiveUp >= 0, "give-up: %v is negative", c.GiveUp)
	workloads := map[string]bool{}
	for _, w := range c.Workloads {
		check(!workloads[w.Name], "ops: %s is there twice", w.Name)
		workloads[w.Name] = true
		if err := w.validate(); err != nil {
			errs = append(errs, err)
		}
	}
	for _, h := range c.Hooks {
		check(h.At >= 0 && h.Run != nil, "hooks: %q has no command, or a negative time", h.Name)
	}
	return errors.Join(errs...)
}
