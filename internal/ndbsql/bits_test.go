package ndbsql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// bitWidths are the sizes of BIT columns: within a word, a whole one, beyond.
var bitWidths = []int{1, 5, 8, 9, 16, 17, 31, 32, 33, 40, 63, 64}

// randomBits draws numbers that differ in few bits, and the extremes.
func randomBits(rnd *rand.Rand, width int) uint64 {
	most := ^uint64(0) >> (64 - width)
	switch rnd.IntN(4) {
	case 0:
		return most
	case 1:
		return 1 << rnd.IntN(width)
	case 2:
		return rnd.Uint64() & most & 0x0101010101010101
	default:
		return rnd.Uint64() & most
	}
}

func TestScan_FiltersOfBits_GiveWhatWhereGives(t *testing.T) {
	b := newBed(t)
	rnd := seeded(t)
	definitions := []string{"id INT NOT NULL PRIMARY KEY"}
	for _, width := range bitWidths {
		definitions = append(definitions, fmt.Sprintf("b%d BIT(%d)", width, width))
	}
	table := b.create(t, "scan_bits", strings.Join(definitions, ", "))
	var rows []string
	for id := range 200 {
		row := fmt.Sprintf("(%d", id)
		for _, width := range bitWidths {
			if rnd.IntN(6) == 0 {
				row += ",NULL"
				continue
			}
			row += fmt.Sprint(",", randomBits(rnd, width))
		}
		rows = append(rows, row+")")
	}
	b.exec(t, "INSERT INTO scan_bits VALUES "+strings.Join(rows, ","))
	operators := []struct {
		text string
		make func(*ndb.Column, any) ndb.Filter
	}{{"=", ndb.Eq}, {"<>", ndb.Ne}, {"<", ndb.Lt}, {"<=", ndb.Le}, {">", ndb.Gt}, {">=", ndb.Ge}}
	id := selectColumns(t, table, "id")
	for _, width := range bitWidths {
		name := fmt.Sprint("b", width)
		for range 12 {
			value := randomBits(rnd, width)
			for i, op := range operators {
				filter := op.make(column(t, table, name), value)
				got, err := b.tryScan(t, ndb.Scan{Table: table, Columns: id, Filter: filter})
				if i > 1 && width > 32 {
					if err == nil {
						t.Errorf("%s %s: got no error, want one", name, op.text)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				text := fmt.Sprint(name, op.text, value)
				same(t, text, sorted(got), sorted(b.query(t, "SELECT id FROM scan_bits WHERE "+text)))
				negated := b.scan(t, ndb.Scan{Table: table, Columns: id, Filter: ndb.Not(filter)})
				same(t, "NOT "+text, sorted(negated), sorted(b.query(t, "SELECT id FROM scan_bits WHERE NOT ("+text+")")))
			}
		}
	}
	b.awaitIdle(t)
}
