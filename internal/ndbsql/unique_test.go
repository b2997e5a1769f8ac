package ndbsql

import (
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

func isNoData(err error) bool {
	var e *ndb.Error
	return errors.As(err, &e) && e.Classification == ndb.ClassNoDataFound
}

func TestUniqueKey_ReadUpdateDelete(t *testing.T) {
	b := newBed(t)
	table := b.create(t, "scan_unique", `id INT NOT NULL PRIMARY KEY, b INT NULL, a VARCHAR(20) CHARACTER SET utf8mb3 NULL, n INT NULL, e BINARY(3) NULL,
		UNIQUE KEY ux_ba (b, a) USING HASH, UNIQUE KEY ux_e (e)`)
	b.exec(t, "INSERT INTO scan_unique VALUES (1,10,'x',100,'abc'),(2,10,'y',200,NULL),(3,NULL,NULL,300,NULL),(4,20,'x',400,'d')")
	pair, e := index(t, table, "ux_ba"), index(t, table, "ux_e")
	colA, colB, colN, colE, id := column(t, table, "a"), column(t, table, "b"), column(t, table, "n"), column(t, table, "e"), column(t, table, "id")
	columns := selectColumns(t, table, "id", "n")
	var row ndb.Row
	read := func(x *ndb.Index, key *ndb.Values) (string, error) {
		if err := b.client.ReadUnique(t.Context(), x, key, columns, &row); err != nil {
			return "", err
		}
		text, err := row.String(0)
		n, err2 := row.String(1)
		return text + " " + n, errors.Join(err, err2)
	}
	for _, test := range []struct {
		index *ndb.Index
		key   *ndb.Values
		want  string
	}{
		{pair, table.NewValues().Int64(colB, 10).String(colA, "x"), "1 100"},
		{pair, table.NewValues().String(colA, "Y").Int64(colB, 10), "2 200"},
		{e, table.NewValues().String(colE, "abc"), "1 100"},
		{e, table.NewValues().String(colE, "d"), "4 400"},
	} {
		if got, err := read(test.index, test.key); err != nil || got != test.want {
			t.Errorf("got %q, %v, want %q", got, err, test.want)
		}
	}
	if _, err := read(pair, table.NewValues().Int64(colB, 11).String(colA, "x")); !isNoData(err) {
		t.Errorf("got %v, want no data", err)
	}
	if _, err := read(pair, table.NewValues().Null(colB).Null(colA)); err == nil || isNoData(err) {
		t.Errorf("got %v, want an error: NULL is no key", err)
	}
	if _, err := read(pair, table.NewValues().Int64(colB, 10)); err == nil || isNoData(err) {
		t.Errorf("got %v, want an error: half a key", err)
	}

	if _, err := b.client.UpdateUnique(t.Context(), pair, table.NewValues().Int64(colB, 10).String(colA, "y").Int64(colN, 201).String(colE, "new")); err != nil {
		t.Error(err)
	}
	if _, err := b.client.UpdateUnique(t.Context(), e, table.NewValues().String(colE, "zzz").Int64(colN, 0)); !isNoData(err) {
		t.Errorf("got %v, want no data", err)
	}
	if _, err := b.client.UpdateUnique(t.Context(), e, table.NewValues().String(colE, "abc").Int64(id, 9)); err == nil {
		t.Error("the primary key was updated")
	}
	if _, err := b.client.DeleteUnique(t.Context(), e, table.NewValues().String(colE, "d")); err != nil {
		t.Error(err)
	}
	if _, err := b.client.DeleteUnique(t.Context(), e, table.NewValues().String(colE, "d")); !isNoData(err) {
		t.Errorf("got %v, want no data", err)
	}

	tx := begin(t, b)
	first := tx.ReadUnique(pair, table.NewValues().Int64(colB, 10).String(colA, "x"), columns, &row, ndb.ExclusiveLock)
	missing := tx.ReadUnique(e, table.NewValues().String(colE, "qqq"), columns, new(ndb.Row), ndb.CommittedRead)
	tx.UpdateUnique(e, table.NewValues().String(colE, "new").Int64(colN, 202))
	if err := tx.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := row.Int64(1); first.Err() != nil || err != nil || n != 100 {
		t.Errorf("got %d, %v, %v, want 100", n, first.Err(), err)
	}
	if !isNoData(missing.Err()) {
		t.Errorf("got %v, want no data", missing.Err())
	}
	tx.DeleteUnique(pair, table.NewValues().Int64(colB, 10).String(colA, "x"))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", b.query(t, "SELECT id, b, a, n, e FROM scan_unique ORDER BY id"),
		[][]string{{"2", "10", "y", "202", "new"}, {"3", null, null, "300", null}})
}
