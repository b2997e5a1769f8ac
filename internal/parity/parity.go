// Package parity holds the two roads to the rows against each other: whatever is
// asked, both must do, refuse and answer the same, byte for byte.
//
// There are two tables with the same columns, the twins. Every write is done on
// one twin by the native road and on the other by the SQL road; which does which
// is drawn each time, so that rows are written now by one, now by the other. Then
// both roads read the row on both twins, or all rows after what is about many, such
// as batches and imports. So one step compares the answers to the
// write, what each road has stored, and what each reads of the other's.
//
// What is asked is random, out of values that lie at edges. A seed stands for all
// of it. A difference comes with the shortest history that still leads to it.
//
// # What may differ
//
//   - The headers X-Backend and Server-Timing, and the name and the time in
//     X-Backend-Compare: they tell which road it was and how long it took.
//   - Whether a precondition was shown the row where a value is refused: the
//     contract leaves open which is looked at first.
//   - The name of the road in the text of a problem.
//   - The id that a POST, or an item of a batch, without one gets: each gateway
//     makes its own.
//   - The order of the wrong lines in the answer of an import, its times, and its
//     lines of progress.
//   - Which rows an import has written that a row, not the form of a line, ended:
//     rows are stored in no order. They are deleted then.
//   - A patch that returns the row and meets its deadline while it waits for a
//     lock; see blockedCall.isException.
package parity

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

var (
	seedFlag  = flag.Uint64("parity.seed", 0, "seed of the random steps; 0 takes another one each time")
	stepsFlag = flag.Int("parity.steps", 0, "number of random steps on each table; 0 is what the test says")
)

// Twin is one of two tables with the same columns, and the roads to it. Nobody
// else may write it.
type Twin struct {
	NDB, SQL store.Backend
	// Others is a connection of other programs, in the database of the table.
	// They may store dates that the calendar has not. Nil: there are no others.
	Others *sql.DB
}

// Config says how much to do. The zero value of a field means its default.
type Config struct {
	Seed           uint64 // default: another one each time
	Steps          int    // default 1000
	Rows           int    // that others have put into the tables before; default none
	MaxDifferences int    // after which nothing more is looked for; default 3
	// NoOrder has the names of properties that the native road cannot order by.
	NoOrder []string
	// CalendarOnly keeps dates such as 2020-02-00 out of the places where pages
	// begin: for a SQL node that does not know them.
	CalendarOnly bool
}

const (
	defaultSteps          = 1000
	defaultMaxDifferences = 3

	// episodeSteps is how often both tables begin empty, so that histories stay
	// short enough to be shortened.
	episodeSteps = 250
)

// Run fails the test where the roads differ.
func Run(t *testing.T, twins [2]Twin, cfg Config) {
	t.Helper()
	cfg = cfg.withFlags()
	t.Logf("run again with -parity.seed=%d", cfg.Seed)
	begun := time.Now()
	found, err := Find(t.Context(), twins, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Differences {
		t.Errorf("%s\nrun again with -parity.seed=%d", d, cfg.Seed)
	}
	t.Logf("%d steps in %v: %s", found.Steps, time.Since(begun).Round(time.Millisecond), found.Tally)
}

func (c Config) withFlags() Config {
	if *seedFlag != 0 {
		c.Seed = *seedFlag
	}
	if *stepsFlag != 0 {
		c.Steps = *stepsFlag
	}
	return c.withDefaults()
}

func (c Config) withDefaults() Config {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if c.Steps == 0 {
		c.Steps = defaultSteps
	}
	if c.MaxDifferences == 0 {
		c.MaxDifferences = defaultMaxDifferences
	}
	return c
}

// Result is what Find has found.
type Result struct {
	Steps       int
	Tally       Tally
	Differences []Difference
}

// Tally counts the steps by what was done and how it ended, as in "PUT 201".
type Tally map[string]int

// String lists the counts in the order of their names.
func (t Tally) String() string {
	var parts []string
	for name, n := range t {
		parts = append(parts, fmt.Sprintf("%s: %d", name, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Find does random steps and returns where the roads differ. After a difference it
// goes on with empty tables. An error says that the comparison itself failed.
func Find(ctx context.Context, twins [2]Twin, cfg Config) (Result, error) {
	cfg = cfg.withDefaults()
	b := newBed(twins)
	result := Result{Tally: b.tally}
	for episode := uint64(0); result.Steps < cfg.Steps && len(result.Differences) < cfg.MaxDifferences; episode++ {
		g := newGenerator(rand.New(rand.NewPCG(cfg.Seed, episode)), twins[0].Others != nil)
		g.noOrder, g.calendarOnly = cfg.NoOrder, cfg.CalendarOnly
		g.fill(cfg.Rows)
		var steps []step
		for len(steps) < min(episodeSteps, cfg.Steps-result.Steps) {
			steps = append(steps, g.next())
		}
		done, found, err := b.play(ctx, steps)
		result.Steps += done
		if err != nil {
			return result, err
		}
		if found == nil {
			continue
		}
		d := Difference{Episode: episode, Step: done, what: *found}
		history, again, err := b.shorten(ctx, steps[:done])
		if err != nil {
			return result, err
		}
		if d.history = history; again != nil {
			d.what, d.again = *again, true
		}
		result.Differences = append(result.Differences, d)
	}
	return result, b.clear(ctx)
}

// Difference is where the roads differ.
type Difference struct {
	Episode uint64 // of steps that began with empty tables
	Step    int    // in it, from 1

	history []step // ends with the step that shows the difference
	what    mismatch
	again   bool // it came again when the history was played again
}

// String tells the answers and the history.
func (d Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d of episode %d: %s", d.Step, d.Episode, d.what)
	fmt.Fprintf(&b, "\nshortest history, each step by the road on the first twin | on the second:")
	if !d.again {
		fmt.Fprintf(&b, " (the difference did not come again)")
	}
	for i, s := range d.history {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, s)
	}
	return b.String()
}

// Steps is the length of the shortest history.
func (d Difference) Steps() int { return len(d.history) }
