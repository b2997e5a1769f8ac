package ndbtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// employees is a client and the employee table.
type employees struct {
	*ndb.Client
	cluster                                *ndbtest.Cluster
	changed                                <-chan struct{} // a data node
	table                                  *ndb.Table
	id, first, last, city, started, depart *ndb.Column
}

// connect returns a client that uses all data nodes, and what tells when one of
// them changes.
func connect(t testing.TB, c *ndbtest.Cluster) (*ndb.Client, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 1)
	client, err := ndb.Connect(t.Context(), ndb.Config{
		Connectstring: c.Connectstring(), Dialer: c.Dial, ConnectTimeout: waitForAll,
		Trace: &ndb.Trace{NodeChanged: func(ndb.NodeInfo) {
			select {
			case changed <- struct{}{}:
			default:
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	awaitUsable(t.Context(), t, client, changed, len(c.Nodes()))
	return client, changed
}

// awaitUsable waits until the client can use so many data nodes.
func awaitUsable(ctx context.Context, t testing.TB, client *ndb.Client, changed <-chan struct{}, want int) {
	t.Helper()
	for {
		usable := 0
		for _, n := range client.Nodes() {
			if n.Usable {
				usable++
			}
		}
		if usable == want {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%v: got %d usable nodes, want %d: %+v", ctx.Err(), usable, want, client.Nodes())
		}
	}
}

func newEmployees(t testing.TB, opts ...ndbtest.Option) *employees {
	t.Helper()
	c := ndbtest.Run(t, opts...)
	c.MustCreateTable(employeeTable)
	e := &employees{cluster: c}
	e.Client, e.changed = connect(t, c)
	e.open(t)
	return e
}

// open finds the table and its columns.
func (e *employees) open(t testing.TB) {
	t.Helper()
	var err error
	if e.table, err = e.Table(t.Context(), "ndbtest", "employee"); err != nil {
		t.Fatal(err)
	}
	for name, column := range map[string]**ndb.Column{
		"id": &e.id, "first": &e.first, "last": &e.last, "municipality": &e.city, "started": &e.started, "department": &e.depart,
	} {
		if *column, err = e.table.Column(name); err != nil {
			t.Fatal(err)
		}
	}
}

func (e *employees) key(id int64) *ndb.Values { return e.table.NewValues().Int64(e.id, id) }

// fill inserts rows 1 to n: department is id%7, city "city 3" for id%10 = 3, and
// NULL for id%10 = 0.
func (e *employees) fill(ctx context.Context, t testing.TB, n int) {
	t.Helper()
	b := e.NewBatch(ctx, ndb.BatchOptions{Result: func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
	}})
	for id := range int64(n) {
		v := e.key(id+1).Int64(e.depart, (id+1)%7)
		if (id+1)%10 != 0 {
			v.String(e.city, fmt.Sprintf("city %d", (id+1)%10))
		}
		b.Insert(v)
	}
	b.Wait()
}

func (e *employees) department(ctx context.Context, t testing.TB, id int64) int64 {
	t.Helper()
	columns, err := e.table.Select("department")
	if err != nil {
		t.Fatal(err)
	}
	var row ndb.Row
	if err := e.Read(ctx, e.key(id), columns, &row); err != nil {
		t.Fatalf("read %d: %v", id, err)
	}
	n, _ := row.Int64(0)
	return n
}

func TestClient_CRUD(t *testing.T) {
	for _, test := range []struct {
		name string
		opts []ndbtest.Option
	}{
		{"two nodes", nil},
		{"one node", []ndbtest.Option{ndbtest.DataNodes(1)}},
		{"three replicas", []ndbtest.Option{ndbtest.DataNodes(3)}},
		{"two groups", []ndbtest.Option{ndbtest.DataNodes(4)}},
		{"checksums", []ndbtest.Option{ndbtest.Checksum()}},
		{"in memory", []ndbtest.Option{ndbtest.InMemory()}},
		{"without read backup", []ndbtest.Option{ndbtest.NoReadBackup()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEmployees(t, test.opts...)
			ctx := t.Context()
			for id := int64(1); id <= 20; id++ {
				if _, err := e.Insert(ctx, e.key(id).String(e.first, "Ada").Int64(e.depart, id)); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Update(ctx, e.key(id).Int64(e.depart, id*2)); err != nil {
					t.Fatal(err)
				}
				if got := e.department(ctx, t, id); got != id*2 {
					t.Errorf("got %d, want %d", got, id*2)
				}
				if _, err := e.Write(ctx, e.key(id).Int64(e.depart, id*3)); err != nil {
					t.Fatal(err)
				}
				if got := e.department(ctx, t, id); got != id*3 {
					t.Errorf("got %d, want %d", got, id*3)
				}
				if _, err := e.Delete(ctx, e.key(id)); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Delete(ctx, e.key(id)); err == nil {
					t.Errorf("deleted row %d twice", id)
				}
			}
		})
	}
}

func TestClient_Scans(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 1000)
	city, err := e.table.Index("idx_municipality")
	if err != nil {
		t.Fatal(err)
	}
	primary, err := e.table.Index("PRIMARY")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := e.table.Select("id", "municipality", "department")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		scan ndb.Scan
		want int
	}{
		{"table", ndb.Scan{}, 1000},
		{"small batches", ndb.Scan{BatchRows: 3}, 1000},
		{"one receiver", ndb.Scan{Parallel: 1, BatchRows: 10}, 1000},
		{"more receivers than fragments", ndb.Scan{Parallel: 30}, 1000},
		{"filter", ndb.Scan{Filter: ndb.Eq(e.depart, 3)}, 143},
		{"filter by text", ndb.Scan{Filter: ndb.Like(e.city, "CITY 1%")}, 100},
		{"filter by NULL", ndb.Scan{Filter: ndb.Or(ndb.IsNull(e.city), ndb.And(ndb.Lt(e.depart, 2), ndb.Eq(e.city, "city 1")))}, 129},
		{"index, equal", ndb.Scan{Index: city, Ranges: []ndb.Range{ndb.Exactly("CITY 3")}}, 100},
		{"index, NULL", ndb.Scan{Index: city, Ranges: []ndb.Range{ndb.Exactly(nil)}}, 100},
		{"index, range", ndb.Scan{Index: city, Ranges: []ndb.Range{{Low: []any{"city 2"}, High: []any{"city 4"}, HighStrict: true}}, BatchRows: 7}, 200},
		{"index, two ranges", ndb.Scan{Index: primary, Ranges: []ndb.Range{{Low: []any{10}, High: []any{19}}, ndb.Exactly(500)}}, 11},
		{"limit", ndb.Scan{Limit: 10}, 10},
	} {
		test.scan.Table, test.scan.Columns = e.table, columns
		s, err := e.Scan(ctx, test.scan)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		seen := map[int64]bool{}
		for s.Next(ctx) {
			id, _ := s.Row().Int64(0)
			if seen[id] {
				t.Errorf("%s: row %d comes twice", test.name, id)
			}
			seen[id] = true
		}
		if err := s.Err(); err != nil || len(seen) != test.want {
			t.Errorf("%s: got %d rows (%v), want %d", test.name, len(seen), err, test.want)
		}
		s.Close()
	}
	for _, order := range []ndb.Order{ndb.Ascending, ndb.Descending} {
		s, err := e.Scan(ctx, ndb.Scan{Table: e.table, Columns: columns, Index: primary, Order: order, BatchRows: 9})
		if err != nil {
			t.Fatal(err)
		}
		last, n := int64(-1), 0
		for s.Next(ctx) {
			id, _ := s.Row().Int64(0)
			if last >= 0 && (id > last) != (order == ndb.Ascending) {
				t.Fatalf("got %d after %d", id, last)
			}
			last, n = id, n+1
		}
		if err := s.Err(); err != nil || n != 1000 {
			t.Errorf("got %d rows (%v), want 1000", n, err)
		}
		s.Close()
	}
	if n, err := e.Count(ctx, ndb.Scan{Table: e.table}); err != nil || n != 1000 {
		t.Errorf("got %d rows (%v), want 1000", n, err)
	}
	if n, err := e.Count(ctx, ndb.Scan{Table: e.table, Filter: ndb.Eq(e.depart, 3)}); err != nil || n != 143 {
		t.Errorf("got %d rows (%v), want 143", n, err)
	}
}
