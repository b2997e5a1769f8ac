package keyhash

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// vector is one entry of testdata/hash-vectors.json: keys whose fragment a
// cluster of 9.7.2 has confirmed.
type vector struct {
	Table, Key, KeyInfo, HashInput string
	Hash                           [4]string
	Bucket                         uint32
}

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "hash-vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func key(name string, t dictinfo.Type, bitsLog2 uint8, elements int) dictinfo.Column {
	return dictinfo.Column{Name: name, Type: t, ElementBitsLog2: bitsLog2, Elements: uint32(elements), Key: true, DistributionKey: true}
}

func varcharKey(name string, sizeBytes int, charset uint16) dictinfo.Column {
	c := key(name, dictinfo.TypeVarchar, 3, sizeBytes+1)
	c.ArrayType, c.Length, c.Charset = dictinfo.ArrayShortVar, uint32(sizeBytes), charset
	return c
}

func tableOf(columns ...dictinfo.Column) *dictinfo.Table {
	for i := range columns {
		columns[i].ID = uint16(i)
	}
	return &dictinfo.Table{Name: "d/def/t", Columns: columns}
}

func TestSum_Golden(t *testing.T) {
	for _, v := range vectors(t) {
		var got [4]string
		for i, w := range Sum(bytesOf(t, v.HashInput)) {
			got[i] = fmt.Sprintf("%08x", w)
		}
		if got != v.Hash {
			t.Errorf("%s: got %v, want %v", v.Key, got, v.Hash)
		}
	}
}

func TestHasher_Golden(t *testing.T) {
	const buckets = 3840
	number := New(tableOf(key("id", dictinfo.TypeBigint, 6, 1)))
	mixed := New(tableOf(varcharKey("k", 192, 33), key("n", dictinfo.TypeInt, 5, 1)))
	for _, v := range vectors(t) {
		h := mixed
		if v.Table == "employee" {
			h = number
		}
		got, ok := h.Hash(bytesOf(t, v.KeyInfo))
		if !ok || got%buckets != v.Bucket {
			t.Errorf("%s: got %d, %v, want %d", v.Key, got%buckets, ok, v.Bucket)
		}
	}
}

// fragmentsOf is one table of testdata/fragments.json, made by a mysqld of 9.7.2
// as (k <Type>, n INT, PRIMARY KEY (k, n)), with the fragments that two data
// nodes put its keys in.
type fragmentsOf struct {
	Type   string
	Column dictinfo.Column
	Keys   []struct {
		KeyInfo  string
		Fragment uint32
	}
}

func TestHasher_FindsTheFragmentsOfACluster(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "fragments.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tables []fragmentsOf
	if err := json.Unmarshal(text, &tables); err != nil || len(tables) == 0 {
		t.Fatal(err)
	}
	known := 0
	for _, table := range tables {
		h := New(tableOf(table.Column, key("n", dictinfo.TypeInt, 5, 1)))
		for _, k := range table.Keys {
			hash, ok := h.Hash(bytesOf(t, k.KeyInfo))
			if !ok {
				if collation, _ := row.CollationByID(table.Column.Charset); collation.PadSpace {
					t.Errorf("%s: %s is not known", table.Type, k.KeyInfo)
				}
				continue
			}
			known++
			// The map of 3840 buckets gives them to two fragments in turn.
			if got := hash % 3840 % 2; got != k.Fragment {
				t.Errorf("%s: %s: got fragment %d, want %d", table.Type, k.KeyInfo, got, k.Fragment)
			}
		}
	}
	if known < 500 {
		t.Errorf("got %d known keys", known)
	}
}

// A distribution key that is a part of the primary key hashes as a key of its
// own.
func TestHasher_TakesTheDistributionKeyOnly(t *testing.T) {
	first := key("a", dictinfo.TypeVarbinary, 3, 10)
	first.ArrayType, first.DistributionKey = dictinfo.ArrayShortVar, false
	table := tableOf(first, key("b", dictinfo.TypeBigint, 6, 1))
	got, ok := New(table).Hash([]byte("\x05hello\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"))
	want := Sum([]byte{1, 0, 0, 0, 0, 0, 0, 0})[fragmentWord]
	if !ok || got != want {
		t.Errorf("got %#x, %v, want %#x", got, ok, want)
	}
}

