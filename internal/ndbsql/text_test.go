package ndbsql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/ndb"
)

// orderedTexts are collations whose order this client knows for all text, with
// a source of characters.
var orderedTexts = []struct {
	charset, collation string
	last               rune
}{
	{"latin1", "latin1_swedish_ci", 0xff},
	{"utf8mb3", "utf8mb3_general_ci", 0xffff},
	{"utf8mb4", "utf8mb4_general_ci", utf8.MaxRune},
	{"utf8mb4", "utf8mb4_bin", utf8.MaxRune},
}

func textTable(t *testing.T, b *bed, charset, collation string) *ndb.Table {
	t.Helper()
	return b.create(t, "texts_"+collation, fmt.Sprintf("id INT NOT NULL PRIMARY KEY, s VARCHAR(24) CHARACTER SET %s COLLATE %s NULL, INDEX x_s (s)", charset, collation))
}

// insertTexts inserts them in the character set of the table, with their place
// as id.
func (b *bed) insertTexts(t *testing.T, table *ndb.Table, texts []string) {
	t.Helper()
	const atOnce = 2000
	for start := 0; start < len(texts); start += atOnce {
		var rows strings.Builder
		for i := start; i < min(start+atOnce, len(texts)); i++ {
			fmt.Fprintf(&rows, ",(%d,_utf8mb4 X'%X')", i, texts[i])
		}
		b.exec(t, "INSERT INTO "+table.Name()+" VALUES "+rows.String()[1:])
	}
}

func (b *bed) textsInOrder(t *testing.T, name string, table *ndb.Table) {
	t.Helper()
	ranks := b.ranksOf(t, table.Name(), "s")
	for _, order := range orders {
		got := b.scan(t, ndb.Scan{
			Table: table, Columns: selectColumns(t, table, "id"), Index: index(t, table, "x_s"), Order: order,
		})
		inOrder(t, name, got, ranks, order == ndb.Descending)
		if len(got) != len(ranks) {
			t.Errorf("%s: got %d rows, want %d", name, len(got), len(ranks))
		}
	}
}

// Each character alone. Beyond the first plane some have to do: there all weigh
// the same.
func TestScan_EveryCharacter_InOrder(t *testing.T) {
	b := newBed(t)
	for _, c := range orderedTexts {
		table := textTable(t, b, c.charset, c.collation)
		var texts []string
		for r := rune(0); r <= c.last; r++ {
			if r > 0xffff {
				r += 0x3fff
			}
			if utf8.ValidRune(r) && (c.charset != "latin1" || r < 0x80 || r >= 0xa0) { // those in between are others there
				texts = append(texts, string(r))
			}
		}
		b.insertTexts(t, table, texts)
		b.textsInOrder(t, c.collation, table)
	}
}

// randomText is made of few characters and those that equal them, of others, and
// of spaces that count or do not.
func randomText(rnd *rand.Rand, last rune) string {
	const favourites = "aAáÀbBßsS ÆæøØ_-0"
	var text []rune
	for range rnd.IntN(8) {
		r := []rune(favourites)[rnd.IntN(utf8.RuneCountInString(favourites))]
		if rnd.IntN(4) == 0 {
			r = rnd.Int32N(min(last, []rune{0x7f, 0x24f, 0x3000, utf8.MaxRune}[rnd.IntN(4)]) + 1)
		}
		if utf8.ValidRune(r) && (last > 0xff || r < 0x80 || r >= 0xa0) {
			text = append(text, r)
		}
	}
	return string(text) + strings.Repeat(" ", rnd.IntN(3))
}

func TestScan_RandomTexts_InOrder(t *testing.T) {
	b := newBed(t)
	rnd := seeded(t)
	for _, c := range orderedTexts {
		table := textTable(t, b, c.charset, c.collation)
		texts := make([]string, 4000)
		for i := range texts {
			texts[i] = randomText(rnd, c.last)
		}
		b.insertTexts(t, table, texts)
		b.textsInOrder(t, c.collation, table)
	}
}
