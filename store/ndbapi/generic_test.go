package ndbapi_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// colour is a type of its own for text.
type colour string

// stamp is a part that structs share.
type stamp struct {
	Made    time.Time  `gorm:"column:made;not null"`
	Changed *time.Time `gorm:"column:changed"`
}

// measure is a struct of all kinds of types, that has nothing of Employee.
type measure struct {
	Key     uint64   `gorm:"column:no;primaryKey"`
	Small   int8     `gorm:"column:small;not null"`
	Count   *uint16  `gorm:"column:count"`
	Big     *int64   `gorm:"column:big"`
	Ratio   float64  `gorm:"column:ratio;not null"`
	Single  *float32 `gorm:"column:single"`
	On      bool     `gorm:"column:is_on;not null"`
	Name    string   `gorm:"column:name;not null"`
	Colour  *colour  `gorm:"column:colour"`
	Raw     []byte   `gorm:"column:raw"`
	Price   *string  `gorm:"column:price"`
	Length  *string  `gorm:"column:length"`
	Day     models.Date
	Note    sql.NullString `gorm:"column:note"`
	Rank    sql.NullInt64  `json:"rank" gorm:"column:rank"`
	stamp   `gorm:"-"`
	Stamp   stamp  `gorm:"embedded"`
	Ignored string `gorm:"-"`
}

func (measure) TableName() string { return "measure" }

const measureTable = `CREATE TABLE ndbtest.measure (
	no BIGINT UNSIGNED NOT NULL PRIMARY KEY,
	small TINYINT NOT NULL,
	count SMALLINT UNSIGNED,
	big BIGINT,
	ratio DOUBLE NOT NULL,
	single FLOAT,
	is_on TINYINT NOT NULL,
	name VARCHAR(300) NOT NULL,
	colour CHAR(10),
	raw VARBINARY(20),
	price DECIMAL(8,2),
	length TIME(3),
	day DATE NOT NULL,
	note VARCHAR(20),
	rank INT,
	made DATETIME(6) NOT NULL,
	changed TIMESTAMP(3) NULL,
	KEY by_name (name),
	KEY by_rank (rank)
) ENGINE=NDBCLUSTER DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`

func newMeasure(t *testing.T, key uint64) measure {
	made := time.Date(2026, time.November, 30, 12, 30, 45, 123456000, time.UTC)
	return measure{
		Key: key, Small: -128, Count: ptr(uint16(65535)), Big: ptr(int64(math.MinInt64)), Ratio: -0.1, Single: ptr(float32(2.5)), On: true,
		Name: "Grün 😀", Colour: ptr(colour("grün")), Raw: []byte{0, 255}, Price: ptr("-123456.70"), Length: ptr("-12:34:56.789"),
		Day: *date(t, "2024-02-29"), Note: sql.NullString{String: "n", Valid: true}, Rank: sql.NullInt64{Int64: -5, Valid: true},
		Stamp: stamp{Made: made, Changed: ptr(made.Truncate(time.Millisecond))},
	}
}

// bareMeasure has NULL wherever that is allowed.
func bareMeasure(t *testing.T, key uint64) measure {
	return measure{Key: key, Day: *date(t, "1000-01-01"), Stamp: stamp{Made: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)}}
}

func session(t *testing.T, s *ndbapi.Store) *ndbapi.Session {
	t.Helper()
	x, err := s.Session(t.Context())
	must(t, err)
	t.Cleanup(x.Close)
	return x
}

func wantFound[T any](t *testing.T, x *ndbapi.Session, key, want T) {
	t.Helper()
	must(t, x.Find(t.Context(), &key))
	if !reflect.DeepEqual(key, want) {
		t.Errorf("got  %+v\nwant %+v", key, want)
	}
}

func TestSession_StructOfAllTypes(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	c.MustCreateTable(measureTable)
	x := session(t, openOn(t, c))
	ctx := t.Context()

	for _, m := range []measure{newMeasure(t, 1), bareMeasure(t, math.MaxUint64)} {
		must(t, x.Persist(ctx, &m))
		wantFound(t, x, measure{Key: m.Key}, m)
		wantKind(t, x.Persist(ctx, &m), store.ErrConflict)
	}

	m := newMeasure(t, 1)
	m.Name, m.Raw, m.Price, m.Note, m.On = "", nil, nil, sql.NullString{}, false
	must(t, x.Update(ctx, &m))
	wantFound(t, x, measure{Key: 1}, m)
	change := measure{Key: 1, Small: 5, Ratio: 1e300, Rank: sql.NullInt64{Int64: 9, Valid: true}}
	must(t, x.Update(ctx, &change, "Small", "Rank"))
	m.Small, m.Rank = 5, change.Rank
	wantFound(t, x, measure{Key: 1}, m)

	for want, key := range map[bool]uint64{true: 2, false: 1} {
		saved := newMeasure(t, key)
		created, err := x.Save(ctx, &saved)
		if err != nil || created != want {
			t.Errorf("save %d: got created %v, error %v; want %v", key, created, err, want)
		}
		wantFound(t, x, measure{Key: key}, saved)
	}

	must(t, x.Delete(ctx, &measure{Key: 1}))
	absent := measure{Key: 1, Name: "mine"}
	wantKind(t, x.Find(ctx, &absent), store.ErrNotFound)
	if absent.Name != "mine" {
		t.Errorf("got %+v, want the row left alone", absent)
	}
	wantKind(t, x.Delete(ctx, &absent), store.ErrNotFound)
	wantKind(t, x.Update(ctx, &absent, "Small"), store.ErrNotFound)

	// The other type still works in the same session.
	e := full(t, 5)
	must(t, x.Persist(ctx, &e))
	wantFound(t, x, models.Employee{ID: 5}, e)
}

