package ndbapi

import (
	"context"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// The way between struct and row costs the memory of the values read, in three
// pieces: text, pointers to text, dates.
func TestMapping_Allocations(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(`CREATE TABLE ndbtest.employee (id BIGINT PRIMARY KEY, first VARCHAR(64), last VARCHAR(64),
		municipality VARCHAR(64), started DATE, ended DATE, department INT NOT NULL) DEFAULT CHARSET=utf8mb3`)
	s, err := Open(Config{Connectstring: c.Connectstring()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	first, last, city := "Ada", "Lovelace", "London"
	day, err := models.NewDate(2020, 2, 29)
	if err != nil {
		t.Fatal(err)
	}
	e := models.Employee{ID: 1, First: &first, Last: &last, City: &city, Started: &day, Ended: &day, Department: 7}
	x := s.newSession()
	if err := x.Persist(ctx, &e); err != nil {
		t.Fatal(err)
	}
	tries, err := x.begin(&e, false)
	if err != nil {
		t.Fatal(err)
	}
	if !tries.next(ctx) {
		t.Fatal(tries.err)
	}
	if err := tries.find(ctx); err != nil {
		t.Fatal(err)
	}
	w := tries.work
	for name, test := range map[string]struct {
		run  func() error
		most float64
	}{
		"encode": {func() error { return w.mapping.encode(w.values, w.mapping.all, tries.row) }, 0},
		"decode": {func() error { return w.decoder.decode(w.mapping, &w.row, tries.row) }, 3},
	} {
		got := testing.AllocsPerRun(100, func() {
			if err := test.run(); err != nil {
				t.Error(err)
			}
		})
		if got > test.most {
			t.Errorf("%s: got %v allocations, want at most %v", name, got, test.most)
		}
	}
}
