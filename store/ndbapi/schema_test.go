package ndbapi_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// replaceTable makes the table anew with a change of its definition, as an ALTER
// TABLE that copies does; rows are lost.
func replaceTable(t *testing.T, c *ndbtest.Cluster, from, to string) {
	t.Helper()
	must(t, c.DropTable("ndbtest", "employee"))
	c.MustCreateTable(changed(t, from, to))
}

func changed(t *testing.T, from, to string) string {
	t.Helper()
	sql := strings.Replace(employeeTable, from, to, 1)
	if sql == employeeTable {
		t.Fatalf("the table has no %q", from)
	}
	return sql
}

func TestTable_DoesNotFit_UnavailableWithTheReason(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"a column is missing":     {"ended DATE DEFAULT NULL,", "", "column ended is missing"},
		"text for a date":         {"ended DATE", "ended VARCHAR(10)", "column ended has the type Varchar, which field Ended cannot hold"},
		"text in a binary column": {"first VARCHAR(64)", "first VARBINARY(64)", "column first has the type Varbinary, which field First cannot hold"},
		"a BLOB":                  {"last VARCHAR(64)", "last TEXT", "column last has the type Text"},
		"an unknown text":         {"last VARCHAR(64)", "last VARCHAR(64) COLLATE latin2_general_ci", "column last has text in collation 9: this road knows the character sets"},
		"a number that is text":   {"department INT NOT NULL DEFAULT 1", "department VARCHAR(9) NOT NULL", "column department has the type Varchar"},
		"NULL without a place":    {"department INT NOT NULL DEFAULT 1", "department INT", "column department allows NULL, which field Department cannot hold"},
		"another primary key":     {"id BIGINT NOT NULL PRIMARY KEY", "id BIGINT NOT NULL, no INT NOT NULL PRIMARY KEY", "column id is no part of the primary key"},
		"a longer primary key":    {"id BIGINT NOT NULL PRIMARY KEY", "id BIGINT NOT NULL, no INT NOT NULL, PRIMARY KEY (id, no)", "the primary key has 2 columns"},
		"a key of another column": {"id BIGINT NOT NULL PRIMARY KEY", "id BIGINT NOT NULL, PRIMARY KEY (id, department)", "column department is part of the primary key"},
	} {
		t.Run(name, func(t *testing.T) {
			c := ndbtest.Run(t)
			c.MustCreateTable(changed(t, test.from, test.to))
			s := openOnly(t, ndbapi.Config{Connectstring: c.Connectstring(), CheckInterval: checkInterval})
			wantMisfit(t, s, test.want)
			must(t, c.DropTable("ndbtest", "employee"))
			c.MustCreateTable(employeeTable)
			await(t, "the table fits again", func() bool { return s.Ping(t.Context()) == nil })
			must(t, s.Create(t.Context(), full(t, 1)))
		})
	}
}

// wantMisfit wants an error that names the table and what is wrong with it.
func wantMisfit(t *testing.T, s *ndbapi.Store, want string) {
	t.Helper()
	errs := []error{s.Ping(t.Context()), s.Create(t.Context(), full(t, 1))}
	_, err := s.Get(t.Context(), 1)
	for _, err := range append(errs, err) {
		wantKind(t, err, store.ErrUnavailable)
		if err != nil && (!strings.Contains(err.Error(), "table ndbtest.employee: ") || !strings.Contains(err.Error(), want)) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	if got := s.Status(); got.Up || !strings.Contains(got.Reason, want) {
		t.Errorf("got status %+v, want it down with %q", got, want)
	}
}

func TestTable_IsNotThere_UnavailableUntilItIs(t *testing.T) {
	c := ndbtest.Run(t)
	s := openOnly(t, ndbapi.Config{Connectstring: c.Connectstring(), CheckInterval: checkInterval})
	wantKind(t, s.Ping(t.Context()), store.ErrUnavailable)
	wantKind(t, s.Create(t.Context(), full(t, 1)), store.ErrUnavailable)
	c.MustCreateTable(employeeTable)
	await(t, "the table is there", func() bool { return s.Status().Up })
	must(t, s.Create(t.Context(), full(t, 1)))
}

func TestTable_ColumnAdded_GoesOn(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c)
	e := full(t, 1)
	must(t, s.Create(t.Context(), e))
	must(t, c.AlterAddColumn("ndbtest", "employee", ndbtest.ColumnDef{Name: "salary", Type: "INT"}))
	for id := int64(2); id < 40; id++ { // before and after the new definition is read
		wantAllOperations(t, s, id)
	}
	if got, err := s.Get(t.Context(), 1); err != nil || got.ID != 1 || *got.First != *e.First {
		t.Errorf("got %+v, error %v", got, err)
	}
}