func TestHasher_DoesNotKnow(t *testing.T) {
	unflagged := key("a", dictinfo.TypeBigint, 6, 1)
	unflagged.DistributionKey = false
	for name, test := range map[string]struct {
		table   *dictinfo.Table
		keyInfo string
	}{
		"accents of Unicode 9":  {tableOf(varcharKey("k", 192, 255)), "\x02\xc3\xa9\x00"},
		"no character of three": {tableOf(varcharKey("k", 192, 33)), "\x04\xf0\x9f\x98\x80\x00\x00\x00"},
		"no UTF-8":              {tableOf(varcharKey("k", 192, 45)), "\x01\xff\x00\x00"},
		"NO PAD":                {tableOf(varcharKey("k", 192, 255)), "\x01a\x00\x00"},
		"unknown collation":     {tableOf(varcharKey("k", 192, 9999)), "\x01a\x00\x00"},
		"no distribution key":   {tableOf(unflagged), "\x01\x00\x00\x00\x00\x00\x00\x00"},
		"short key":             {tableOf(varcharKey("k", 192, 33)), "\x05a\x00\x00"},
		"long key":              {tableOf(varcharKey("k", 192, 33)), "\x01a\x00\x00\x00\x00\x00\x00"},
		"empty key":             {tableOf(varcharKey("k", 192, 33)), ""},
		"key of an empty list":  {tableOf(), ""},
	} {
		if got, ok := New(test.table).Hash([]byte(test.keyInfo)); ok {
			t.Errorf("%s: got %#x", name, got)
		}
	}
}

// Texts that a collation holds for equal must go to the same fragment.
func TestHasher_EqualTextsHashTheSame(t *testing.T) {
	for _, charset := range []uint16{8, 11, 33} {
		h := New(tableOf(varcharKey("k", 60, charset)))
		a, okA := h.Hash([]byte("\x05Hello\x00\x00"))
		b, okB := h.Hash([]byte("\x07hELLO  "))
		c, okC := h.Hash([]byte("\x05Jello\x00\x00"))
		if !okA || !okB || !okC || a != b || a == c {
			t.Errorf("%d: got %#x, %#x, %#x", charset, a, b, c)
		}
	}
}

func TestSum_AllLengthsDiffer(t *testing.T) {
	seen := map[[4]uint32]int{}
	for n := range 200 {
		sum := Sum(make([]byte, n*4))
		if other, ok := seen[sum]; ok {
			t.Errorf("%d and %d words have the same hash", n, other)
		}
		seen[sum] = n
	}
	// Padding to words is part of the input's form.
	if Sum([]byte{1}) != Sum([]byte{1, 0, 0, 0}) {
		t.Error("the last word is not padded with zeros")
	}
}

func TestHash_DoesNotAllocate(t *testing.T) {
	number := New(tableOf(key("id", dictinfo.TypeBigint, 6, 1)))
	text := New(tableOf(varcharKey("k", 192, 33)))
	id := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	name := []byte("\x0bhello world")
	if got := testing.AllocsPerRun(100, func() {
		number.Hash(id)
		text.Hash(name)
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func BenchmarkHash(b *testing.B) {
	for _, bench := range []struct {
		name    string
		table   *dictinfo.Table
		keyInfo string
	}{
		{"bigint", tableOf(key("id", dictinfo.TypeBigint, 6, 1)), strings.Repeat("\x01", 8)},
		{"varchar", tableOf(varcharKey("k", 192, 33)), "\x0bhello world"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			h := New(bench.table)
			src := []byte(bench.keyInfo)
			b.ReportAllocs()
			for b.Loop() {
				h.Hash(src)
			}
		})
	}
}

func FuzzHash(f *testing.F) {
	f.Add([]byte("\x05hello\x00\x00\x01\x00\x00\x00"))
	h := New(tableOf(varcharKey("k", 192, 33), key("n", dictinfo.TypeInt, 5, 1)))
	f.Fuzz(func(t *testing.T, src []byte) {
		first, ok := h.Hash(src)
		if second, ok2 := h.Hash(src); first != second || ok != ok2 {
			t.Errorf("got %#x, %v, then %#x, %v", first, ok, second, ok2)
		}
	})
}
