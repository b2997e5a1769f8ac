package ndb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func comparedTable(t *testing.T) (*ndb.Client, *ndb.Table) {
	t.Helper()
	cluster := ndbtest.Run(t)
	cluster.MustCreateTable(`CREATE TABLE d.t (id INT NOT NULL PRIMARY KEY, general VARCHAR(4) CHARACTER SET utf8mb3, wide VARCHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
		latin VARCHAR(4) CHARACTER SET latin1, uca VARCHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci, day DATE, bits BIT(9), raw VARBINARY(4))`)
	client, err := ndb.Connect(t.Context(), ndb.Config{Connectstring: cluster.Connectstring()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	table, err := client.Table(t.Context(), "d", "t")
	if err != nil {
		t.Fatal(err)
	}
	return client, table
}

func TestColumn_Compare_OfStoredValues(t *testing.T) {
	_, table := comparedTable(t)
	for name, inOrder := range map[string][]any{
		"id":      {-5, 0, 300},
		"general": {nil, "", "a", "B", "ø"},
		"wide":    {nil, "B", "a", "ø", "😀"},
		"latin":   {nil, "A", "z", "å"},
		"uca":     {nil, "", "a", "B"},
		"day":     {nil, ndb.Date{}, ndb.StoredDate{Year: 2020}, ndb.StoredDate{Year: 2020, Day: 5}, ndb.Date{Year: 2020, Month: 1, Day: 1}},
		"raw":     {nil, "", "\x00", "A", "a"},
	} {
		c := columnOf(t, table, name)
		for i := range inOrder {
			for j := range inOrder {
				a, errA := c.Stored(inOrder[i])
				b, errB := c.Stored(inOrder[j])
				if errA != nil || errB != nil {
					t.Fatal(errA, errB)
				}
				got, err := c.Compare(a, b)
				if err != nil || (got < 0) != (i < j) || (got > 0) != (i > j) {
					t.Errorf("%s: %v with %v: got %d, error %v", name, inOrder[i], inOrder[j], got, err)
				}
			}
		}
	}
	for name, value := range map[string]any{"uca": "é", "bits": 1} {
		c := columnOf(t, table, name)
		stored, err := c.Stored(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compare(stored, stored); !errors.Is(err, ndb.ErrUnknownOrder) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestColumn_HasKnownOrder(t *testing.T) {
	_, table := comparedTable(t)
	for name, want := range map[string]bool{
		"id": true, "general": true, "wide": true, "latin": true, "uca": false, "day": true, "bits": false, "raw": true,
	} {
		if got := columnOf(t, table, name).HasKnownOrder(); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestColumn_Stored_IsWhatARowHas(t *testing.T) {
	client, table := comparedTable(t)
	want := map[string]any{"general": "", "wide": "😀", "day": ndb.Date{Year: 2020, Month: 2, Day: 3}, "raw": nil}
	v := table.NewValues().Int64(columnOf(t, table, "id"), 7)
	for name, value := range want {
		v.Any(columnOf(t, table, name), value)
	}
	if _, err := client.Insert(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		c := columnOf(t, table, name)
		projection, err := table.Select(name)
		if err != nil {
			t.Fatal(err)
		}
		var row ndb.Row
		if err := client.Read(t.Context(), table.NewValues().Int64(columnOf(t, table, "id"), 7), projection, &row); err != nil {
			t.Fatal(err)
		}
		got, err := c.Stored(value)
		read, readErr := row.Bytes(0)
		if err != nil || readErr != nil || !slices.Equal(got, read) || (got == nil) != (read == nil) {
			t.Errorf("%s: got % x (%v), want % x (%v)", name, got, err, read, readErr)
		}
	}
	for name, bad := range map[string]struct {
		value  any
		reason error
	}{"general": {"12345", ndb.ErrTooLong}, "latin": {"東", ndb.ErrCharset}, "day": {ndb.Date{Year: 2020, Month: 2, Day: 30}, ndb.ErrRange}, "id": {nil, ndb.ErrNull}} {
		if _, err := columnOf(t, table, name).Stored(bad.value); !errors.Is(err, bad.reason) {
			t.Errorf("%s: got error %v, want %v", name, err, bad.reason)
		}
	}
}

func TestColumn_PrefixBounds_HoldAllThatBeginsSo(t *testing.T) {
	_, table := comparedTable(t)
	for name, texts := range map[string]struct{ inside, outside []string }{
		"general": {[]string{"os", "OS", "ós", "os\t", "os\x00\x00", "osz", "os￿￿", "os  "}, []string{"o", "or", "ot", "or￿"}},
		"wide":    {[]string{"os", "os\x00", "os\U0010ffff\U0010ffff"}, []string{"Os", "o", "ot", "or\U0010ffff"}},
		"latin":   {[]string{"os", "OS\x01", "osÿÿ"}, []string{"o", "ot"}},
	} {
		c := columnOf(t, table, name)
		low, high, ok := c.PrefixBounds("os")
		if !ok {
			t.Fatalf("%s: no bounds", name)
		}
		isInside := func(text string) bool {
			below, err := c.Compare(stored(t, c, low), stored(t, c, text))
			above, err2 := c.Compare(stored(t, c, text), stored(t, c, high))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			return below <= 0 && above <= 0
		}
		for _, text := range texts.inside {
			if !isInside(text) {
				t.Errorf("%s: %q is not from %q to %q", name, text, low, high)
			}
		}
		for _, text := range texts.outside {
			if isInside(text) {
				t.Errorf("%s: %q is from %q to %q", name, text, low, high)
			}
		}
	}
	for name, prefix := range map[string]string{"uca": "a", "general": "12345", "day": "2"} {
		if low, high, ok := columnOf(t, table, name).PrefixBounds(prefix); ok {
			t.Errorf("%s: got bounds %q and %q", name, low, high)
		}
	}
}

func stored(t *testing.T, c *ndb.Column, value any) []byte {
	t.Helper()
	b, err := c.Stored(value)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