func TestSession_ValuesThatNoColumnTakes(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	c.MustCreateTable(measureTable)
	x := session(t, openOn(t, c))
	for name, test := range map[string]struct {
		change         func(m *measure)
		property, rule string
	}{
		"number for its column":     {func(m *measure) { m.Rank.Int64 = math.MaxInt32 + 1 }, "rank", "range"},
		"decimal digits":            {func(m *measure) { m.Price = ptr("1234567.00") }, "Price", "range"},
		"no date":                   {func(m *measure) { m.Day = models.Date{} }, "Day", "storable_date"},
		"bytes":                     {func(m *measure) { m.Raw = make([]byte, 21) }, "Raw", "max"},
		"characters":                {func(m *measure) { m.Note.String = "123456789012345678901" }, "Note", "max"},
		"no UTF-8":                  {func(m *measure) { m.Name = "\xff" }, "Name", "charset"},
		"time before all timestamp": {func(m *measure) { m.Stamp.Changed = ptr(time.Unix(0, 0)) }, "Changed", "range"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeasure(t, 9)
			test.change(&m)
			err := x.Persist(t.Context(), &m)
			wantInvalid(t, err, test.property, test.rule)
			wantKind(t, x.Find(t.Context(), &measure{Key: 9}), store.ErrNotFound)
		})
	}
}

func wantInvalid(t *testing.T, err error, property, rule string) {
	t.Helper()
	wantKind(t, err, store.ErrInvalid)
	var broken *models.ValidationError
	if !errors.As(err, &broken) || len(broken.Fields) != 1 || broken.Fields[0].Property != property || broken.Fields[0].Rule != rule {
		t.Errorf("got error %v, want %s to break %s", err, property, rule)
	}
}

// equals is a filter by the name of a Go field.
func equals(field string, value any) models.Filter {
	return models.Compare(models.Property{Field: field}, models.OpEqual, value)
}

func by(field string, descending bool) models.Order {
	return models.Order{Property: models.Property{Field: field}, Descending: descending}
}

