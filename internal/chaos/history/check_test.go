package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const checkLimit = 10 * time.Second

func row(first string) Row { return Row{Present: true, First: first, Department: 1} }

func seen(first string) *Row {
	r := row(first)
	return &r
}

// at places an operation in time.
func at(call, ret time.Duration, o Op) *Op {
	o.Call, o.Return = call, ret
	return &o
}

func put(first string, outcome Outcome) Op { return Op{Kind: Put, Value: row(first), Outcome: outcome} }
func get(first string) Op                  { return Op{Kind: Get, Saw: seen(first)} }

var (
	absent  = Op{Kind: Get, Outcome: NotFound}
	deleted = Op{Kind: Delete}
)

func patch(first string, outcome Outcome, match *Row) Op {
	return Op{Kind: Patch, Columns: First, Value: Row{First: first}, Outcome: outcome, Match: match}
}

func settled(o Op) Op {
	o.Settled = true
	return o
}

func saw(o Op, r *Row) Op {
	o.Saw = r
	return o
}

// histories are made up. Times count as their order alone.
var histories = []struct {
	name           string
	ops            []*Op
	strict, either Verdict // with linearizable reads, and with those of either replica
}{
	{"nothing", nil, Right, Right},
	{"one after another", []*Op{
		at(0, 1, Op{Kind: Create, Value: row("a"), Outcome: Created}), at(2, 3, get("a")), at(4, 5, put("b", Replaced)), at(6, 7, get("b")),
		at(8, 9, patch("c", Done, seen("b"))), at(10, 11, get("c")), at(12, 13, deleted), at(14, 15, absent), at(16, 17, put("d", Created)),
	}, Right, Right},
	{"lost write", []*Op{at(0, 1, put("a", Created)), at(2, 3, put("b", Replaced)), at(4, 5, get("a"))}, Wrong, Wrong},
	{"lost create", []*Op{at(0, 1, put("a", Created)), at(4, 5, absent)}, Wrong, Wrong},
	{"lost patch under a later one", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, patch("b", Done, nil)),
		at(4, 5, saw(Op{Kind: Patch, Columns: City, Value: Row{City: "o"}}, &Row{Present: true, First: "a", City: "o", Department: 1})),
	}, Wrong, Wrong},
	{"resurrected row", []*Op{at(0, 1, put("a", Created)), at(2, 3, deleted), at(4, 5, get("a"))}, Wrong, Wrong},
	{"resurrected row, seen by a delete", []*Op{at(0, 1, put("a", Created)), at(2, 3, deleted), at(4, 5, deleted)}, Wrong, Wrong},
	{"stale read", []*Op{at(0, 1, put("a", Created)), at(2, 3, put("b", Replaced)), at(4, 5, get("b")), at(6, 7, get("a"))}, Wrong, Wrong},
	{"write that is done twice", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, put("b", Replaced)), at(4, 5, put("c", Replaced)), at(6, 7, get("c")), at(8, 9, get("b")),
	}, Wrong, Wrong},
	{"unknown write that is done twice", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, put("b", Unknown)), at(4, 5, get("b")), at(6, 7, put("c", Replaced)), at(8, 9, get("b")),
	}, Wrong, Wrong},
	{"row that two creates made", []*Op{
		at(0, 5, Op{Kind: Create, Value: row("a"), Outcome: Created}), at(1, 6, Op{Kind: Create, Value: row("b"), Outcome: Created}),
	}, Wrong, Wrong},
	{"two patches that both found the same row", []*Op{
		at(0, 1, put("a", Created)), at(2, 5, patch("b", Done, seen("a"))), at(3, 6, patch("c", Done, seen("a"))),
	}, Wrong, Wrong},
	{"one of two patches comes too late", []*Op{
		at(0, 1, put("a", Created)), at(2, 5, patch("b", Done, seen("a"))), at(3, 6, patch("c", Mismatch, seen("a"))), at(7, 8, get("b")),
	}, Right, Right},
	{"mismatch of the very row", []*Op{at(0, 1, put("a", Created)), at(2, 3, patch("b", Mismatch, seen("a")))}, Wrong, Wrong},
	{"create that finds a row nobody made", []*Op{at(0, 1, Op{Kind: Create, Value: row("a"), Outcome: Exists})}, Wrong, Wrong},
	{"value that nobody wrote", []*Op{at(0, 1, put("a", Created)), at(2, 3, get("x"))}, Wrong, Wrong},
	{"concurrent writes in either order", []*Op{at(0, 5, put("a", Created)), at(0, 5, put("b", Replaced)), at(6, 7, get("b"))}, Right, Right},
	{"concurrent writes, told apart", []*Op{at(0, 5, put("a", Created)), at(0, 5, put("b", Replaced)), at(6, 7, get("a"))}, Wrong, Wrong},

	{"unknown write that was never done", []*Op{at(0, 1, put("a", Created)), at(2, 3, put("b", Unknown)), at(4, 5, get("a"))}, Right, Right},
	{"unknown write that was done", []*Op{at(0, 1, put("a", Created)), at(2, 3, put("b", Unknown)), at(4, 5, get("b"))}, Right, Right},
	{"unknown write that is done much later", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, put("b", Unknown)), at(4, 5, put("c", Replaced)), at(6, 7, get("c")), at(8, 9, get("b")),
	}, Right, Right},
	{"unknown write before its call", []*Op{at(0, 1, put("a", Created)), at(2, 3, get("b")), at(4, 5, put("b", Unknown))}, Wrong, Wrong},
	{"unknown delete that was done", []*Op{at(0, 1, put("a", Created)), at(2, 3, Op{Kind: Delete, Outcome: Unknown}), at(4, 5, absent)}, Right, Right},
	{"unknown create, seen by a delete alone", []*Op{
		at(0, 1, Op{Kind: Create, Value: row("a"), Outcome: Unknown}), at(2, 3, deleted), at(4, 5, absent),
	}, Right, Right},
	{"unknown patch whose precondition never held", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, put("b", Replaced)), at(4, 5, patch("c", Unknown, seen("a"))), at(6, 7, get("c")),
	}, Wrong, Wrong},
	{"unknown write that comes and goes", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, put("b", Unknown)), at(4, 5, get("b")), at(6, 7, get("a")),
	}, Wrong, Right},
	{"unknown write that comes and goes for good", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, put("b", Unknown)), at(4, 5, get("b")), at(6, 7, settled(get("a"))),
	}, Wrong, Wrong},
	{"unknown write that comes and goes after a later one", []*Op{
		at(0, 1, put("a", Created)), at(2, 3, put("b", Unknown)), at(4, 5, get("b")), at(6, 7, patch("c", Done, nil)), at(8, 9, get("b")),
	}, Wrong, Wrong},
	{"old row while a write is under way", []*Op{
		at(0, 1, put("a", Created)), at(2, 9, put("b", Replaced)), at(3, 4, get("b")), at(5, 6, get("a")), at(10, 11, get("b")),
	}, Wrong, Right},
	{"old row after a 404, while the delete is under way", []*Op{
		at(0, 1, put("a", Created)), at(2, 9, deleted), at(3, 4, Op{Kind: Delete, Outcome: NotFound}), at(5, 6, get("a")), at(10, 11, absent),
	}, Wrong, Right},
	{"old row after a 404, when the delete is acknowledged", []*Op{
		at(0, 1, put("a", Created)), at(2, 4, deleted), at(3, 4, Op{Kind: Delete, Outcome: NotFound}), at(5, 6, get("a")),
	}, Wrong, Wrong},
	{"row before the old one while a write is under way", []*Op{
		at(0, 1, put("a", Created)), at(2, 9, put("b", Replaced)), at(2, 9, put("c", Replaced)), at(3, 4, get("b")), at(5, 6, get("c")), at(7, 8, get("a")),
	}, Wrong, Wrong},
	{"old row in the write's own answer", []*Op{at(0, 1, put("a", Created)), at(2, 9, saw(patch("b", Done, nil), seen("a")))}, Wrong, Wrong},
	{"precondition on the old row while a write is under way", []*Op{
		at(0, 1, put("a", Created)), at(2, 9, put("b", Replaced)), at(3, 4, get("b")), at(5, 6, patch("c", Done, seen("a"))),
	}, Wrong, Wrong},
}

