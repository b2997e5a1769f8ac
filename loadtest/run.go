package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Errors of a run. Its report tells what was measured before.
var (
	// ErrTargetDied says that the target answered nothing any more but that it is
	// down.
	ErrTargetDied = errors.New("the target does not serve any more")
	// ErrRows says that the rows were not as they should be.
	ErrRows = errors.New("the rows are not as they should be")
)

// Complete is the EndedBy of a report whose run has done all that was asked.
const Complete = "complete"

// Run measures. It returns a report whatever happens once it has begun, with
// what was measured until then; after an error or the end of the context the
// report tells why it is not complete. The end of the context is no error.
func Run(ctx context.Context, c Config) (*Report, error) {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &runner{config: c, data: newDataset(&c), report: newReport(&c), rates: map[rateKey]float64{}}
	measure := r.runCells
	if c.FindMax {
		measure, r.report.Kind = r.findMaxima, findMaxKind
	} else if r.cells = plan(&c); len(r.cells) > maxCells {
		return nil, fmt.Errorf("%d cells are more than %d: take fewer operations, threads or repeats", len(r.cells), maxCells)
	}
	err := r.run(ctx, measure)
	r.report.Ended = time.Now()
	r.report.EndedBy = endedBy(ctx, err)
	if ctx.Err() != nil && !errors.Is(err, ErrRows) {
		err = nil
	}
	return r.report, err
}

func endedBy(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case err != nil:
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	default:
		return Complete
	}
}

func newReport(c *Config) *Report {
	settings := Settings{
		Way: c.Way, Timeout: c.Timeout.Seconds(),
		Workloads: c.Workloads, Threads: c.Threads, Rate: c.Rate, Seconds: c.Duration.Seconds(), Warmup: c.Warmup.Seconds(),
		Repeats: c.Repeats, MaxOps: c.MaxOps, Rows: c.Rows, FirstID: c.FirstID, MaxRows: c.MaxRows, Seed: c.Seed, Keys: c.Keys, Article: c.Article,
	}
	if c.Rate > 0 {
		settings.Arrivals = c.Arrivals
	}
	for _, road := range c.Targets {
		settings.Backends = append(settings.Backends, road.Name)
	}
	return &Report{Format: Format, Title: c.Title, Kind: runKind, Began: time.Now(), Host: thisHost(), Settings: settings}
}

// runner is a run in progress.
type runner struct {
	config Config
	data   *dataset
	cells  []cell
	report *Report
	loaded bool // the rows that stay are all there
	began  time.Time
	rates  map[rateKey]float64 // the best that was seen

	progressMu sync.Mutex // one call of Config.Progress at a time
}

// Bounds of how long rows are deleted after the run, or an interrupt, and where
// the target has died: it may be back.
const (
	cleanTimeout     = 2 * time.Minute
	cleanDeadTimeout = 5 * time.Second
)

