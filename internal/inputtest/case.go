// Package inputtest has the bad requests that every gateway must refuse, each with
// the problem that it gets, whatever road it takes. Tests of packages that have roads
// send them.
package inputtest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/ndbgate/ndbgate/models"
)

// Case is a bad request and its answer. It is for a gateway with the roads ndb and
// sql, in this order, of which sql is the default, behind a Gate, whose rows are
// those of Rows.
type Case struct {
	Name    string
	Request Request
	Status  int
	Code    string
	Where   string // the places and rules of the problem's errors, as in "/id min, /x unknown"
	Detail  string // a part of the answer; with 405 the header Allow
}

// Request is made by HTTP.
type Request struct {
	Method, Path, Body string
	Headers            []string
}

// Cases lists all of them. Their names are different.
func Cases() []Case {
	return slices.Concat(jsonCases(), ruleCases(), bodyCases(), pathCases(), headerCases(), preconditionCases(), listCases(), filterCases(), sizeCases(), accessCases())
}

// Rows are what the gateway has before each case, and behind it.
func Rows() []models.Employee {
	first, city, started := "Ada", "Oslo", models.Date{}
	if err := started.UnmarshalText([]byte("2020-01-02")); err != nil {
		panic(err)
	}
	e := models.NewEmployee()
	e.ID, e.First, e.City, e.Started = 1, &first, &city, &started
	return []models.Employee{e}
}

// HTTP makes the request for a road; an empty name chooses none, and neither does a
// case that is about roads. Headers are "Name: value" lines; "-" as the value removes a
// header, and "+" before the name adds one more. A body is JSON where nothing else is
// said. In each line the names of keys stand for the keys; where there is no line
// Authorization, All is sent.
func (q *Request) HTTP(road string, keys *Gate, aboutRoads bool) *http.Request {
	r := httptest.NewRequest(q.Method, q.Path, strings.NewReader(q.Body))
	r.Header.Set("Authorization", "Bearer "+keys.All)
	if q.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if road != "" && !aboutRoads {
		r.Header.Set("X-Backend", road)
	}
	for _, line := range q.Headers {
		name, value, _ := strings.Cut(keys.fill(line), ":")
		switch value = strings.TrimSpace(value); {
		case value == "-":
			r.Header.Del(name)
		case strings.HasPrefix(name, "+"):
			r.Header.Add(name[1:], value)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

// ChoosesRoad tells whether the case is about roads, so that it is for no other one.
func (c *Case) ChoosesRoad() bool {
	return slices.ContainsFunc(c.Request.Headers, func(line string) bool {
		return strings.HasPrefix(strings.TrimPrefix(line, "+"), "X-Backend")
	})
}
