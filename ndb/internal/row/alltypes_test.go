package row

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// serverRow is one row of a table with columns of all types that a mysqld of
// 9.7.2 made and filled: what a data node sent for it, and what SELECT showed
// (ENUM, SET and BIT as numbers, TIMESTAMP in UTC). NULL is nil.
type serverRow struct {
	ReadPacked, ReadAttributes string
	Select                     map[string]*string
}

func readServerTable(t *testing.T) (*dictinfo.Table, []serverRow) {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join("testdata", "alltypes-table.hex"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(stream)), ""))
	if err != nil {
		t.Fatal(err)
	}
	table, err := dictinfo.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "alltypes-rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []serverRow
	if err := json.Unmarshal(text, &rows); err != nil || len(rows) == 0 {
		t.Fatal(err)
	}
	return table, rows
}

func TestServerTable_ReadsWhatSELECTShows(t *testing.T) {
	table, rows := readServerTable(t)
	var columns []*dictinfo.Column
	for i := range table.Columns {
		if Supported(&table.Columns[i]) == nil {
			columns = append(columns, &table.Columns[i])
		}
	}
	if got, want := len(columns), len(table.Columns)-2; got != want { // TEXT and JSON
		t.Errorf("got %d supported columns, want %d", got, want)
	}
	p, err := NewProjection(columns)
	if err != nil {
		t.Fatal(err)
	}
	for n, r := range rows {
		for _, form := range []string{r.ReadPacked, r.ReadAttributes} {
			src, err := hex.DecodeString(form)
			if err != nil {
				t.Fatal(err)
			}
			spans := make([]Span, p.Len())
			if rest, err := p.Decode(src, spans); err != nil || len(rest) != 0 {
				t.Fatalf("row %d: %v, %d bytes left", n, err, len(rest))
			}
			for i, c := range columns {
				want := r.Select[c.Name]
				if spans[i].Null != (want == nil) {
					t.Errorf("row %d: %s: NULL %v", n, c.Name, spans[i].Null)
				}
				if want == nil || c.Type == dictinfo.TypeFloat || c.Type == dictinfo.TypeDouble {
					continue // the server prints exponents otherwise
				}
				// JSON cannot hold the bytes of VARBINARY.
				if got, err := String(c, src, spans[i]); err != nil || strings.ToValidUTF8(got, "\ufffd") != *want {
					t.Errorf("row %d: %s: got %q, %v, want %q", n, c.Name, got, err, *want)
				}
				checkWritesTheSame(t, c, src, spans[i])
			}
		}
	}
}

// checkWritesTheSame reads a value and writes it again.
func checkWritesTheSame(t *testing.T, c *dictinfo.Column, src []byte, s Span) {
	t.Helper()
	v, err := Value(c, src, s)
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	b, err := AppendValue(nil, FormBare, c, v)
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	got := Span{Off: uint32(c.LengthBytes()), Len: uint32(len(b) - c.LengthBytes())}
	order, ok := CompareSpans(c, b, got, src, s)
	if c.Type != dictinfo.TypeBit && string(got.Bytes(b)) != string(s.Bytes(src)) || ok && order != 0 {
		t.Errorf("%s: got %x, want %x", c.Name, got.Bytes(b), s.Bytes(src))
	}
}
