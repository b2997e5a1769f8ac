package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
)

// runFlags are those of the command run.
type runFlags struct {
	connection
	config   loadtest.Config
	ops      string
	mixes    []string
	threads  string
	mode     string
	quick    bool
	out      string
	cpu      []string
	arrivals string
	keys     string
	scenario string
}

func newRunFlags(p process) (*runFlags, *flag.FlagSet) {
	f := &runFlags{}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	f.connection.register(flags, p)
	c := &f.config
	flags.StringVar(&f.scenario, "scenario", "", "a YAML file with flags as keys, or a name that loadtest scenarios lists; flags on the command line are stronger")
	flags.StringVar(&f.ops, "ops", "insert,select,update,delete", "operations, of insert, select, update, delete, list; and names of mixes")
	flags.Func("mix", "a mix of operations, NAME=OP:WEIGHT,...; several", func(text string) error {
		f.mixes = append(f.mixes, text)
		return nil
	})
	flags.StringVar(&f.threads, "threads", "1,2,4,8,16,32,64", "numbers of threads; of an open loop the most operations in flight")
	flags.DurationVar(&c.Duration, "duration", 10*time.Second, "measured time of each cell")
	flags.DurationVar(&c.Warmup, "warmup", 3*time.Second, "time before it that does not count")
	flags.IntVar(&c.Repeats, "repeats", 3, "how often each cell is measured")
	flags.Float64Var(&c.Rate, "rate", 0, "operations sent in a second, whatever the target does; 0: each thread waits for its answer")
	flags.StringVar(&f.arrivals, "arrivals", "constant", "of --rate: constant or poisson")
	flags.Int64Var(&c.MaxOps, "max-ops", 0, "most operations of a cell; 0: time alone ends it")
	flags.Int64Var(&c.Rows, "rows", 10_000, "rows that are read and changed")
	flags.Int64Var(&c.MaxRows, "max-rows", 200_000, "most rows that inserts may leave at once")
	flags.Int64Var(&c.FirstID, "first-id", loadtest.DefaultFirstID, "first of the 4,000,000,000 ids that the run owns: a row there that no run has made ends it")
	flags.Uint64Var(&c.Seed, "seed", 1, "of rows and keys: the same seed gives the same")
	flags.StringVar(&f.keys, "keys", "uniform", "how rows are chosen: uniform, sequential or zipf")
	flags.StringVar(&f.mode, "mode", "", "article: updates and deletes of the native road that find the row first, too")
	flags.BoolVar(&c.FindMax, "find-max", false, "look for the most: double threads, or --rate, until more do not give more")
	flags.DurationVar(&c.MaxP99, "max-p99", 0, "of --find-max: a longer p99 is too much; 0: any will do")
	flags.BoolVar(&f.quick, "quick", false, "a look in under two minutes: one short repeat of each cell")
	flags.BoolVar(&c.Keep, "keep", false, "leave the data set in the table")
	flags.BoolVar(&c.Unchecked, "unchecked", false, "do not check the rows: for targets that keep none, such as loadtest null")
	flags.DurationVar(&c.GiveUp, "give-up", 5*time.Second, "end when the target serves nothing for so long")
	flags.DurationVar(&c.MaxLag, "max-lag", 10*time.Second, "of --rate: operations that would be sent later than this are dropped")
	flags.StringVar(&c.Title, "title", "", "heading of the report")
	flags.StringVar(&f.out, "out", "", "directory of report.json, cells.csv and report.html; default: a new one below loadtest-results")
	flags.Func("cpu", "processor time of NAME=pid:N, NAME=name:PROGRAM or NAME=URL of metrics; several; none: nodes and gateways found on this host", func(text string) error {
		f.cpu = append(f.cpu, text)
		return nil
	})
	return f, flags
}

// Settings of --quick, for flags that were not given.
var quickSettings = map[string]string{"duration": "700ms", "warmup": "150ms", "repeats": "1", "rows": "2000"}

