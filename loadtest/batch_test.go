package loadtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

// shelf is a table whose rows take time to write.
type shelf struct {
	perRow time.Duration
	most   int // rows of a commit; 0: any number

	mu   sync.Mutex     // guards rows
	rows map[int64]bool // true: a run has made it
}

func (s *shelf) open(context.Context, int) (target.BatchSession, error) {
	return &shelfSession{shelf: s}, nil
}

// shelfSession is a connection, which an end of the context in the midst of a
// statement breaks.
type shelfSession struct {
	*shelf
	broken bool
}

func (s *shelfSession) Close() {}

func (s *shelfSession) InsertAll(ctx context.Context, rows []models.Employee) error {
	err := s.shelf.InsertAll(ctx, rows)
	s.broken = ctx.Err() != nil
	return err
}

func (s *shelfSession) DeleteAny(ctx context.Context, ids []int64) error {
	if s.broken {
		return errors.New("bad connection")
	}
	return s.shelf.DeleteAny(ctx, ids)
}

func (s *shelf) InsertAll(_ context.Context, rows []models.Employee) error {
	if s.most > 0 && len(rows) > s.most {
		return &target.Error{Kind: "batch_too_large", Err: errors.New("too many rows")}
	}
	time.Sleep(time.Duration(len(rows)) * s.perRow)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		if _, taken := s.rows[rows[i].ID]; taken {
			return &target.Error{Kind: target.Conflict, Err: errors.New("twice")}
		}
		s.rows[rows[i].ID] = true
	}
	return nil
}

func (s *shelf) Rows(_ context.Context, first, last int64, limit int) ([]models.Employee, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []models.Employee
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		if id < first || id > last || len(found) == limit {
			continue
		}
		firstName, lastName := fmt.Sprint("F", id), fmt.Sprint("L", id)
		if !s.rows[id] {
			firstName = "Ada"
		}
		found = append(found, models.Employee{ID: id, First: &firstName, Last: &lastName})
	}
	return found, nil
}

func (s *shelf) DeleteAny(_ context.Context, ids []int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.rows, func(id int64, _ bool) bool {
		for _, wanted := range ids {
			if id == wanted {
				return true
			}
		}
		return false
	})
	return nil
}

func batchConfig(tables ...*shelf) loadtest.BatchConfig {
	c := loadtest.BatchConfig{Sizes: []int{10, 100}, Runs: 3}
	for i, s := range tables {
		c.Tables = append(c.Tables, loadtest.BatchTable{Backend: []string{"ndb", "sql"}[i], Way: "one transaction", Engine: "NDB", Open: s.open})
	}
	return c
}

func TestRunBatches_TimesEachBatchOfEachWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, slow := &shelf{perRow: time.Millisecond, rows: map[int64]bool{}}, &shelf{perRow: 4 * time.Millisecond, rows: map[int64]bool{}}
		r, err := loadtest.RunBatches(t.Context(), batchConfig(fast, slow))
		if err != nil || r.EndedBy != loadtest.Complete {
			t.Fatal(err)
		}
		if len(r.Batches) != 2*2*2 {
			t.Fatalf("got %d cells, want 8", len(r.Batches))
		}
		for i := range r.Batches {
			b := &r.Batches[i]
			millis := float64(b.Size)
			if b.Backend == "sql" {
				millis *= 4
			}
			if len(b.Runs) != b.Writers || len(b.Runs[0]) != 3 || b.Mean() < millis*0.99 || b.Mean() > millis*1.01 || b.Rows != int64(3*b.Size*b.Writers) {
				t.Errorf("got %+v", b)
			}
			if rate := b.RowsPerSecond(); rate < 0.99*float64(b.Writers)*1000*float64(b.Size)/millis {
				t.Errorf("%s, %d writers: got %v rows in a second", b.Backend, b.Writers, rate)
			}
		}
		if len(fast.rows)+len(slow.rows) > 0 {
			t.Error("rows were left")
		}
		var tables bytes.Buffer
		if err := loadtest.WriteTables(&tables, r); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"NDB: ndb, one transaction, 2 writers  10.0  100.0", "NDB: sql, one transaction, 1 writer    250   250", "NDB: ndb, one transaction, 2 writers  2.00  2.00"} {
			if !strings.Contains(tables.String(), want) {
				t.Errorf("got\n%s\nwant %q in it", tables.String(), want)
			}
		}
		var csv bytes.Buffer
		if err := loadtest.WriteCSV(&csv, r); err != nil || strings.Count(csv.String(), "\n") != 1+2*2*(1+2)*3 {
			t.Errorf("got %d lines, %v", strings.Count(csv.String(), "\n"), err)
		}
	})
}

