package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

const (
	defaultPageSize = 100
	maxPageSize     = 1000
)

// employeePage is the answer of a list.
type employeePage struct {
	Employees     any    `json:"employees"` // []models.Employee or []maskedEmployee
	NextPageToken string `json:"next_page_token,omitempty"`
	Total         *int64 `json:"total,omitempty"`
}

func (s *server) listEmployees(x *exchange) error {
	p, err := parseListParameters(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	if p.explain {
		return explainList(x, p)
	}
	done, err := x.timed()
	if err != nil {
		return err
	}
	page, err := p.ask(x)
	done()
	if err != nil {
		return p.refused(err)
	}
	x.w.Header().Set("Cache-Control", "private, no-cache")
	return x.json(http.StatusOK, page)
}

// ask reads the page, and counts where that is wanted.
func (p *listParameters) ask(x *exchange) (employeePage, error) {
	found := models.EmployeePage{Employees: []models.Employee{}}
	var page employeePage
	var err error
	if p.query.Limit > 0 {
		if found, err = x.store.List(x.ctx, p.query); err != nil {
			return page, err
		}
	}
	if p.count {
		total, err := queriesOf(x).Count(x.ctx, p.query.Filter)
		if err != nil {
			return page, err
		}
		page.Total = &total
	}
	page.Employees = masked(found.Employees, p.query.Fields)
	if found.Next != nil {
		page.NextPageToken = newPageToken(&p.query, found.Next)
	}
	return page, nil
}

// queriesOf finds what every backend has beside the calls of x.store.
func queriesOf(x *exchange) store.Queries { return x.store.(store.Queries) }

// refused names the parameter that a road cannot serve.
func (p *listParameters) refused(err error) error {
	var invalid *models.ValidationError
	switch {
	case errors.Is(err, store.ErrInvalid) && errors.As(err, &invalid):
		parameter, f := "page_token", invalid.Fields[0]
		if p.hasFilter {
			parameter = "filter"
		}
		return newProblem(codeInvalidParameter, "each entry of errors names a parameter",
			parameterFault(parameter, f.Rule, fmt.Sprintf("text that %s is compared with by <, <=, > or >= %s", f.Property, f.Message)))
	default:
		return err
	}
}

// maskedEmployee is an employee of whom only some properties are shown.
type maskedEmployee struct {
	employee *models.Employee
	fields   []models.Property
}

// masked is what is to be shown of employees; nil fields are all.
func masked(employees []models.Employee, fields []models.Property) any {
	if fields == nil {
		return employees
	}
	shown := make([]maskedEmployee, len(employees))
	for i := range employees {
		shown[i] = maskedEmployee{&employees[i], fields}
	}
	return shown
}

// MarshalJSON implements json.Marshaler.
func (m maskedEmployee) MarshalJSON() ([]byte, error) {
	const usualBytes = 128
	text := append(make([]byte, 0, usualBytes), '{')
	for i, p := range m.fields {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(strconv.AppendQuote(text, p.Name), ':')
		var err error
		switch value := p.Value(m.employee).(type) {
		case nil:
			text = append(text, "null"...)
		case string:
			text, err = jsontext.AppendQuote(text, value)
		case int64:
			text = strconv.AppendInt(text, value, 10)
		case int32:
			text = strconv.AppendInt(text, int64(value), 10)
		default:
			var encoded []byte
			encoded, err = json.Marshal(value)
			text = append(text, encoded...)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}
