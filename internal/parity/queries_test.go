package parity

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const (
	queryRows    = 20_000
	queryFilters = 200
	queryIDs     = 2500 // of each query that are compared
)

// Random filters and orders give the same IDs in the same order by both roads and
// in SQL that is written here, without any code of the gateway.
func TestRealCluster_RandomFilters_SameIDsAsPlainSQL(t *testing.T) {
	needCluster(t)
	twin := realTwins(t, &Tables()[0])[0]
	seed := Config{}.withFlags().Seed
	t.Logf("run again with -parity.seed=%d", seed)
	w := &writer{rand.New(rand.NewPCG(seed, 0))}
	w.insertRows(t, twin, queryRows)
	sides := newSides("only", twin)
	lists, rows := 0, 0
	for range queryFilters {
		filter, where := w.expression(3)
		order, orderBy := w.order()
		statement := fmt.Sprintf("SELECT id FROM employee WHERE %s ORDER BY %s", where, orderBy)
		want := selectIDs(t, twin, statement+fmt.Sprint(" LIMIT ", queryIDs))
		total := selectIDs(t, twin, "SELECT COUNT(*) FROM employee WHERE "+where)[0]
		for _, side := range sides {
			got, counted := w.list(t, side, filter, order)
			if !slices.Equal(got, want) || counted != total {
				t.Errorf("filter=%s\norder_by=%s\n%s\n%s: got %d of %d IDs, want %d of %d; the first that differ are %v",
					filter, order, statement, side.road, len(got), counted, len(want), total, firstDifference(got, want))
			}
		}
		lists++
		rows += len(want)
	}
	t.Logf("%d filters, %d IDs compared on each road", lists, rows)
}

func firstDifference(a, b []int64) string {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("at %d: %v, %v", i, a[i:min(i+3, len(a))], b[i:min(i+3, len(b))])
		}
	}
	return "none"
}

