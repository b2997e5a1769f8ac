package parity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/models"
)

// statement is what other programs do by SQL, the same on both twins.
type statement struct {
	text string
	args []any
}

// do implements action.
func (st *statement) do(ctx context.Context, s *side, _ *memory) outcome {
	word, _, _ := strings.Cut(st.text, " ")
	result, err := s.others.ExecContext(ctx, st.text, st.args...)
	var refused *mysql.MySQLError
	switch {
	case errors.As(err, &refused):
		return outcome{same: fmt.Sprintf("error %d", refused.Number), name: word + " refused", cause: err.Error()}
	case err != nil:
		return outcome{name: word + " failed", wrong: err.Error()}
	}
	n, err := result.RowsAffected()
	if err != nil {
		return outcome{name: word + " failed", wrong: err.Error()}
	}
	return outcome{same: fmt.Sprintf("%d rows affected", n), name: word}
}

// smaller implements action.
func (st *statement) smaller() []action {
	var all []action
	for i, arg := range st.args {
		if _, isID := arg.(int64); isID || arg == nil {
			continue
		}
		less := *st
		less.args = slices.Clone(st.args)
		less.args[i] = nil
		all = append(all, &less)
	}
	return all
}

// String implements action.
func (st *statement) String() string {
	args := make([]string, len(st.args))
	for i, arg := range st.args {
		args[i] = asASCII(asJSON(arg))
	}
	return fmt.Sprintf("others: %s with (%s)", st.text, strings.Join(args, ", "))
}

// insertion puts many rows into both tables at once, as other programs do.
type insertion struct {
	rows []models.Employee
}

// do implements action.
func (in *insertion) do(ctx context.Context, s *side, m *memory) outcome {
	const atOnce = 250
	all := outcome{name: "INSERT of many"}
	for rows := range slices.Chunk(in.rows, atOnce) {
		st := statement{text: "INSERT INTO employee (id, first, last, municipality, started, ended, department) VALUES "}
		st.text += strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?), ", len(rows)), ", ")
		for i := range rows {
			for _, p := range models.EmployeeProperties() {
				st.args = append(st.args, p.Value(&rows[i]))
			}
		}
		one := st.do(ctx, s, m)
		all.same += one.same
		all.wrong = cmp.Or(all.wrong, one.wrong, one.cause) // without rows, there is little to compare
	}
	return all
}

// smaller implements action.
func (in *insertion) smaller() []action {
	half := len(in.rows) / 2
	if half == 0 {
		return nil
	}
	return []action{&insertion{in.rows[:half]}, &insertion{in.rows[half:]}}
}

// String implements action.
func (in *insertion) String() string {
	const shown = 8
	if len(in.rows) <= shown {
		return "others: INSERT of " + asASCII(asJSON(in.rows))
	}
	return fmt.Sprintf("others: INSERT of %d rows, the first is %s", len(in.rows), asASCII(asJSON(in.rows[0])))
}

// creation is a POST without id. The row gets another id on each twin, so that
// it is read and deleted again at once; which id it is does not count.
type creation struct {
	post *request
}

// do implements action.
func (c *creation) do(ctx context.Context, s *side, m *memory) outcome {
	created := c.post.do(ctx, s, m)
	if created.shown == nil {
		return created
	}
	created.name += " with an assigned id"
	_, after, _ := strings.Cut(created.same, "\nLocation: ")
	path, _, _ := strings.Cut(after, "\n")
	_, id, ok := strings.Cut(path, "/v1/employees/")
	if !ok {
		created.wrong = "no Location that names the row"
		return created
	}
	if !created.replayed { // else the row is deleted
		c.readAndDelete(ctx, s, m, path, &created)
	}
	created.same = strings.ReplaceAll(created.same, id, "{id}")
	created.same = strings.ReplaceAll(created.same, created.shown.etag, "{etag}")
	created.shown = nil
	return created
}

func (c *creation) readAndDelete(ctx context.Context, s *side, m *memory, path string, created *outcome) {
	for _, road := range []string{s.road, otherRoad(s.road)} {
		reading := *s
		reading.road = road
		now := (&request{method: http.MethodGet, path: path}).do(ctx, &reading, m)
		if now.shown == nil || !created.shown.isShownBy(now.shown) {
			created.wrong = fmt.Sprintf("a GET by %s shows %s", road, now)
		}
	}
	deleting := *s
	deleting.road = otherRoad(s.road)
	deleted := (&request{method: http.MethodDelete, path: path}).do(ctx, &deleting, m)
	created.same += "\nthen DELETE: " + deleted.same
}

// smaller implements action.
func (c *creation) smaller() []action {
	var all []action
	for _, less := range c.post.smaller() {
		all = append(all, &creation{less.(*request)})
	}
	return all
}

// String implements action.
func (c *creation) String() string { return c.post.String() + ", then GET and DELETE" }
