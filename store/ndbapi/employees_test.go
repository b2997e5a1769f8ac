package ndbapi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// insertZeroDates inserts an employee whose dates are 0000-00-00, as other
// programs can.
func insertZeroDates(t *testing.T, s *ndbapi.Store, id int64) {
	t.Helper()
	client, err := s.Client()
	must(t, err)
	table, err := client.Table(t.Context(), "ndbtest", "employee")
	must(t, err)
	v := table.NewValues()
	for _, c := range table.Columns() {
		switch c.Name {
		case "id":
			v.Int64(c, id)
		case "started", "ended":
			v.Date(c, 0, 0, 0)
		}
	}
	_, err = client.Insert(t.Context(), v)
	must(t, err)
}

func TestZeroDates_ReadAsNull(t *testing.T) {
	s := openOn(t, startCluster(t))
	want := models.NewEmployee()
	want.ID = 1
	insertZeroDates(t, s, 1)
	if got, err := s.Get(t.Context(), 1); err != nil || got != want {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
	if got, err := s.List(t.Context(), models.EmployeeQuery{Limit: 1}); err != nil || len(got.Employees) != 1 || got.Employees[0] != want {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
}

// A date is not compared with what is no date.
func TestZeroDates_PatchOfTheOtherDate(t *testing.T) {
	s := openOn(t, startCluster(t))
	for id, name := range map[int64]string{1: "started", 2: "ended"} {
		for _, opts := range []store.PatchOptions{{}, {ReturnRow: true}, {Precondition: holds}} {
			t.Run(fmt.Sprintf("%s %+v", name, opts.ReturnRow), func(t *testing.T) {
				insertZeroDates(t, s, id)
				_, err := s.Patch(t.Context(), id, patchOf(t, full(t, id), name), opts)
				must(t, err)
				got, err := s.Get(t.Context(), id)
				if err != nil || (got.Started == nil) != (name == "ended") || (got.Ended == nil) != (name == "started") {
					t.Errorf("got %+v, error %v, want only %s set", got, err, name)
				}
				must(t, s.Delete(t.Context(), id, store.Precondition{}))
			})
		}
	}
}

// Pages of a city are the same whatever way leads to them.
func TestList_ByCity_InPages(t *testing.T) {
	const employees, page = 500, 7
	hashOnly := strings.Replace(changed(t, "KEY idx_municipality (municipality)", "PRIMARY KEY (id) USING HASH"), " PRIMARY KEY,", ",", 1)
	for name, table := range map[string]string{
		"by index":         employeeTable,
		"without index":    changed(t, ",\n\tKEY idx_municipality (municipality)", ""),
		"without any":      hashOnly,
		"without any city": hashOnly,
	} {
		t.Run(name, func(t *testing.T) {
			c := ndbtest.Run(t)
			c.MustCreateTable(table)
			s := openOn(t, c)
			cities := []string{"Oslo", "London", "Bergen"}
			var want []int64
			for _, i := range rand.Perm(employees) {
				e := full(t, int64(i+1))
				e.City = &cities[i%3]
				must(t, s.Create(t.Context(), e))
			}
			q := models.EmployeeQuery{Limit: page}
			if name != "without any city" {
				q.Filter = models.Compare(property(t, "city"), models.OpEqual, "london")
			}
			for i := range employees {
				if name == "without any city" || i%3 == 1 {
					want = append(want, int64(i+1))
				}
			}
			var got []int64
			for {
				page, err := s.List(t.Context(), q)
				must(t, err)
				for _, e := range page.Employees {
					got = append(got, e.ID)
				}
				if q.After = page.Next; q.After == nil {
					break
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// Savers, deleters and creators of a few rows: what was created less what was
// removed is what is there.
func testSavesAndDeletes(t *testing.T, s *ndbapi.Store, first int64) {
	const callers, rounds, rows = 32, 300, 3
	var balance [rows]int
	var mu sync.Mutex // guards balance
	var running sync.WaitGroup
	for g := range callers {
		running.Go(func() { // ends after its rounds
			for i := range rounds {
				row := (g + i) % rows
				change, err := saveOrDelete(s, first+int64(row), (g*rounds+i*7)%5, full(t, first+int64(row)))
				if err != nil && !errors.Is(err, store.ErrUnavailable) {
					t.Error(err)
					return
				}
				mu.Lock()
				balance[row] += change
				mu.Unlock()
			}
		})
	}
	running.Wait()
	for row, n := range balance {
		_, err := s.Get(t.Context(), first+int64(row))
		if there := err == nil; n != 0 && n != 1 || there != (n == 1) {
			t.Errorf("row %d: got a balance of %d, and get says %v", row, n, err)
		}
	}
	t.Logf("%+v", s.Counters())
}

// saveOrDelete returns by how much the number of rows has changed.
func saveOrDelete(s *ndbapi.Store, id int64, what int, e models.Employee) (int, error) {
	ctx := context.Background()
	switch what {
	case 0, 1:
		created, err := s.Save(ctx, e, store.Precondition{})
		if created {
			return 1, err
		}
		return 0, err
	case 2:
		if err := s.Create(ctx, e); !errors.Is(err, store.ErrConflict) {
			return oneIf(err == nil), err
		}
		return 0, nil
	default:
		if err := s.Delete(ctx, id, store.Precondition{}); !errors.Is(err, store.ErrNotFound) {
			return -oneIf(err == nil), err
		}
		return 0, nil
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestSave_AmongDeletesAndCreates_TellsCreatedFromReplaced(t *testing.T) {
	testSavesAndDeletes(t, openOn(t, startCluster(t)), 1)
}

func TestSave_AmongDeletesAndCreates_RealCluster(t *testing.T) {
	s := open(t, ndbapi.Config{Connectstring: realConnectstring(t)})
	first := 1<<62 + rand.Int64N(1<<60)
	t.Cleanup(func() {
		for id := first; id < first+3; id++ {
			if err := s.Delete(context.Background(), id, store.Precondition{}); err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
		}
	})
	testSavesAndDeletes(t, s, first)
}

func TestWaitDurable(t *testing.T) {
	c := startCluster(t, ndbtest.CheckpointInterval(0))
	s := openOn(t, c)
	must(t, s.WaitDurable(t.Context())) // nothing was written
	for name, write := range map[string]func() error{
		"create": func() error { return s.Create(t.Context(), full(t, 1)) },
		"save": func() error {
			_, err := s.Save(t.Context(), full(t, 1), store.Precondition{})
			return err
		},
		"patch with row": func() error {
			_, err := s.Patch(t.Context(), 1, patchOf(t, full(t, 1), "ended"), store.PatchOptions{ReturnRow: true})
			return err
		},
		"save if": func() error {
			_, err := s.Save(t.Context(), full(t, 1), holds)
			return err
		},
	} {
		if name != "create" && name != "save" {
			_, err := s.Save(t.Context(), full(t, 1), store.Precondition{})
			must(t, err)
		} else if err := s.Delete(t.Context(), 1, store.Precondition{}); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		c.Checkpoint()
		must(t, write())
		ended := make(chan error, 1)
		go func() { ended <- s.WaitDurable(context.Background()) }() // ends with the checkpoint
		await(t, name+": asked", func() bool { return s.Stats().Client.Requests > 0 })
		select {
		case err := <-ended:
			t.Errorf("%s: got %v before the checkpoint", name, err)
		default:
		}
		await(t, name+": on disk", func() bool {
			c.Checkpoint() // the request may be on its way still
			select {
			case err := <-ended:
				must(t, err)
				return true
			default:
				return false
			}
		})
		must(t, s.WaitDurable(t.Context()))
	}
}

func TestStatus_ShowsThePool(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c, func(cfg *ndbapi.Config) { cfg.MaxTransactions = 2 })
	x, err := s.Session(t.Context())
	must(t, err)
	y, err := s.Session(t.Context())
	must(t, err)
	y.Close()
	got := s.Status()
	want := store.NodeStatus{Address: c.Connectstring(), Up: true, Max: 2, InUse: 1, Idle: 1}
	if !got.Up || len(got.Nodes) != 1 || got.Nodes[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	z, err := s.Session(ctx)
	must(t, err)
	go cancel() // while the third one waits
	_, err = s.Session(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	must(t, s.Ping(t.Context())) // needs no session
	x.Close()
	z.Close()
	if got := len(s.Nodes()); got != 2 {
		t.Errorf("got %d data nodes, want 2", got)
	}
	if got := s.Stats(); got.SessionsIdle != 2 || got.SessionsInUse != 0 || got.Client.LinksUp != 2 {
		t.Errorf("got %+v", got)
	}
}

// The checkpoints of a cluster that was lost say nothing about the next one.
func TestWaitDurable_AfterTheClusterWasLost_AsksTheNextOne(t *testing.T) {
	c := startCluster(t, ndbtest.CheckpointInterval(0))
	s := openOn(t, c)
	must(t, s.Create(t.Context(), full(t, 1)))
	c.Checkpoint()
	c.KillAll()
	await(t, "the road is down", func() bool { return !s.Status().Up })
	for _, node := range c.Nodes() {
		must(t, c.StartNode(node))
	}
	await(t, "the road is up", func() bool { return s.Ping(t.Context()) == nil })
	ended := make(chan error, 1)
	go func() { ended <- s.WaitDurable(context.Background()) }() // ends with the checkpoint
	await(t, "asked", func() bool { return s.Stats().Client.Requests > 0 })
	await(t, "on disk", func() bool {
		c.Checkpoint()
		select {
		case err := <-ended:
			must(t, err)
			return true
		default:
			return false
		}
	})
}
