package api

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
)

// listParameters are the query parameters of a list.
type listParameters struct {
	query          models.EmployeeQuery // its Limit is 0 where only the count is wanted
	hasFilter      bool
	pageToken      string
	count, explain bool
}

// parseListParameters reads all parameters and returns a problem that names
// every wrong one.
func parseListParameters(rawQuery string) (*listParameters, error) {
	p := &listParameters{query: models.EmployeeQuery{Limit: defaultPageSize}}
	var conditions []models.Filter
	faults, err := readQuery(rawQuery, func(name, value string) error {
		condition, err := p.read(name, value)
		conditions = append(conditions, condition)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.query.Filter = models.And(conditions...).Normal()
	if p.pageToken != "" && len(faults) == 0 {
		if p.query.After, err = parsePageToken(&p.query, p.pageToken); err != nil {
			faults = append(faults, faultOf("page_token", err))
		}
	}
	if p.query.Limit == 0 && !p.count && !slices.ContainsFunc(faults, func(f fault) bool { return f.Parameter == "page_size" }) {
		faults = append(faults, faultOf("page_size", errPageSize))
	}
	return p, refuseParameters(faults)
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
	case "page_token": // is read once all that it belongs to is known
		p.pageToken = value
	case "count":
		p.count, err = parseBool(value)
	case "explain":
		p.explain, err = parseBool(value)
	default:
		return parseMatch(name, value)
	}
	return condition, err
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
