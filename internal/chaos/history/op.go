package history

import (
	"fmt"
	"strings"
	"time"
)

// Row is what one row holds, as far as the clients write it. The zero value is a
// row that is not there. An empty text is NULL: no client writes an empty one.
type Row struct {
	Present           bool
	First, Last, City string
	Department        int32
}

func (r Row) String() string {
	if !r.Present {
		return "absent"
	}
	return fmt.Sprintf("{%s %s %s %d}", orNull(r.First), orNull(r.Last), orNull(r.City), r.Department)
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}

// Columns is a set of columns, of a patch those that it sets.
type Columns uint8

// The columns.
const (
	First Columns = 1 << iota
	Last
	City
	Department

	allColumns = First | Last | City | Department
)

// Merged is the row with some columns of another one.
func (r Row) Merged(from Row, columns Columns) Row {
	if columns&First != 0 {
		r.First = from.First
	}
	if columns&Last != 0 {
		r.Last = from.Last
	}
	if columns&City != 0 {
		r.City = from.City
	}
	if columns&Department != 0 {
		r.Department = from.Department
	}
	return r
}

// Kind is what an operation does.
type Kind uint8

// The kinds.
const (
	Get Kind = iota
	Create
	Put
	Patch
	Delete
)

func (k Kind) String() string { return [...]string{"get", "create", "put", "patch", "delete"}[k] }

// Outcome is what the client was told.
type Outcome uint8

// The outcomes. All but Unknown tell something of the row at one moment.
const (
	Done     Outcome = iota // a get, patch or delete that found the row
	Created                 // a create, or a put that found no row
	Replaced                // a put that found one
	NotFound
	Exists
	Mismatch // the precondition did not hold
	Unknown  // only of writes
)

func (o Outcome) String() string {
	return [...]string{"done", "created", "replaced", "not found", "exists", "mismatch", "unknown"}[o]
}

// Op is one operation on a row and what became of it.
type Op struct {
	Client int
	Road   string
	Kind   Kind

	Value   Row     // what a create or put writes, and the new values of a patch
	Columns Columns // those that a patch sets
	Match   *Row    // If-Match: the row that its client had seen under that ETag; nil: none
	Absent  bool    // If-None-Match: *, of a put

	Call, Return time.Duration // since the run began; Return counts for nothing where the outcome is unknown

	Outcome Outcome
	Saw     *Row // the row in the answer; nil: it had none

	// Settled marks a get after everything has come to rest: no commit is under
	// way any more.
	Settled bool
}

func (o *Op) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s", o.Kind, o.Road)
	switch o.Kind {
	case Create, Put:
		fmt.Fprintf(&b, " %v", o.Value)
	case Patch:
		fmt.Fprintf(&b, " %s", o.patchText())
	}
	if o.Match != nil {
		fmt.Fprintf(&b, " if it is %v", *o.Match)
	}
	if o.Absent {
		b.WriteString(" if absent")
	}
	fmt.Fprintf(&b, ": %v", o.Outcome)
	if o.Saw != nil {
		fmt.Fprintf(&b, " %v", *o.Saw)
	}
	return b.String()
}

func (o *Op) patchText() string {
	var set []string
	for _, c := range []struct {
		column Columns
		text   string
	}{
		{First, "first=" + orNull(o.Value.First)},
		{Last, "last=" + orNull(o.Value.Last)},
		{City, "city=" + orNull(o.Value.City)},
		{Department, fmt.Sprintf("department=%d", o.Value.Department)},
	} {
		if o.Columns&c.column != 0 {
			set = append(set, c.text)
		}
	}
	return strings.Join(set, ",")
}

// apply is what the operation does to a row, and what its client hears then.
func (o *Op) apply(row Row) (Row, Outcome) {
	switch {
	case o.Kind == Create && row.Present:
		return row, Exists
	case o.Kind != Create && o.Kind != Put && !row.Present:
		return row, NotFound // whatever the precondition
	case o.Match != nil && *o.Match != row, o.Absent && row.Present:
		return row, Mismatch
	}
	switch o.Kind {
	case Get:
		return row, Done
	case Create:
		return o.Value, Created
	case Put:
		if row.Present {
			return o.Value, Replaced
		}
		return o.Value, Created
	case Patch:
		return row.Merged(o.Value, o.Columns), Done
	case Delete:
		return Row{}, Done
	default:
		panic(fmt.Sprintf("history: kind %d", o.Kind))
	}
}

// isWrite tells whether the operation may have changed the row.
func (o *Op) isWrite() bool {
	switch o.Outcome {
	case NotFound, Exists, Mismatch:
		return false
	default:
		return o.Kind != Get
	}
}