// finish turns what was given into a Config.
func (f *runFlags) finish(flags *flag.FlagSet) (*loadtest.Config, error) {
	if flags.NArg() > 0 {
		return nil, badUsage("argument %q: run takes flags alone", flags.Arg(0))
	}
	c := &f.config
	if f.quick { // before the scenario, whose long times it is to replace
		if err := setUngiven(flags, quickSettings); err != nil {
			return nil, err
		}
	}
	if f.scenario != "" {
		s, err := readScenario(f.scenario)
		if err == nil {
			err = s.apply("run", flags)
		}
		if err != nil {
			return nil, err
		}
		c.Hooks = s.hooks
	}
	if err := mustBePositive(flags, "duration", "repeats", "rows", "max-rows", "first-id", "seed", "give-up", "max-lag", "timeout", "pool"); err != nil {
		return nil, err
	}
	if c.Warmup < 0 {
		return nil, badUsage("--warmup %v: is negative", c.Warmup)
	}
	given := givenFlags(flags)
	var err error
	if c.Workloads, err = workloads(f.ops, f.mixes); err != nil {
		return nil, &usageError{err}
	}
	if c.Threads, err = numbers(f.threads); err != nil {
		return nil, badUsage("--threads: %w", err)
	}
	switch f.mode {
	case "":
	case "article":
		c.Article = true
	default:
		return nil, badUsage("--mode %q: there is only article", f.mode)
	}
	if c.FindMax && !given["threads"] && c.Rate == 0 {
		c.Threads = []int{1}
	}
	if c.Rate > 0 && !given["threads"] {
		c.Threads = []int{64}
	}
	if c.Warmup == 0 {
		c.Warmup = -1 // zero would mean the default
	}
	c.Arrivals, c.Keys, c.Timeout = loadtest.Arrivals(f.arrivals), loadtest.Keys(f.keys), f.timeout
	return c, nil
}

// mustBePositive refuses what the library would take for its own default.
func mustBePositive(flags *flag.FlagSet, names ...string) error {
	for _, name := range names {
		ok := true
		value := flags.Lookup(name).Value.(flag.Getter)
		switch v := value.Get().(type) {
		case int:
			ok = v > 0
		case int64:
			ok = v > 0
		case uint64:
			ok = v > 0
		case time.Duration:
			ok = v > 0
		default:
			panic("loadtest: flag " + name + " is no number")
		}
		if !ok {
			return badUsage("--%s %v: must be more than 0", name, value)
		}
	}
	return nil
}

func givenFlags(flags *flag.FlagSet) map[string]bool {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// setUngiven sets flags that were not given.
func setUngiven(flags *flag.FlagSet, values map[string]string) error {
	given := givenFlags(flags)
	for name, value := range values {
		if given[name] {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// workloads reads the names of operations and mixes. A mix that --ops does not
// name comes after the operations, or is all there is where --ops was not given.
func workloads(ops string, mixes []string) ([]loadtest.Workload, error) {
	known := map[string]loadtest.Workload{}
	for _, op := range loadtest.Ops() {
		known[string(op)] = loadtest.Single(op)
	}
	var order []string
	for _, text := range mixes {
		w, err := loadtest.ParseMix(text)
		if err != nil {
			return nil, fmt.Errorf("--mix: %w", err)
		}
		if _, taken := known[w.Name]; taken {
			return nil, fmt.Errorf("--mix: %s is there already", w.Name)
		}
		known[w.Name] = w
		order = append(order, w.Name)
	}
	var all []loadtest.Workload
	used := map[string]bool{}
	for name := range strings.SplitSeq(ops, ",") {
		name = strings.TrimSpace(name)
		w, ok := known[name]
		if name == "" {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("--ops: %q is no operation of %v, and no mix", name, loadtest.Ops())
		}
		all, used[name] = append(all, w), true
	}
	for _, name := range order {
		if !used[name] {
			all = append(all, known[name])
		}
	}
	if len(all) == 0 {
		return nil, errors.New("--ops: there is no operation, and no --mix")
	}
	return all, nil
}

func numbers(text string) ([]int, error) {
	var ns []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", part)
		}
		ns = append(ns, n)
	}
	return ns, nil
}
