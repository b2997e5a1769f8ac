package loadtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/cpu"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

// BatchConfig is a measurement of batches, as in the second article. The zero
// value of a field means its default.
type BatchConfig struct {
	Title   string
	Way     string // how the tables are reached, for the report
	Tables  []BatchTable
	Sizes   []int         // rows of a commit; default 100, 1,000, 10,000, 50,000
	Runs    int           // batches of each writer; default 5
	Writers []int         // default: 1, 2
	Limit   time.Duration // of the batches of one cell: no more begin after it; default 5 min
	FirstID int64         // of the rows that the run owns; default DefaultFirstID
	Seed    uint64        // default 1
	CPU     []cpu.Source
	// Progress is told which cell of how many begins. Nil: nobody.
	Progress func(cell, cells int, about string)
	// Checkpoint is as that of Config.
	Checkpoint func(*Report) error
}

// BatchTable is one way to write one table.
type BatchTable struct {
	Backend string // as in ndb
	Way     string // as in "one transaction"
	Engine  string // as in NDB
	Table   string // its name
	// Open returns the session of one writer, from 0 on.
	Open func(ctx context.Context, writer int) (target.BatchSession, error)
}

func (c BatchConfig) withDefaults() BatchConfig {
	if len(c.Sizes) == 0 {
		c.Sizes = []int{100, 1000, 10_000, 50_000}
	}
	if len(c.Writers) == 0 {
		c.Writers = []int{1, 2}
	}
	setDefault(&c.Runs, 5)
	setDefault(&c.Limit, 5*time.Minute)
	setDefault(&c.FirstID, DefaultFirstID)
	setDefault(&c.Seed, 1)
	return c
}

// Limits of a BatchConfig.
const (
	maxBatchRows    = 1_000_000
	maxBatchTotal   = 20_000_000 // of a cell: they are made before, some 150 bytes each
	maxBatchWriters = 64
)

// Validate names every field that is wrong.
func (c *BatchConfig) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(len(c.Tables) > 0, "backends: there is none")
	for _, size := range c.Sizes {
		check(size >= 1 && size <= maxBatchRows, "sizes: %d is not from 1 to %d", size, maxBatchRows)
	}
	for _, n := range c.Writers {
		check(n >= 1 && n <= maxBatchWriters, "writers: %d is not from 1 to %d", n, maxBatchWriters)
	}
	check(c.Runs >= 0 && c.Runs <= maxRepeats, "runs: %d is not from 1 to %d", c.Runs, maxRepeats)
	check(c.FirstID >= 0 && c.FirstID < 1<<52, "first-id: %d is not from 1 to 2^52", c.FirstID)
	most := slices.Max(append([]int{1}, c.Sizes...)) * slices.Max(append([]int{1}, c.Writers...)) * max(c.Runs, 1)
	check(most <= maxBatchTotal, "sizes, writers, runs: %d rows in one cell are more than %d", most, maxBatchTotal)
	check(c.Limit >= 0 && c.Limit <= maxDuration, "limit: %v is not from 0 to %v", c.Limit, maxDuration)
	return errors.Join(errs...)
}

// RunBatches measures batches. Its report and errors are as those of Run; that a
// batch failed is in the report alone.
func RunBatches(ctx context.Context, c BatchConfig) (*Report, error) {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &batchRunner{config: c, report: &Report{
		Format: Format, Title: c.Title, Kind: batchKind, Began: time.Now(), Host: thisHost(),
		Settings: Settings{Way: c.Way, Repeats: c.Runs, Seed: c.Seed, FirstID: c.FirstID, Sizes: c.Sizes, Writers: c.Writers},
	}}
	for _, t := range c.Tables {
		if !slices.Contains(r.report.Settings.Backends, t.Backend) {
			r.report.Settings.Backends = append(r.report.Settings.Backends, t.Backend)
		}
	}
	err := r.run(ctx)
	r.report.Ended = time.Now()
	r.report.EndedBy = endedBy(ctx, err)
	if ctx.Err() != nil {
		err = nil
	}
	return r.report, err
}

type batchRunner struct {
	config BatchConfig
	report *Report
}