// wantAllOperations does one of each kind on an ID that is free, and leaves it so.
func wantAllOperations(t *testing.T, s *ndbapi.Store, id int64) {
	t.Helper()
	ctx := t.Context()
	always := store.Precondition{Matches: func(*models.Employee) bool { return true }}
	must(t, s.Create(ctx, full(t, id)))
	_, err := s.Save(ctx, full(t, id), store.Precondition{})
	must(t, err)
	_, err = s.Save(ctx, full(t, id), always)
	must(t, err)
	_, err = s.Patch(ctx, id, patchOf(t, full(t, id), "ended"), store.PatchOptions{ReturnRow: true})
	must(t, err)
	_, err = s.List(ctx, models.EmployeeQuery{Filter: models.Compare(property(t, "city"), models.OpEqual, "London"), Limit: 5})
	must(t, err)
	_, err = s.List(ctx, models.EmployeeQuery{Limit: 5})
	must(t, err)
	must(t, s.Delete(ctx, id, store.Precondition{}))
}

// A table that was made anew is found at once, by each kind of operation.
func TestTable_MadeAnewWithAnotherDefinition_GoesOn(t *testing.T) {
	ctx := context.Background()
	always := store.Precondition{Matches: func(*models.Employee) bool { return true }}
	for name, run := range map[string]func(t *testing.T, s *ndbapi.Store) error{
		"create": func(t *testing.T, s *ndbapi.Store) error { return s.Create(ctx, full(t, 2)) },
		"save": func(t *testing.T, s *ndbapi.Store) error {
			_, err := s.Save(ctx, full(t, 2), store.Precondition{})
			return err
		},
		"get":       func(t *testing.T, s *ndbapi.Store) error { _, err := s.Get(ctx, 2); return absent(err) },
		"delete":    func(t *testing.T, s *ndbapi.Store) error { return absent(s.Delete(ctx, 2, store.Precondition{})) },
		"delete if": func(t *testing.T, s *ndbapi.Store) error { return absent(s.Delete(ctx, 2, always)) },
		"list": func(t *testing.T, s *ndbapi.Store) error {
			_, err := s.List(ctx, models.EmployeeQuery{Limit: 1})
			return err
		},
		"patch a date": func(t *testing.T, s *ndbapi.Store) error {
			_, err := s.Patch(ctx, 2, patchOf(t, full(t, 2), "ended"), store.PatchOptions{})
			return absent(err)
		},
		"list by city": func(t *testing.T, s *ndbapi.Store) error {
			_, err := s.List(ctx, models.EmployeeQuery{Filter: models.Compare(property(t, "city"), models.OpEqual, "London"), Limit: 1})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			s := openOn(t, c, func(cfg *ndbapi.Config) { cfg.CheckInterval = time.Hour })
			must(t, s.Create(t.Context(), full(t, 1)))
			replaceTable(t, c, "first VARCHAR(64) DEFAULT NULL,", "extra INT, first VARCHAR(50) DEFAULT NULL,")
			must(t, run(t, s))
		})
	}
}

// absent takes "not found" for a success: rows are lost.
func absent(err error) error {
	if strings.Contains(err.Error(), store.ErrNotFound.Error()) {
		return nil
	}
	return err
}

func TestTable_MadeAnewWithoutAColumn_UnavailableWithTheReason(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c)
	must(t, s.Create(t.Context(), full(t, 1)))
	replaceTable(t, c, "started DATE DEFAULT NULL,", "")
	_, err := s.Get(t.Context(), 1)
	wantKind(t, err, store.ErrUnavailable)
	wantMisfit(t, s, "column started is missing")
	must(t, c.DropTable("ndbtest", "employee"))
	c.MustCreateTable(employeeTable)
	await(t, "the table fits again", func() bool { return s.Ping(t.Context()) == nil })
	wantAllOperations(t, s, 1)
}

// What a SQL node would refuse for want of a value, the table does not fit.
func TestTable_ColumnThatNobodySets(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(changed(t, "ended DATE DEFAULT NULL,", "ended DATE DEFAULT NULL, badge INT NOT NULL,"))
	s := openOn(t, c)
	wantKind(t, s.Create(t.Context(), full(t, 1)), store.ErrUnavailable)
	_, err := s.Get(t.Context(), 1)
	wantKind(t, err, store.ErrNotFound)
}