func TestCheck(t *testing.T) {
	for _, test := range histories {
		t.Run(test.name, func(t *testing.T) {
			if got := Check(test.ops, Linearizable, checkLimit); got != test.strict {
				t.Errorf("linearizable reads: got %v, want %v", got, test.strict)
			}
			if got := Check(test.ops, OfEitherReplica, checkLimit); got != test.either {
				t.Errorf("reads of either replica: got %v, want %v", got, test.either)
			}
		})
	}
}

func TestCheck_TimeIsOver_NotDecided(t *testing.T) {
	// None of many concurrent writes explains the end, in any order.
	var ops []*Op
	for i := range 24 {
		name := fmt.Sprint("w", i)
		ops = append(ops, at(0, 100, patch(name, Done, nil)), at(300, 301, patch("no", Mismatch, seen(name))))
	}
	ops = append(ops, at(0, 1, put("a", Created)), at(200, 201, get("x")))
	if got := Check(ops, Linearizable, 50*time.Millisecond); got != Undecided {
		t.Errorf("got %v, want not decided", got)
	}
}

func TestShrink_KeepsWhatIsWrong(t *testing.T) {
	for _, test := range histories {
		if test.strict != Wrong {
			continue
		}
		// Right operations before, behind and in between are of no interest.
		padded := []*Op{at(0, 1, absent), at(2, 3, put("before", Created)), at(4, 5, get("before")), at(6, 7, deleted)}
		for _, o := range test.ops {
			later := *o
			later.Call, later.Return = o.Call+10, o.Return+10
			padded = append(padded, &later)
		}
		padded = append(padded, at(200, 201, get("after")))
		got := Shrink(padded, Linearizable, checkLimit)
		if Check(got, Linearizable, checkLimit) != Wrong {
			t.Errorf("%s: what is left is right: %v", test.name, got)
		}
		if slices.Contains(got, padded[len(padded)-1]) || slices.Contains(got, padded[0]) {
			t.Errorf("%s: got %v, with what nobody needs", test.name, got)
		}
	}
}

func TestDraw_WritesAPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "row.html")
	if err := Draw(histories[2].ops, Linearizable, checkLimit, path); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil || len(page) == 0 {
		t.Errorf("got %d bytes, %v, want a page", len(page), err)
	}
}