// run measures all cells. Of each size the tables take turns, and the one that
// begins changes.
func (r *batchRunner) run(ctx context.Context) error {
	c := &r.config
	cells := len(c.Sizes) * len(c.Writers) * len(c.Tables)
	cell := 0
	for i, size := range c.Sizes {
		for _, writers := range c.Writers {
			tables := slices.Clone(c.Tables)
			if i%2 == 1 {
				slices.Reverse(tables)
			}
			for _, table := range tables {
				if ctx.Err() != nil {
					return nil
				}
				cell++
				if c.Progress != nil {
					c.Progress(cell, cells, fmt.Sprintf("%d rows a commit, %s, %s, %s, %s", size, table.Backend, table.Way, table.Engine, writersText(writers)))
				}
				if err := r.measure(ctx, table, size, writers); err != nil {
					return fmt.Errorf("%s, %s, %s: %w", table.Backend, table.Way, table.Engine, err)
				}
			}
		}
		if c.Checkpoint != nil {
			r.report.Ended, r.report.EndedBy = time.Now(), "still running"
			if err := c.Checkpoint(r.report); err != nil {
				r.report.Notes = append(r.report.Notes, "the report could not be kept on the way: "+err.Error())
			}
		}
	}
	return nil
}

// batchWriter writes batches of rows of its own.
type batchWriter struct {
	session target.BatchSession
	batches [][]models.Employee
	tried   int // of the batches, from the first on
	millis  []float64
	err     error
}

// measure runs one cell. An error means that no other cell can be measured
// either; that of a batch is in the report.
func (r *batchRunner) measure(ctx context.Context, table BatchTable, size, writers int) (err error) {
	all := make([]*batchWriter, writers)
	defer func() {
		for _, w := range all {
			if w != nil {
				w.session.Close()
			}
		}
	}()
	for i := range all {
		session, err := table.Open(ctx, i)
		if err != nil {
			return err
		}
		all[i] = &batchWriter{session: session, batches: r.batchesOf(size, i)}
	}
	if err := r.sweep(ctx, all[0].session); err != nil {
		return err
	}
	defer func() {
		deleteErr := reopen(ctx, table, all)
		if deleteErr == nil {
			deleteErr = r.deleteRows(context.WithoutCancel(ctx), all)
		}
		if deleteErr != nil {
			first, rows := r.config.FirstID, int64(size*writers*r.config.Runs)
			r.report.Notes = append(r.report.Notes, fmt.Sprintf("rows were left in the table: %v; %s", deleteErr, howToDelete(table.Table, first, first+rows-1)))
			err = errors.Join(err, deleteErr)
		}
	}()
	// The first batch of a connection pays for more than itself.
	if err := warmUp(ctx, all); err != nil {
		return err
	}

	meter := cpu.NewMeter(append([]cpu.Source{cpu.Self{}}, r.config.CPU...))
	meter.Read(ctx)
	began := time.Now()
	var running sync.WaitGroup
	for _, w := range all {
		running.Go(func() { w.write(ctx, began.Add(r.config.Limit)) }) // ends with the batches, the limit or the context
	}
	running.Wait()
	wall := time.Since(began)
	uses, host := meter.Read(context.WithoutCancel(ctx))

	b := Batch{Backend: table.Backend, Way: table.Way, Engine: table.Engine, Size: size, Writers: writers, Wall: wall.Seconds() * 1e3, HostCPU: -1}
	for _, w := range all {
		b.Runs = append(b.Runs, w.millis)
		b.Rows += int64(size * len(w.millis))
		if w.err != nil && b.Error == "" && ctx.Err() == nil {
			b.Error = exampleOf(w.err)
		}
	}
	if host >= 0 {
		b.HostCPU = host * 100
	}
	b.CPU = cpuOf(uses, wall, r.report.Host.CPUs)
	if b.Rows > 0 || b.Error != "" {
		r.report.Batches = append(r.report.Batches, b)
	}
	return nil
}

// warmRows is how many rows are written before it counts.
const warmRows = 1000

// warmUp writes some rows that do not count. That this fails shows in the batch
// that counts.
func warmUp(ctx context.Context, all []*batchWriter) error {
	for _, w := range all {
		w.tried = 1
		rows := w.batches[0][:min(warmRows, len(w.batches[0]))]
		if err := w.session.InsertAll(ctx, rows); err == nil {
			if err := w.delete(ctx, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

func cpuOf(uses []cpu.Use, wall time.Duration, cpus int) []CPU {
	all := map[string]CPU{}
	for _, use := range uses {
		c := CPU{Name: use.Name, Seconds: use.Seconds, Percent: use.Seconds / (wall.Seconds() * float64(cpus)) * 100}
		if use.Err != nil {
			c.Unknown = use.Err.Error()
		}
		all[use.Name] = c
	}
	var sorted []CPU
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted
}

func (w *batchWriter) write(ctx context.Context, until time.Time) {
	for i, rows := range w.batches {
		began := time.Now()
		if !began.Before(until) || ctx.Err() != nil {
			return
		}
		w.tried = i + 1
		if w.err = w.session.InsertAll(ctx, rows); w.err != nil {
			return
		}
		w.millis = append(w.millis, time.Since(began).Seconds()*1e3)
	}
}
