package history

import "time"

// name is a value of a column. No two writes write the same one, but NULL.
type name struct {
	column Columns
	text   string
	number int32
}

// namesIn tells until when answers and preconditions speak of values.
func namesIn(ops []*Op) map[name]time.Duration {
	names := map[name]time.Duration{}
	for _, o := range ops {
		until := o.Return
		if o.Outcome == Unknown {
			until = forever
		}
		for _, row := range []*Row{o.Saw, o.Match} {
			if row == nil {
				continue
			}
			for _, n := range []name{{First, row.First, 0}, {Last, row.Last, 0}, {City, row.City, 0}, {Department, "", row.Department}} {
				names[n] = max(names[n], until)
			}
		}
	}
	return names
}

// forgetting is the row without values of which nobody speaks any more: all such
// are as good as each other.
func (r Row) forgetting(names map[name]time.Duration, now time.Duration) Row {
	if !r.Present {
		return r
	}
	for _, c := range []struct {
		column Columns
		text   *string
	}{{First, &r.First}, {Last, &r.Last}, {City, &r.City}} {
		if *c.text != "" && names[name{c.column, *c.text, 0}] < now {
			*c.text = forgotten
		}
	}
	if names[name{Department, "", r.Department}] < now {
		r.Department = forgottenNumber
	}
	return r
}

// What no client writes.
const (
	forgotten       = "?"
	forgottenNumber = -1
)