// list follows the pages of a list, each by another size.
func (w *writer) list(t *testing.T, s *side, filter, order string) (ids []int64, total int64) {
	t.Helper()
	token := ""
	for {
		size := min(pick(w.Rand, []int{1000, 999, 500, 1 + w.IntN(1000)}), queryIDs-len(ids))
		query := url.Values{
			"filter": {filter}, "order_by": {order}, "page_size": {fmt.Sprint(size)}, "fields": {"id"},
			"page_token": {token}, "count": {fmt.Sprint(token == "")},
		}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/employees?"+query.Encode(), nil)
		r.Header.Set("X-Backend", s.road)
		answer := httptest.NewRecorder()
		s.handler.ServeHTTP(answer, r)
		var page struct {
			Employees []struct{ ID int64 }
			Next      string `json:"next_page_token"`
			Total     int64
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil || answer.Code != 200 {
			t.Fatalf("filter=%s&order_by=%s by %s: got %d %s", filter, order, s.road, answer.Code, answer.Body)
		}
		for _, e := range page.Employees {
			ids = append(ids, e.ID)
		}
		if token == "" {
			total = page.Total
		}
		if token = page.Next; token == "" || len(ids) == queryIDs {
			return ids, total
		}
	}
}

func selectIDs(t *testing.T, twin Twin, statement string) []int64 {
	t.Helper()
	rows, err := twin.Others.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// writer writes each thing twice: as the gateway takes it, and in SQL.
type writer struct{ *rand.Rand }

var queryTexts = []string{"a", "A", "á", "Å", "b", "B", "ß", "s", "o", "Ø", "ø", " ", "  ", "%", "_", `\`, "*", "'", `"`, "\t", "1", "東"}

func (w *writer) text() string {
	var text strings.Builder
	for range w.IntN(4) {
		text.WriteString(pick(w.Rand, queryTexts))
	}
	return text.String()
}

func (w *writer) date() string {
	return fmt.Sprintf("20%02d-%02d-%02d", w.IntN(3), 1+w.IntN(12), 1+w.IntN(28))
}

// sqlText is a literal.
func sqlText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

// filterText is text in quotes, in which a star is one.
func filterText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `*`, `\*`).Replace(text) + `"`
}

// insertRows fills the table.
func (w *writer) insertRows(t testing.TB, twin Twin, n int) {
	t.Helper()
	const rowsOfStatement = 500
	nullable := func(literal string) string {
		if oneIn(w.Rand, 7) {
			return "NULL"
		}
		return literal
	}
	ids := w.Perm(2 * n)[:n]
	for chunk := range slices.Chunk(ids, rowsOfStatement) {
		var values []string
		for _, id := range chunk {
			city := pick(w.Rand, []string{"Oslo", "oslo ", "OSLO", "Bergen", "Bærum", "Å", "Tromsø", w.text()})
			values = append(values, fmt.Sprintf("(%d,%s,%s,%s,%s,%s,%d)", id+1, nullable(sqlText(w.text())), nullable(sqlText(w.text())),
				nullable(sqlText(city)), nullable(sqlText(w.date())), nullable(sqlText(w.date())), 1+w.IntN(20)))
		}
		exec(t, twin.Others, "INSERT INTO employee (id, first, last, municipality, started, ended, department) VALUES "+strings.Join(values, ","))
	}
}

// columns are the names of properties, and those of their columns.
var columns = [][2]string{
	{"id", "id"}, {"first", "first"}, {"last", "last"}, {"city", "municipality"}, {"started", "started"}, {"ended", "ended"}, {"department", "department"},
}

// value writes a value of a property.
func (w *writer) value(name string) (filter, literal string) {
	switch name {
	case "id":
		n := fmt.Sprint(w.IntN(2 * queryRows))
		return n, n
	case "department":
		n := fmt.Sprint(w.IntN(24) - 1)
		return n, n
	case "started", "ended":
		d := w.date()
		return `"` + d + `"`, sqlText(d)
	default:
		text := w.text()
		if name == "city" && oneIn(w.Rand, 2) {
			text = pick(w.Rand, []string{"Oslo", "bergen", "BAERUM", "a", "Tromso", "tromsø  "})
		}
		return filterText(text), sqlText(text)
	}
}

func isTextColumn(name string) bool { return slices.Contains(textProperties, name) }

// expression writes a filter of so many levels of groups.
func (w *writer) expression(levels int) (filter, where string) {
	if n := w.IntN(4); levels > 0 && n > 0 {
		a, sqlA := w.expression(levels - 1)
		b, sqlB := w.expression(levels - 1)
		switch n {
		case 1:
			return "(" + a + " AND " + b + ")", "(" + sqlA + " AND " + sqlB + ")"
		case 2:
			return "(" + a + " OR " + b + ")", "(" + sqlA + " OR " + sqlB + ")"
		default:
			return "NOT (" + a + ")", "NOT (" + sqlA + ")"
		}
	}
	c := pick(w.Rand, columns)
	name, column := c[0], c[1]
	value, literal := w.value(name)
	other, otherLiteral := w.value(name)
	switch n := w.IntN(12); {
	case n < 6:
		op := []string{"=", "!=", "<", "<=", ">", ">="}[n]
		return name + op + value, column + op + literal
	case n == 6:
		return name + " = null", column + " IS NULL"
	case n == 7:
		return name + ":*", column + " IS NOT NULL"
	case n == 8:
		return fmt.Sprintf("between(%s, %s, %s)", name, value, other), fmt.Sprintf("%s BETWEEN %s AND %s", column, literal, otherLiteral)
	case n == 9:
		return fmt.Sprintf("in(%s, %s, %s)", name, value, other), fmt.Sprintf("%s IN (%s, %s)", column, literal, otherLiteral)
	case !isTextColumn(name):
		return fmt.Sprintf("-in(%s, %s)", name, value), fmt.Sprintf("%s NOT IN (%s)", column, literal)
	case n == 10:
		return w.prefix(name, column)
	default:
		// Of the mysqld that this is compared with, the data nodes take the pattern
		// without characters for NULL.
		pattern := w.text() + pick(w.Rand, []string{"%", "_", "%a", `\%`, `\_%`})
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(pattern) + `"`
		return fmt.Sprintf("like(%s, %s)", name, quoted), fmt.Sprintf("%s LIKE %s", column, sqlText(pattern))
	}
}

// prefix writes a text with a star behind it, or before it.
func (w *writer) prefix(name, column string) (filter, where string) {
	text := w.text()
	quoted := filterText(text)
	pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
	if oneIn(w.Rand, 3) {
		return name + ` != "*` + quoted[1:], column + " NOT LIKE " + sqlText("%"+pattern)
	}
	return name + " = " + quoted[:len(quoted)-1] + `*"`, column + " LIKE " + sqlText(pattern+"%")
}

// order writes an order of up to three properties.
func (w *writer) order() (orderBy, sqlOrderBy string) {
	var names, terms []string
	shuffled := slices.Clone(columns)
	w.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, c := range shuffled[:w.IntN(4)] {
		direction := pick(w.Rand, []string{"", " desc"})
		names, terms = append(names, c[0]+direction), append(terms, c[1]+direction)
	}
	return strings.Join(names, ", "), strings.Join(append(terms, "id"), ", ")
}