func TestRunBatches_RowsThatWereThere(t *testing.T) {
	const first = loadtest.DefaultFirstID
	for name, c := range map[string]struct {
		rows map[int64]bool
		left int
	}{
		"an earlier run has left them": {map[int64]bool{first: true, first + 7: true, first + 1_000_000: true}, 0},
		"nobody's to delete":           {map[int64]bool{first + 3: true, first + 9: false, first + 20: false}, 3},
		"of other ids":                 {map[int64]bool{first - 1: true, 5: false}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := &shelf{perRow: time.Millisecond, rows: c.rows}
				_, err := loadtest.RunBatches(t.Context(), batchConfig(table))
				if refused := name == "nobody's to delete"; refused != errors.Is(err, loadtest.ErrRows) || !refused && err != nil {
					t.Errorf("got %v", err)
				} else if refused && !strings.Contains(err.Error(), "row 1000000009 is there, and loadtest did not make it; give the run ids of its own with --first-id") {
					t.Errorf("got %v, want the row and what to do", err)
				}
				if len(table.rows) != c.left {
					t.Errorf("got rows %v, want %d", table.rows, c.left)
				}
			})
		})
	}
}

func TestRunBatches_OneThatFails_IsInTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := loadtest.RunBatches(t.Context(), batchConfig(&shelf{perRow: time.Millisecond, most: 50, rows: map[int64]bool{}}))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range r.Batches {
			if (b.Error != "") != (b.Size > 50) {
				t.Errorf("%d rows: got error %q", b.Size, b.Error)
			}
		}
		if notes := loadtest.Notes(r); len(notes) != 2 || !strings.Contains(notes[0], "too many rows") {
			t.Errorf("got notes %q", notes)
		}
	})
}

func TestRunBatches_LimitAndInterruptEndACell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &shelf{perRow: 10 * time.Millisecond, rows: map[int64]bool{}}
		c := batchConfig(table)
		c.Sizes, c.Writers, c.Runs, c.Limit = []int{100}, []int{1}, 50, 2500*time.Millisecond
		r, err := loadtest.RunBatches(t.Context(), c)
		if err != nil || len(r.Batches) != 1 || len(r.Batches[0].Runs[0]) != 3 {
			t.Errorf("got %+v, %v; want three batches of a second", r.Batches, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		c.Limit = time.Hour
		r, err = loadtest.RunBatches(ctx, c)
		if err != nil || r.EndedBy != "interrupted" || len(r.Batches) != 1 || len(r.Batches[0].Runs[0]) > 4 || len(table.rows) > 0 {
			t.Errorf("got %+v, %v, ended by %q", r.Batches, err, r.EndedBy)
		}
	})
}

func TestBatchConfig_Validate(t *testing.T) {
	c := loadtest.BatchConfig{Sizes: []int{0, 10_000_000}, Writers: []int{0}, Runs: -1, Limit: -1, FirstID: -5}
	err := c.Validate()
	for _, want := range []string{"backends", "sizes: 0", "sizes: 10000000", "writers: 0", "runs", "limit", "first-id: -5"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %s", err, want)
		}
	}
	c = loadtest.BatchConfig{Sizes: []int{1_000_000}, Writers: []int{64}, Runs: 100}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "6400000000 rows in one cell") {
		t.Errorf("got %v, want too many rows", err)
	}
}