func TestSession_Query(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	c.MustCreateTable(measureTable)
	x := session(t, openOn(t, c))
	const rows = 40
	keys := func(from, to, step uint64) (keys []uint64) {
		for k := from; k <= to; k += step {
			keys = append(keys, k)
		}
		return keys
	}
	for k := range uint64(rows) {
		m := newMeasure(t, k+1)
		m.Name = fmt.Sprint("n", k%4)
		m.Rank = sql.NullInt64{Int64: int64(k % 2), Valid: k%4 < 2}
		m.On = k%8 == 0
		must(t, x.Persist(t.Context(), &m))
	}
	for name, test := range map[string]struct {
		query ndbapi.Query
		want  []uint64
	}{
		"all":                           {ndbapi.Query{}, keys(1, rows, 1)},
		"after":                         {ndbapi.Query{After: models.Cursor{38}}, keys(39, rows, 1)},
		"limit":                         {ndbapi.Query{After: models.Cursor{uint64(3)}, Limit: 4}, keys(4, 7, 1)},
		"by key":                        {ndbapi.Query{Filter: equals("Key", uint64(7))}, keys(7, 7, 1)},
		"by key and more":               {ndbapi.Query{Filter: models.And(equals("Key", uint64(7)), equals("Name", "n2"))}, keys(7, 7, 1)},
		"by key that is not after":      {ndbapi.Query{Filter: equals("Key", uint64(7)), After: models.Cursor{7}}, nil},
		"by an index":                   {ndbapi.Query{Filter: equals("Name", "n3")}, keys(4, rows, 4)},
		"by an index, after, limit":     {ndbapi.Query{Filter: equals("Name", "n3"), After: models.Cursor{9}, Limit: 3}, keys(12, 20, 4)},
		"by an index of a Valuer":       {ndbapi.Query{Filter: equals("Rank", sql.NullInt64{Int64: 1, Valid: true})}, keys(2, rows, 4)},
		"by a filter":                   {ndbapi.Query{Filter: equals("On", true), Limit: 2}, keys(1, 9, 8)},
		"by a type of its own":          {ndbapi.Query{Filter: equals("Colour", colour("grün")), Limit: 3}, keys(1, 3, 1)},
		"by a date":                     {ndbapi.Query{Filter: equals("Day", *date(t, "2024-02-29")), Limit: 1}, keys(1, 1, 1)},
		"by a time":                     {ndbapi.Query{Filter: equals("Made", newMeasure(t, 1).Stamp.Made), Limit: 1}, keys(1, 1, 1)},
		"nothing fits":                  {ndbapi.Query{Filter: equals("Name", "n5")}, nil},
		"what the column cannot hold":   {ndbapi.Query{Filter: equals("Rank", int64(math.MaxInt64))}, nil},
		"every row has another of both": {ndbapi.Query{Filter: models.And(equals("Name", "n1"), equals("Name", "n2"))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := []measure{{Key: 12345}} // of the caller
			_, err := x.Query(t.Context(), &found, test.query)
			must(t, err)
			var got []uint64
			for _, m := range found[1:] {
				got = append(got, m.Key)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if found[0].Key != 12345 || len(found) > 1 && found[1].Name == "" {
				t.Errorf("got %+v", found[:2])
			}
		})
	}
}

// pair has a primary key of two columns of other types, in another order.
type pair struct {
	Value *int32 `gorm:"column:value"`
	Shop  string `gorm:"column:shop;primaryKey;size:20"`
	No    int16  `gorm:"column:no;primaryKey;autoIncrement:false"`
}

func TestSession_KeyOfTwoColumns(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	c.MustCreateTable("CREATE TABLE ndbtest.pairs (no SMALLINT NOT NULL, shop VARCHAR(20) NOT NULL, value INT, PRIMARY KEY (no, shop)) DEFAULT CHARSET=utf8mb4")
	x := session(t, openOn(t, c))
	ctx := context.WithoutCancel(t.Context())
	must(t, x.Persist(ctx, &pair{ptr(int32(1)), "a", 1}))
	must(t, x.Persist(ctx, &pair{ptr(int32(2)), "a", 2}))
	must(t, x.Persist(ctx, &pair{ptr(int32(3)), "b", 1}))
	must(t, x.Update(ctx, &pair{nil, "a", 2}))
	wantFound(t, x, pair{Shop: "b", No: 1}, pair{ptr(int32(3)), "b", 1})
	wantFound(t, x, pair{Shop: "a", No: 2}, pair{nil, "a", 2})
	must(t, x.Delete(ctx, &pair{Shop: "a", No: 1}))
	wantKind(t, x.Find(ctx, &pair{Shop: "a", No: 1}), store.ErrNotFound)
	if _, err := x.Query(ctx, &[]pair{}, ndbapi.Query{}); err == nil {
		t.Error("got no error of a query whose rows have no order")
	}
}

// writeOnly cannot be read from a column.
type writeOnly struct{}

func (writeOnly) Value() (driver.Value, error) { return "x", nil }

func TestSession_WhatIsNoRow(t *testing.T) {
	x := session(t, openOn(t, startCluster(t)))
	ctx := t.Context()
	type noKey struct{ Name string }
	type badKey struct {
		ID *int64 `gorm:"primaryKey"`
	}
	type badType struct {
		ID int64
		X  writeOnly
	}
	query := func(rows any, q ndbapi.Query) error {
		_, err := x.Query(ctx, rows, q)
		return err
	}
	for name, err := range map[string]error{
		"a struct":       x.Find(ctx, models.Employee{}),
		"nil":            x.Persist(ctx, (*models.Employee)(nil)),
		"a number":       x.Delete(ctx, ptr(5)),
		"no key":         x.Find(ctx, &noKey{}),
		"NULL as a key":  x.Find(ctx, &badKey{}),
		"a bad type":     x.Find(ctx, &badType{}),
		"no such field":  x.Update(ctx, &models.Employee{ID: 1}, "Salary"),
		"a slice of int": query(&[]int{}, ndbapi.Query{}),
		"a query field":  query(&[]models.Employee{}, ndbapi.Query{Filter: equals("Salary", 1)}),
		"equal to NULL":  query(&[]models.Employee{}, ndbapi.Query{Filter: equals("First", nil)}),
		"an order field": query(&[]models.Employee{}, ndbapi.Query{Order: []models.Order{by("Salary", false)}}),
		"a wanted field": query(&[]models.Employee{}, ndbapi.Query{Fields: []string{"Salary"}}),
		"a short place":  query(&[]models.Employee{}, ndbapi.Query{Order: []models.Order{by("Last", false)}, After: models.Cursor{int64(1)}}),
		"a pattern":      query(&[]models.Employee{}, ndbapi.Query{Filter: models.Compare(models.Property{Field: "ID"}, models.OpLike, 1)}),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
			continue
		}
		for _, kind := range []error{store.ErrNotFound, store.ErrConflict, store.ErrInvalid, store.ErrUnavailable, store.ErrUnknownOutcome} {
			if errors.Is(err, kind) {
				t.Errorf("%s: got %v, want a mistake of the caller", name, err)
			}
		}
	}
}
