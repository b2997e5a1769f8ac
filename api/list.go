package api

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	done := x.timed()
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

// listParameters are the query parameters of a list.
type listParameters struct {
	query          models.EmployeeQuery // its Limit is 0 where only the count is wanted
	hasFilter      bool
	count, explain bool
}

// parseListParameters reads all parameters and returns a problem that names
// every wrong one.
func parseListParameters(rawQuery string) (*listParameters, error) {
	p := &listParameters{query: models.EmployeeQuery{Limit: defaultPageSize}}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, newProblem(codeInvalidParameter, "the query cannot be read: a % must be followed by two hexadecimal digits, and ; is not allowed")
	}
	var faults []fault
	var conditions []models.Filter
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "" {
			return nil, newProblem(codeInvalidParameter, "a parameter has no name")
		}
		if len(values[name]) > 1 {
			faults = append(faults, parameterFault(name, "repeated", "must be given once"))
			continue
		}
		condition, err := p.read(name, values[name][0])
		if err != nil {
			faults = append(faults, faultOf(name, err))
		}
		conditions = append(conditions, condition)
	}
	p.query.Filter = models.And(conditions...).Normal()
	if token := values.Get("page_token"); token != "" && len(faults) == 0 {
		if p.query.After, err = parsePageToken(&p.query, token); err != nil {
			faults = append(faults, faultOf("page_token", err))
		}
	}
	if p.query.Limit == 0 && !p.count && !slices.ContainsFunc(faults, func(f fault) bool { return f.Parameter == "page_size" }) {
		faults = append(faults, faultOf("page_size", errPageSize))
	}
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.Parameter, b.Parameter) })
		return nil, newProblem(codeInvalidParameter, "each entry of errors names a parameter", faults...)
	}
	return p, nil
}

// read takes one parameter, and returns the condition on employees that it is,
// if it is one.
func (p *listParameters) read(name, value string) (condition models.Filter, err error) {
	switch name {
	case "filter":
		p.hasFilter = true
		return parseFilter(value)
	case "order_by":
		p.query.Order, err = parseOrder(value)
	case "fields":
		p.query.Fields, err = parseFields(value)
	case "page_size":
		p.query.Limit, err = parsePageSize(value)
	case "page_token": // once all that it belongs to is known
	case "count":
		p.count, err = parseBool(value)
	case "explain":
		p.explain, err = parseBool(value)
	default:
		return parseMatch(name, value)
	}
	return condition, err
}

// errText is what is wrong with a parameter, for the client.
type errText string

func (e errText) Error() string { return string(e) }

func faultOf(parameter string, err error) fault {
	var inFilter *filterFault
	if errors.As(err, &inFilter) {
		f := parameterFault(parameter, inFilter.code, inFilter.Error())
		f.Position = inFilter.position
		return f
	}
	return parameterFault(parameter, "invalid", err.Error())
}

var errPageSize = errText(fmt.Sprintf("must be an integer from 1 to %d; with count=true, 0 asks for no page", maxPageSize))

func parsePageSize(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxPageSize || strconv.Itoa(n) != text {
		return 0, errPageSize
	}
	return n, nil
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, errText("must be true or false")
	}
	return text == "true", nil
}

// parseOrder reads properties, each with asc or desc, separated by commas.
func parseOrder(text string) ([]models.Order, error) {
	var order []models.Order
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(part)
		if len(words) < 1 || len(words) > 2 || len(words) == 2 && words[1] != "asc" && words[1] != "desc" {
			return nil, errText("must be properties separated by commas, each alone or with asc or desc, as in city desc, last")
		}
		p, ok := models.EmployeeProperty(words[0])
		if !ok {
			return nil, errText(fmt.Sprintf("has no property %s; there are %s", filterToken{kind: tokenWord, text: words[0]}, propertyNames()))
		}
		if slices.ContainsFunc(order, func(o models.Order) bool { return o.Property == p }) {
			return nil, errText("must name each property once; " + p.Name + " is there twice")
		}
		order = append(order, models.Order{Property: p, Descending: len(words) == 2 && words[1] == "desc"})
	}
	return order, nil
}

// parseFields reads names of properties, separated by commas.
func parseFields(text string) ([]models.Property, error) {
	wanted := map[string]bool{models.EmployeeKey.Name: true}
	for part := range strings.SplitSeq(text, ",") {
		name := strings.TrimSpace(part)
		if _, ok := models.EmployeeProperty(name); !ok {
			return nil, errText("must be properties separated by commas; there are " + propertyNames())
		}
		wanted[name] = true
	}
	var fields []models.Property
	for _, p := range models.EmployeeProperties() {
		if wanted[p.Name] {
			fields = append(fields, p)
		}
	}
	return fields, nil
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

// parseMatch reads a simple filter: the name of a property and the value that
// it must equal.
func parseMatch(name, text string) (models.Filter, error) {
	property, ok := models.EmployeeProperty(name)
	if !ok {
		return models.Filter{}, errText("is not a parameter of this call")
	}
	value, err := parseValue(property, text)
	return models.Compare(property, models.OpEqual, value), err
}

func parseValue(property models.Property, text string) (any, error) {
	switch property.Pointer(new(models.Employee)).(type) {
	case *int64:
		n, err := parseInteger(text, 64)
		return n, err
	case *int32:
		n, err := parseInteger(text, 32)
		return int32(n), err
	case **string:
		if !utf8.ValidString(text) {
			return nil, errText("must be valid UTF-8")
		}
		return text, nil
	case **models.Date:
		d, err := models.ParseDate(text)
		if err != nil {
			return nil, errText("must be a date of the calendar as YYYY-MM-DD")
		}
		return d, nil
	default:
		panic("api: no filter for the property " + property.Name)
	}
}

func parseInteger(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || strconv.FormatInt(n, 10) != text {
		limit := int64(math.MaxInt64) >> (64 - bits)
		return 0, errText(fmt.Sprintf("must be an integer from %d to %d", -limit-1, limit))
	}
	return n, nil
}