// run measures between what comes before and after.
func (r *runner) run(ctx context.Context, measure func(context.Context) error) (err error) {
	r.began = time.Now()
	if err := r.sweep(ctx); err != nil {
		return err
	}
	defer func() { err = r.leave(ctx, err) }()
	if err := r.load(ctx); err != nil {
		return fmt.Errorf("make the data set: %w", err)
	}
	if err := r.verify(ctx, "before"); err != nil {
		return err
	}
	if err := measure(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return r.verify(ctx, "after")
}

// leave deletes the rows of the run, whose error it takes and gives.
func (r *runner) leave(ctx context.Context, err error) error {
	died := errors.Is(err, ErrTargetDied)
	limit := cleanTimeout
	if died {
		limit = cleanDeadTimeout
	}
	// An interrupt ends the measurement, but the rows are to go all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	cleanErr := r.clean(ctx)
	if cleanErr == nil {
		return err
	}
	r.note("rows were left in the table: " + strings.ReplaceAll(cleanErr.Error(), "\n", "; ") + "; " + howToDelete("employee", r.data.first, r.data.nextID.Load()-1))
	if died {
		return err
	}
	return errors.Join(err, fmt.Errorf("delete the rows of the run: %w", cleanErr))
}

// howToDelete tells what takes away rows that were left.
func howToDelete(table string, first, last int64) string {
	return fmt.Sprintf("the next run with --first-id %d deletes them, and so does DELETE FROM %s WHERE id BETWEEN %d AND %d", first, table, first, last)
}

func (r *runner) runCells(ctx context.Context) error {
	for i := range r.cells {
		if ctx.Err() != nil {
			return nil
		}
		c := &r.cells[i]
		if err := r.runCell(ctx, i, c); err != nil {
			return err
		}
		if i+1 == len(r.cells) || r.cells[i+1].repeat != c.repeat {
			r.checkpoint()
		}
	}
	return nil
}

// tries is how often a cell may begin whose rows to delete have run out.
const tries = 3

// runCell measures one cell. Where there were too few rows to delete, nobody knew
// how fast the target is; now it is known better, and the cell begins again.
func (r *runner) runCell(ctx context.Context, index int, c *cell) error {
	for try := 1; ; try++ {
		if err := r.prepare(ctx, c); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("prepare %s by %s: %w", c.workload.Name, c.road.Name, err)
		}
		result, reason, err := r.measure(ctx, index, c)
		if errors.Is(reason, errNoRows) && try < tries {
			rate := 4 * r.expectedRate(c)
			if result != nil {
				rate = 1.2 * result.Throughput
			}
			r.rates[rateKey{c.road.Name, c.threads}] = rate
			continue
		}
		switch {
		case result != nil:
			r.report.Cells = append(r.report.Cells, *result)
			key := rateKey{c.road.Name, c.threads}
			r.rates[key] = max(r.rates[key], result.Throughput)
		case reason != nil && err == nil && ctx.Err() == nil:
			r.note(fmt.Sprintf("%s was not measured: %v, in the warm-up", cellName(Line{c.workload.Name, c.road.Name, c.variant}, c.threads, c.rate), reason))
		}
		return err
	}
}

// checkpoint keeps what there is, in case that the end is not reached.
func (r *runner) checkpoint() {
	if r.config.Checkpoint == nil {
		return
	}
	r.report.Ended, r.report.EndedBy = time.Now(), "still running"
	if err := r.config.Checkpoint(r.report); err != nil {
		r.note("the report could not be kept on the way: " + err.Error())
	}
}

func (r *runner) note(text string) {
	if !slices.Contains(r.report.Notes, text) {
		r.report.Notes = append(r.report.Notes, text)
	}
}

// prepare has enough rows to delete, and room for those to insert.
func (r *runner) prepare(ctx context.Context, c *cell) error {
	w := &c.workload
	if (w.has(Insert) || w.has(Bulk)) && !w.has(Delete) && r.data.leftRows() > r.data.maxLeft/2 {
		if err := r.trim(ctx); err != nil {
			return err
		}
	}
	if !w.has(Delete) {
		return nil
	}
	share := 0
	for _, s := range w.Mix {
		if s.Op == Delete {
			share = s.Weight
		}
	}
	seconds := (r.config.Warmup + r.config.Duration).Seconds()
	want := r.expectedRate(c) * seconds * spareRows * float64(share) / float64(w.weight())
	if r.config.MaxOps > 0 {
		want = min(want, float64(r.config.MaxOps))
	}
	return r.fill(ctx, min(int(want)+1, r.data.maxLeft))
}

// rateKey is what the rates of a run depend on most.
type rateKey struct {
	backend string
	threads int
}

// What is expected where nothing is known, in operations in a second.
const (
	guessedRate    = 2000 // of a thread
	mostGuessed    = 20_000
	spareRows      = 1.3 // the rows to delete, against those expected to go
	fastestGuessed = 1_000_000
)

// expectedRate is how many operations a cell may do in a second: by the fastest
// by this road with so many threads.
func (r *runner) expectedRate(c *cell) float64 {
	if c.rate > 0 {
		return c.rate
	}
	if rate := r.rates[rateKey{c.road.Name, c.threads}]; rate > 0 {
		return min(rate, fastestGuessed)
	}
	return float64(min(guessedRate*c.threads, mostGuessed))
}
