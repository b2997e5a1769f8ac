package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
)

func text(s string) *string { return &s }

func date(t *testing.T, s string) *models.Date {
	t.Helper()
	d, err := models.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestRoads_WhatOneWrites_TheOtherReads(t *testing.T) {
	c := testCluster(t)
	native, viaSQL := openNDB(t, c, databaseName), openSQL(t, c, databaseName)
	employees := []models.Employee{
		{ID: 1, Department: 1},
		{ID: 2, First: text(""), Last: text(" "), City: text("Oslo  "), Department: math.MaxInt32},
		{ID: math.MaxInt64, First: text("Ærlig Åse"), Last: text(strings.Repeat("日", 64)), City: text("oslo"), Department: 2},
		{ID: 1 << 53, Started: date(t, "1000-01-01"), Ended: date(t, "9999-12-31"), Department: 3},
		{ID: 7, City: text("ÓSLÓ"), Started: date(t, "2024-02-29"), Department: 4},
	}
	ctx := t.Context()
	for _, roads := range [][2]store.Employees{{native, viaSQL}, {viaSQL, native}} {
		writer, reader := roads[0], roads[1]
		for _, e := range employees {
			if err := writer.Create(ctx, e); err != nil {
				t.Fatal(err)
			}
			got, err := reader.Get(ctx, e.ID)
			if err != nil || !reflect.DeepEqual(got, e) {
				t.Errorf("%T: got %+v (%v), want %+v", reader, got, err, e)
			}
			if err := reader.Create(ctx, e); !errors.Is(err, store.ErrConflict) {
				t.Errorf("%T: got %v, want a conflict", reader, err)
			}
		}
		city := models.EmployeeQuery{Limit: 10, Filter: models.Compare(property(t, "city"), models.OpEqual, "OSLO")}
		for _, road := range roads {
			found, err := road.List(ctx, city)
			if err != nil || len(found.Employees) != 3 {
				t.Errorf("%T: got %v (%v), want three in Oslo", road, found, err)
			}
		}
		for _, e := range employees {
			if err := reader.Delete(ctx, e.ID, store.Precondition{}); err != nil {
				t.Fatal(err)
			}
			if _, err := writer.Get(ctx, e.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%T: got %v, want nothing", writer, err)
			}
		}
	}
}

func property(t *testing.T, name string) models.Property {
	t.Helper()
	for _, p := range models.EmployeeProperties() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no property %s", name)
	return models.Property{}
}

// clients are what roads are made of: a native client, and a connection to the
// SQL node.
type clients struct {
	*ndb.Client
	table      *ndb.Table
	id, depart *ndb.Column
	db         *sql.DB
}

func connectBoth(t *testing.T, c *cluster) *clients {
	t.Helper()
	client, err := ndb.Connect(t.Context(), ndb.Config{Connectstring: c.nodes.Connectstring()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	both := &clients{Client: client}
	if both.table, err = client.Table(t.Context(), databaseName, "employee"); err != nil {
		t.Fatal(err)
	}
	if both.id, err = both.table.Column("id"); err != nil {
		t.Fatal(err)
	}
	if both.depart, err = both.table.Column("department"); err != nil {
		t.Fatal(err)
	}
	if both.db, err = sql.Open("mysql", c.sql.DSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { both.db.Close() })
	return both
}

func (c *clients) row(id, department int64) *ndb.Values {
	return c.table.NewValues().Int64(c.id, id).Int64(c.depart, department)
}

func (c *clients) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := c.db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (c *clients) department(t *testing.T, id int64) (department int64) {
	t.Helper()
	err := c.db.QueryRowContext(t.Context(), "SELECT department FROM employee WHERE id = ?", id).Scan(&department)
	if err != nil {
		t.Fatal(err)
	}
	return department
}

const setDepartment = "UPDATE employee SET department = ? WHERE id = 1"

// hold returns transactions of each road that have locked row 1.
func (c *clients) hold(t *testing.T) map[string]func() (commit func() error) {
	return map[string]func() (commit func() error){
		"sql": func() func() error {
			tx, err := c.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback() })
			if _, err := tx.ExecContext(t.Context(), setDepartment, 10); err != nil {
				t.Fatal(err)
			}
			return tx.Commit
		},
		"ndb": func() func() error {
			tx, err := c.Begin(t.Context(), c.row(1, 10))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(tx.Close)
			tx.Update(c.row(1, 10))
			if err := tx.Execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			return func() error { return tx.Commit(t.Context()) }
		},
	}
}

// writers write row 1, each by another way of its road.
func (c *clients) writers(ctx context.Context) map[string]func() error {
	run := func(query string, args ...any) func() error {
		return func() error {
			_, err := c.db.ExecContext(ctx, query, args...)
			return err
		}
	}
	return map[string]func() error{
		"sql update":          run(setDepartment, 11),
		"sql update by scan":  run("UPDATE employee SET department = 11 WHERE department > 0"),
		"sql insert or write": run("INSERT INTO employee (id) VALUES (1) ON DUPLICATE KEY UPDATE department = 11"),
		"ndb update": func() error {
			_, err := c.Update(ctx, c.row(1, 11))
			return err
		},
		"ndb write": func() error {
			_, err := c.Write(ctx, c.row(1, 11))
			return err
		},
	}
}

func TestRoads_RowHeldByOne_MakesTheOtherWait(t *testing.T) {
	waiting := make(chan struct{}, 64)
	c := testCluster(t, ndbtest.LockWaitTimeout(time.Minute), ndbtest.OnLockWait(func() { waiting <- struct{}{} }))
	both := connectBoth(t, c)
	for holder, hold := range both.hold(t) {
		for writer, write := range both.writers(t.Context()) {
			t.Run(holder+" holds, "+writer+" waits", func(t *testing.T) {
				both.exec(t, "REPLACE INTO employee (id, department) VALUES (1, 1)")
				commit := hold()
				done := make(chan error, 1)
				go func() { done <- write() }() // ends after the commit
				<-waiting
				if got := both.department(t, 1); got != 1 {
					t.Errorf("department is %d before the commit, want 1", got)
				}
				select {
				case err := <-done:
					t.Fatalf("the writer did not wait: %v", err)
				default:
				}
				if err := commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if got := both.department(t, 1); got != 11 {
					t.Errorf("department is %d, want 11: the last writer's", got)
				}
			})
		}
	}
}

func TestRoads_RowHeldTooLong_GivesTheErrorOfTheRoadThatWaits(t *testing.T) {
	c := testCluster(t, ndbtest.LockWaitTimeout(20*time.Millisecond))
	both := connectBoth(t, c)
	both.exec(t, "INSERT INTO employee (id, department) VALUES (1, 1)")
	for holder, hold := range both.hold(t) {
		for writer, write := range both.writers(t.Context()) {
			t.Run(holder+" holds, "+writer+" gives up", func(t *testing.T) {
				commit := hold()
				err := write()
				var native *ndb.Error
				var server *mysql.MySQLError
				switch {
				case errors.As(err, &native) && native.Code == 266 && strings.HasPrefix(writer, "ndb"):
				case errors.As(err, &server) && server.Number == 1205 && strings.HasPrefix(writer, "sql"):
				default:
					t.Errorf("got %v, want the error of a lock wait", err)
				}
				if err := commit(); err != nil {
					t.Fatal(err)
				}
				if got := both.department(t, 1); got != 10 {
					t.Errorf("department is %d, want 10: the holder's", got)
				}
			})
		}
	}
}

// Both roads count up rows while data nodes die and come back. What either has
// acknowledged is there at the end.
func TestRoads_DataNodesDie_NothingAcknowledgedIsLost(t *testing.T) {
	c := testCluster(t)
	roads := []store.Employees{openNDB(t, c, databaseName), openSQL(t, c, databaseName)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const workers = 8
	type count struct{ least, most int32 }
	counts := make([]count, workers)
	progress := make(chan struct{})
	enough := make(chan struct{})
	var running sync.WaitGroup
	for i := range workers {
		e := models.Employee{ID: int64(i + 1), Department: 1}
		if err := roads[0].Create(ctx, e); err != nil {
			t.Fatal(err)
		}
		counts[i] = count{1, 1}
		running.Go(func() { // ends after its rounds
			rnd := rand.New(rand.NewPCG(uint64(i), 0))
			for {
				select {
				case progress <- struct{}{}:
				case <-enough:
					return
				}
				counts[i].most++
				_, err := roads[rnd.IntN(len(roads))].Save(ctx, models.Employee{ID: e.ID, Department: counts[i].most}, store.Precondition{Present: true})
				switch {
				case err == nil:
					counts[i].least = counts[i].most
				case errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknownOutcome):
				default:
					t.Errorf("employee %d: %v", e.ID, err)
				}
			}
		})
	}
	killNodes(ctx, t, c, progress)
	close(enough)
	running.Wait()
	for i, n := range counts {
		for _, road := range roads {
			got, err := road.Get(ctx, int64(i+1))
			if err != nil || got.Department < n.least || got.Department > n.most {
				t.Errorf("%T: employee %d: got %d (%v), want %d to %d", road, i+1, got.Department, err, n.least, n.most)
			}
		}
	}
}

// killNodes kills one data node after another and starts it again, each in the
// midst of what makes progress.
func killNodes(ctx context.Context, t *testing.T, c *cluster, progress <-chan struct{}) {
	t.Helper()
	watcher := connectBoth(t, c)
	const kills, pause = 6, 60 // writes
	goOn := func(until func() bool) {
		for n := 0; (n < pause || !until()) && ctx.Err() == nil; n++ {
			select {
			case <-progress:
			case <-ctx.Done():
				t.Error("nothing goes on")
			}
		}
	}
	for i := range kills {
		node := c.nodes.Nodes()[i%2]
		goOn(watcher.allNodesUsable)
		c.nodes.KillNode(node)
		goOn(func() bool { return true })
		if err := c.nodes.StartNode(node); err != nil {
			t.Error(err)
		}
	}
	goOn(watcher.allNodesUsable)
}

func (c *clients) allNodesUsable() bool {
	return !slices.ContainsFunc(c.Nodes(), func(n ndb.NodeInfo) bool { return !n.Usable })
}

func TestRoads_ZeroDates_LeftByOthers(t *testing.T) {
	c := testCluster(t)
	both := connectBoth(t, c)
	started, err := both.table.Column("started")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := both.Insert(t.Context(), both.row(1, 1).Date(started, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	conn, err := both.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, query := range []string{"SET sql_mode = ''", "INSERT INTO employee (id, started) VALUES (2, '0000-00-00')"} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	for id := range int64(2) {
		var stored string
		err := both.db.QueryRowContext(t.Context(), "SELECT started FROM employee WHERE id = ?", id+1).Scan(&stored)
		if err != nil || stored != "0000-00-00" {
			t.Errorf("row %d: got %q (%v)", id+1, stored, err)
		}
		for _, road := range []store.Employees{openNDB(t, c, databaseName), openSQL(t, c, databaseName)} {
			got, err := road.Get(t.Context(), id+1)
			if err != nil || got.Started != nil {
				t.Errorf("%T: row %d: got %v (%v), want no date", road, id+1, got.Started, err)
			}
		}
	}
}

// The employee table in other character sets: both roads take and refuse the
// same texts, and find the same.
func TestRoads_OtherCharacterSets(t *testing.T) {
	c := testCluster(t)
	both := connectBoth(t, c)
	tests := []struct {
		charset string
		stored  []string
		refused []string
		find    string
		want    int // of stored
	}{
		{"latin1", []string{"Åse", "ÅSE ", "Ase", "€"}, []string{"日本", "Łódź", "😀"}, "åse", 2},
		{"utf8mb3", []string{"Åse", "ÅSE ", "Ase", "日本"}, []string{"😀"}, "åse", 3},
		{"utf8mb4", []string{"Åse", "ÅSE ", "Ase", "😀"}, nil, "åse", 2},
	}
	for _, tt := range tests {
		t.Run(tt.charset, func(t *testing.T) {
			database := "in_" + tt.charset
			both.exec(t, "CREATE DATABASE "+database+" CHARACTER SET "+tt.charset)
			both.exec(t, fmt.Sprintf("CREATE TABLE %s.employee (id BIGINT PRIMARY KEY, first VARCHAR(64), last VARCHAR(64), municipality VARCHAR(64),"+
				" started DATE, ended DATE, department INT NOT NULL DEFAULT 1, KEY idx_municipality (municipality)) ENGINE=NDBCLUSTER", database))
			roads := []store.Employees{openNDB(t, c, database), openSQL(t, c, database)}
			ctx := t.Context()
			for i, s := range tt.stored {
				e := models.Employee{ID: int64(i + 1), First: &s, City: &s, Department: 1}
				if err := roads[i%2].Create(ctx, e); err != nil {
					t.Fatal(err)
				}
				for _, road := range roads {
					if got, err := road.Get(ctx, e.ID); err != nil || !reflect.DeepEqual(got, e) {
						t.Errorf("%T: got %+v (%v), want %+v", road, got, err, e)
					}
				}
			}
			for _, road := range roads {
				for _, s := range tt.refused {
					if err := road.Create(ctx, models.Employee{ID: 99, City: &s, Department: 1}); !errors.Is(err, store.ErrInvalid) {
						t.Errorf("%T: %q: got %v, want it refused", road, s, err)
					}
				}
				for _, p := range []string{"first", "city"} { // without an index, and with one
					q := models.EmployeeQuery{Limit: 10, Filter: models.Compare(property(t, p), models.OpEqual, tt.find)}
					if found, err := road.List(ctx, q); err != nil || len(found.Employees) != tt.want {
						t.Errorf("%T: %s = %q: got %d rows (%v), want %d", road, p, tt.find, len(found.Employees), err, tt.want)
					}
				}
			}
			both.exec(t, "DROP DATABASE "+database)
			if _, err := c.nodes.Rows(database, "employee"); err == nil {
				t.Error("the table is there after DROP DATABASE")
			}
		})
	}
}

func TestRoads_TableDroppedAndMadeAgain(t *testing.T) {
	c := testCluster(t)
	both := connectBoth(t, c)
	create := "CREATE TABLE team (id INT PRIMARY KEY, name VARCHAR(20)) CHARSET=utf8mb3"
	for round := range int64(3) {
		both.exec(t, create)
		table, err := both.Table(t.Context(), databaseName, "team")
		if err != nil {
			t.Fatal(err)
		}
		id, err := table.Column("id")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := both.Insert(t.Context(), table.NewValues().Int64(id, round)); err != nil {
			t.Fatal(err)
		}
		var got int64
		if err := both.db.QueryRowContext(t.Context(), "SELECT id FROM team").Scan(&got); err != nil || got != round {
			t.Errorf("got %d (%v), want %d", got, err, round)
		}
		both.exec(t, "DROP TABLE team")
		if _, err := both.Insert(t.Context(), table.NewValues().Int64(id, round+10)); err == nil {
			t.Error("the table can be written to after DROP TABLE")
		}
	}
}
