package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// newRow returns an employee that the table does not hold, and removes it after
// the test.
func newRow(t testing.TB, s store.Employees) models.Employee {
	t.Helper()
	e := employee(1<<62 + rand.Int64N(1<<61))
	t.Cleanup(func() {
		err := s.Delete(context.WithoutCancel(t.Context()), e.ID, store.Precondition{})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("clean up: %v", err)
		}
	})
	return e
}

func has(t *testing.T, s store.Employees, id int64) bool {
	t.Helper()
	_, err := s.Get(t.Context(), id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// The connection is cut at a chosen message between the store and a real
// mysqld.
func TestMySQL_CutConnection(t *testing.T) {
	dsns := testDSNs(t)
	direct := open(t, sqlstore.Config{DSNs: dsns[:1]})
	replaceIf := func(s store.Employees, e models.Employee) error {
		e.Department = 2
		_, err := s.Save(t.Context(), e, holds)
		return err
	}
	create := func(s store.Employees, e models.Employee) error { return s.Create(t.Context(), e) }
	for name, c := range map[string]struct {
		cut    cutPoint
		stored bool // before
		write  func(s store.Employees, e models.Employee) error
		kind   error
		done   bool
	}{
		"create, answer lost":  {cutPoint{comExecute, "", true}, false, create, store.ErrUnknownOutcome, true},
		"create, request lost": {cutPoint{comExecute, "", false}, false, create, store.ErrUnknownOutcome, false},
		"create, not sent":     {cutPoint{comPrepare, "INSERT", false}, false, create, store.ErrUnavailable, false},
		"commit, answer lost":  {cutPoint{comQuery, "COMMIT", true}, true, replaceIf, store.ErrUnknownOutcome, true},
		"commit, request lost": {cutPoint{comQuery, "COMMIT", false}, true, replaceIf, store.ErrUnknownOutcome, false},
		"before the commit":    {cutPoint{comExecute, "", true}, true, replaceIf, store.ErrUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newRow(t, direct)
			if c.stored {
				if err := direct.Create(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			p, dsn := startProxy(t, dsns[0])
			s := open(t, sqlstore.Config{DSNs: []string{dsn}})
			p.cutAt.Store(&c.cut)
			err := c.write(s, e)
			if !errors.Is(err, c.kind) {
				t.Errorf("got error %v, want %v", err, c.kind)
			}
			p.cutAt.Store(nil)

			done := has(t, direct, e.ID)
			if c.stored {
				row, err := direct.Get(t.Context(), e.ID)
				if err != nil {
					t.Fatal(err)
				}
				done = row.Department == 2
			}
			if done != c.done {
				t.Errorf("got written %v, want %v", done, c.done)
			}
		})
	}
}

// With a second node, what was surely not done on the first is done there.
func TestMySQL_CutConnection_NextNodeServes(t *testing.T) {
	dsns := testDSNs(t)
	for name, cut := range map[string]cutPoint{
		"at the prepare":             {comPrepare, "", false},
		"at the start of a tx":       {comQuery, "START", false},
		"at the settings":            {comQuery, "SET", false},
		"before the commit, in a tx": {comPrepare, "UPDATE", true},
	} {
		t.Run(name, func(t *testing.T) {
			p, dsn := startProxy(t, dsns[0])
			s := open(t, sqlstore.Config{DSNs: []string{dsn, dsns[len(dsns)-1]}})
			p.cutAt.Store(&cut)
			e := newRow(t, open(t, sqlstore.Config{DSNs: dsns[:1]}))
			if err := s.Create(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				e.Department++
				if _, err := s.Save(t.Context(), e, holds); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Get(t.Context(), e.ID)
			if err != nil || got.Department != e.Department {
				t.Errorf("got %+v, error %v, want department %d", got, err, e.Department)
			}
		})
	}
}

// What other programs stored as no date of the calendar reads as null.
func TestMySQL_ZeroDatesReadAsNull(t *testing.T) {
	s := open(t, sqlstore.Config{DSNs: testDSNs(t)})
	e := newRow(t, s)
	db := rawDB(t)
	for _, statement := range []string{
		"SET sql_mode = ''",
		fmt.Sprintf("INSERT INTO employee (id, started, ended) VALUES (%d, '0000-00-00', '2020-05-00')", e.ID),
	} {
		var refused *mysql.MySQLError
		if _, err := db.ExecContext(t.Context(), statement); errors.As(err, &refused) && refused.Number == 1292 {
			t.Skip("this server stores nothing but dates of the calendar")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Get(t.Context(), e.ID)
	if err != nil || got != e {
		t.Errorf("got %+v, error %v, want %+v", got, err, e)
	}
	listed, err := s.List(t.Context(), models.EmployeeQuery{After: models.Cursor{e.ID - 1}, Limit: 1})
	if err != nil || len(listed.Employees) != 1 || listed.Employees[0] != e {
		t.Errorf("got %+v, error %v, want %+v", listed, err, e)
	}
	// Not compared with the stored started, which is no date.
	endedOn, ended := date(t, "2020-05-01"), property(t, "ended")
	patch := models.EmployeePatch{Values: models.Employee{Ended: &endedOn}, Set: []models.Property{ended}}
	got, err = s.Patch(t.Context(), e.ID, patch, store.PatchOptions{ReturnRow: true})
	if err != nil || got.Started != nil || got.Ended == nil || *got.Ended != endedOn {
		t.Errorf("got %+v, error %v, want only ended set", got, err)
	}
}

func date(t *testing.T, text string) models.Date {
	t.Helper()
	d, err := models.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func property(t *testing.T, name string) models.Property {
	t.Helper()
	p, ok := models.EmployeeProperty(name)
	if !ok {
		t.Fatalf("no property %s", name)
	}
	return p
}

// rawDB is one connection to the first node, as other programs have.
func rawDB(t *testing.T) *sql.DB {
	t.Helper()
	c, err := mysql.ParseDSN(testDSNs(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}
