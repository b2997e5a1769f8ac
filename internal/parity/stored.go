package parity

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// everything reads all rows.
type everything struct{}

// do implements action.
func (everything) do(ctx context.Context, s *side, m *memory) outcome {
	a := (&request{method: http.MethodGet, path: exportPath}).send(ctx, s, m)
	o := a.outcome(s, "all rows")
	o.rows = map[int64]string{}
	for line := range strings.Lines(a.body) {
		row := strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(row, `{"complete":`) {
			o.rows[idOf(row)] = row
		}
	}
	return o
}

// idOf is the ID of a row in JSON; 0 where it has none.
func idOf(row string) int64 {
	var e struct{ ID int64 }
	if json.Unmarshal([]byte(row), &e) != nil {
		return 0
	}
	return e.ID
}

// smaller implements action.
func (everything) smaller() []action { return nil }

// String implements action.
func (everything) String() string { return "GET " + exportPath }

// lookAtAll has all sides show all rows after a step, and those single rows whose
// ETags later steps may want.
func (b *bed) lookAtAll(ctx context.Context, s step, done outcome, m *memory) *mismatch {
	all, found := b.compare(ctx, s, "then all rows", everything{}, b.all(), m)
	if found != nil {
		return found
	}
	for id, row := range done.rows {
		if !done.replayed && all[0].rows[id] != row {
			return &mismatch{
				step: s, about: "answered otherwise than a read of all rows after it",
				sides: []*side{b.of(s)[0], b.all()[0]}, outcomes: []outcome{done, all[0]},
			}
		}
	}
	for _, id := range s.ids {
		now, found := b.compare(ctx, s, "then GET", get(id), b.all(), m)
		if found != nil {
			return found
		}
		if now[0].shown != nil {
			m.saw(id, now[0].shown.etag)
		}
	}
	return nil
}
