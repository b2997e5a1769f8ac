package api

import (
	"strings"

	"github.com/ndbgate/ndbgate/models"
)

var filterOps = map[string]models.FilterOp{
	"=": models.OpEqual, "!=": models.OpNotEqual, "<": models.OpLess, "<=": models.OpLessOrEqual, ">": models.OpGreater, ">=": models.OpGreaterOrEqual,
}

// comparison makes the filter of a restriction.
func (p *filterParser) comparison(property models.Property, comparator, value filterToken) (models.Filter, error) {
	if comparator.kind == tokenHas {
		if value.kind == tokenEnd || value.text != "*" {
			return models.Filter{}, p.fault(value, "unsupported", ":* asks whether %s is not null; there is nothing else behind :", property.Name)
		}
		return models.IsNotNull(property), nil
	}
	op := filterOps[comparator.text]
	if value.isKeyword("null") {
		switch op {
		case models.OpEqual:
			return models.IsNull(property), nil
		case models.OpNotEqual:
			return models.IsNotNull(property), nil
		}
		return models.Filter{}, p.fault(comparator, "unsupported", "null has no order: only = and != take it")
	}
	if isEquality := op == models.OpEqual || op == models.OpNotEqual; isEquality && len(value.stars) > 0 && isText(property) {
		return p.wildcard(property, op, value)
	}
	v, err := p.value(property, value)
	if err != nil {
		return models.Filter{}, err
	}
	return models.Compare(property, op, v), nil
}

// wildcard makes a pattern of text in which * stands for any text.
func (p *filterParser) wildcard(property models.Property, op models.FilterOp, value filterToken) (models.Filter, error) {
	var pattern strings.Builder
	start := 0
	for _, star := range value.stars {
		pattern.WriteString(plainPattern.Replace(value.text[start:star]) + "%")
		start = star + 1
	}
	pattern.WriteString(plainPattern.Replace(value.text[start:]))
	if op == models.OpEqual {
		op = models.OpLike
	} else {
		op = models.OpNotLike
	}
	return models.Compare(property, op, pattern.String()), nil
}

// plainPattern makes a pattern that matches only the text itself.
var plainPattern = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func isText(property models.Property) bool {
	_, ok := property.Pointer(new(models.Employee)).(**string)
	return ok
}

// value reads a value of the property's type.
func (p *filterParser) value(property models.Property, t filterToken) (any, error) {
	isValue := t.kind == tokenText || t.kind == tokenWord && !t.isKeyword("AND") && !t.isKeyword("OR") && !t.isKeyword("NOT")
	if !isValue {
		return nil, p.fault(t, "syntax", "a value of %s is expected, but got %s", property.Name, t)
	}
	if t.isKeyword("null") {
		return nil, p.fault(t, "type", "null is no value to compare with; write %s = null", property.Name)
	}
	if _, ok := models.EmployeeProperty(t.text); ok && t.kind == tokenWord {
		return nil, p.fault(t, "unsupported", "two properties cannot be compared; the text %s must be in quotes", t.text)
	}
	switch property.Pointer(new(models.Employee)).(type) {
	case *int64, *int32:
		if t.kind == tokenText {
			return nil, p.fault(t, "type", "%s is a number, and numbers have no quotes", property.Name)
		}
	}
	value, err := parseValue(property, t.text)
	if err != nil {
		return nil, p.fault(t, "type", "the value of %s %v", property.Name, err)
	}
	return value, nil
}

// function reads the arguments of a function, from ( on.
func (p *filterParser) function(name filterToken) (models.Filter, error) {
	switch name.text {
	case "in", "between", "like":
	default:
		return models.Filter{}, p.fault(name, "unknown", "there is no function %s; there are in, between and like", name)
	}
	if err := p.advance(); err != nil {
		return models.Filter{}, err
	}
	property, err := p.property(p.token)
	if err != nil {
		return models.Filter{}, err
	}
	if name.text == "like" && !isText(property) {
		return models.Filter{}, p.fault(p.token, "type", "like is for text, and %s is none", property.Name)
	}
	values, end, err := p.arguments(name, property)
	if err != nil {
		return models.Filter{}, err
	}
	switch n := len(values); {
	case name.text == "between" && n == 2:
		return models.And(
			models.Compare(property, models.OpGreaterOrEqual, values[0]), models.Compare(property, models.OpLessOrEqual, values[1]),
		), nil
	case name.text == "between":
		return models.Filter{}, p.fault(end, "syntax", "between takes a property and 2 values, not %d", n)
	case name.text == "like" && n == 1:
		return models.Compare(property, models.OpLike, values[0]), nil
	case name.text == "like":
		return models.Filter{}, p.fault(end, "syntax", "like takes a property and a pattern, not %d", n)
	case n == 0:
		return models.Filter{}, p.fault(end, "syntax", "in takes a property and at least one value")
	default:
		members := make([]models.Filter, n)
		for i, v := range values {
			members[i] = models.Compare(property, models.OpEqual, v)
		}
		return models.Or(members...), nil
	}
}

// arguments reads the values behind the property of a function, and the ).
func (p *filterParser) arguments(name filterToken, property models.Property) (values []any, end filterToken, err error) {
	for {
		if err := p.advance(); err != nil {
			return nil, end, err
		}
		if p.token.kind == tokenClose {
			end = p.token
			return values, end, p.advance()
		}
		if p.token.kind != tokenComma {
			return nil, end, p.fault(p.token, "syntax", ", or ) is expected in %s(), but got %s", name, p.token)
		}
		if err := p.advance(); err != nil {
			return nil, end, err
		}
		if err := p.count(p.token); err != nil {
			return nil, end, err
		}
		v, err := p.value(property, p.token)
		if err != nil {
			return nil, end, err
		}
		values = append(values, v)
	}
}