func TestText_ThatItsColumnLacks(t *testing.T) {
	for name, test := range map[string]struct {
		table string
		text  string
		rule  string // empty: it is stored
	}{
		"latin1, letters":    {"CHARSET=latin1", "Åse € ž", ""},
		"latin1, Chinese":    {"CHARSET=latin1", "東京", "charset"},
		"utf8mb3, Chinese":   {"CHARSET=utf8mb3", "東京", ""},
		"utf8mb3, an emoji":  {"CHARSET=utf8mb3", "😀", "charset"},
		"utf8mb4, an emoji":  {"CHARSET=utf8mb4", "😀", ""},
		"utf8mb4, 64 emojis": {"CHARSET=utf8mb4", strings.Repeat("😀", 64), ""},
		"ascii, letters":     {"CHARSET=ascii", "Åse", "charset"},
		"utf8mb4, too many":  {"CHARSET=utf8mb4", strings.Repeat("ø", 65), "max"},
		"latin1, too many":   {"CHARSET=latin1", strings.Repeat("ø", 65), "max"},
	} {
		t.Run(name, func(t *testing.T) {
			c := ndbtest.Run(t)
			c.MustCreateTable(strings.Replace(employeeTable, "CHARSET=utf8mb3", test.table, 1))
			s := openOn(t, c)
			e := full(t, 1)
			e.Last = &test.text
			err := s.Create(t.Context(), e)
			if test.rule != "" {
				wantInvalid(t, err, "last", test.rule)
				_, err := s.Patch(t.Context(), 2, patchOf(t, e, "last", "ended"), store.PatchOptions{}) // though there is no row
				wantInvalid(t, err, "last", test.rule)
				return
			}
			must(t, err)
			got, err := s.Get(t.Context(), 1)
			if err != nil || *got.Last != test.text {
				t.Errorf("got %+v, error %v, want %q", got, err, test.text)
			}
		})
	}
}

// All bad texts are named, as the SQL road does it.
func TestText_ThatItsColumnLacks_AllAreNamed(t *testing.T) {
	s := openOn(t, startCluster(t))
	e := full(t, 1)
	e.First, e.City = ptr("😀"), ptr("😀")
	err := s.Create(t.Context(), e)
	if err == nil || !strings.Contains(err.Error(), "first must hold") || !strings.Contains(err.Error(), "city must hold") || strings.Contains(err.Error(), "last must") {
		t.Errorf("got error %v, want first and city named", err)
	}
}

func TestNull_InNotNullColumn(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(changed(t, "last VARCHAR(64) DEFAULT NULL", "last VARCHAR(64) NOT NULL"))
	s := openOn(t, c)
	e := full(t, 1)
	e.Last = nil
	wantInvalid(t, s.Create(t.Context(), e), "last", "not_null")
}

// The cluster says nothing of a DROP, and nobody may be calling.
func TestTable_Dropped_IsNoticedWithoutTraffic(t *testing.T) {
	c := startCluster(t)
	s := openOnly(t, ndbapi.Config{Connectstring: c.Connectstring(), CheckInterval: checkInterval})
	await(t, "the road is up", func() bool { return s.Status().Up })
	must(t, c.DropTable("ndbtest", "employee"))
	await(t, "the road is down", func() bool { return !s.Status().Up })
	c.MustCreateTable(employeeTable)
	await(t, "the road is up again", func() bool { return s.Status().Up })
}

// Behind a rename or an ALTER that copies, the table that was known is not the one
// of that name: the very next call looks.
func TestTable_Altered_IsLookedUpBeforeTheNextCall(t *testing.T) {
	c := startCluster(t)
	var read atomic.Int64
	s := openOn(t, c, func(cfg *ndbapi.Config) {
		cfg.CheckInterval = time.Hour
		cfg.Trace = &ndb.Trace{TableRead: func(ndb.TableRead) { read.Add(1) }}
	})
	must(t, s.Create(t.Context(), full(t, 1)))
	client, err := s.Client()
	must(t, err)
	table, err := client.Table(t.Context(), "ndbtest", "employee")
	must(t, err)
	before := read.Load()
	must(t, c.AlterAddColumn("ndbtest", "employee", ndbtest.ColumnDef{Name: "salary", Type: "INT"}))
	await(t, "the client knows", func() bool { return !table.IsCurrent() })
	must(t, s.Create(t.Context(), full(t, 2)))
	if read.Load() == before {
		t.Error("the table was not read again")
	}
}
