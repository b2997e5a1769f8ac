package api

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
)

// Limits of the parameter filter. What is within them fits into one request to
// the data nodes, whatever the page token adds.
const (
	maxFilterBytes = 4096
	maxFilterDepth = 20  // parentheses, NOT and - within each other
	maxFilterTerms = 100 // comparisons; each value of in() is one, between() two
)

// parseFilter reads a filter in the syntax of AIP-160:
//
//	expression  = factor {"AND" factor}
//	factor      = term {"OR" term}                  OR binds more tightly than AND
//	term        = ["NOT" | "-"] (restriction | "(" expression ")")
//	restriction = property comparator value
//	            | property ":" "*"
//	            | "in" "(" property "," value {"," value} ")"
//	            | "between" "(" property "," value "," value ")"
//	            | "like" "(" property "," value ")"
//	comparator  = "=" | "!=" | "<" | "<=" | ">" | ">="
//	value       = "null" | number | word | text in single or double quotes
//
// Of AIP-160 it leaves out what has no meaning here: values without a property,
// which search everywhere, and members of members. An empty filter selects all.
// The error is a *filterFault.
func parseFilter(text string) (models.Filter, error) {
	if len(text) > maxFilterBytes {
		return models.Filter{}, &filterFault{code: "limit", message: fmt.Sprintf("must not be longer than %d bytes", maxFilterBytes)}
	}
	if !utf8.ValidString(text) {
		return models.Filter{}, &filterFault{code: "syntax", message: "must be valid UTF-8"}
	}
	p := &filterParser{filterLexer: filterLexer{text: text}}
	if err := p.advance(); err != nil {
		return models.Filter{}, err
	}
	if p.token.kind == tokenEnd {
		return models.Filter{}, nil
	}
	f, err := p.expression()
	if err != nil {
		return models.Filter{}, err
	}
	if p.token.kind != tokenEnd {
		return models.Filter{}, p.unexpected()
	}
	return f, nil
}

// filterFault is what is wrong with a filter, for the client.
type filterFault struct {
	code     string
	position int // in characters, from 1; 0 where it is about all of it
	message  string
}

func (f *filterFault) Error() string {
	if f.position == 0 {
		return f.message
	}
	return fmt.Sprintf("at character %d: %s", f.position, f.message)
}

// filterParser descends into the grammar; token is the next one.
type filterParser struct {
	filterLexer
	token        filterToken
	depth, terms int
}

func (p *filterParser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// fault is about the token.
func (p *filterParser) fault(t filterToken, code, format string, args ...any) error {
	return p.faultAt(t.at, code, fmt.Sprintf(format, args...))
}

func (p *filterParser) unexpected() error {
	const expected = "AND, OR or the end is expected"
	t := p.token
	switch upper := strings.ToUpper(t.text); {
	case t.kind == tokenClose:
		return p.fault(t, "syntax", "there is no ( for this )")
	case t.kind == tokenWord && (upper == "AND" || upper == "OR" || upper == "NOT") && t.text != upper:
		return p.fault(t, "syntax", "%s, but got %s: write %s in capitals", expected, t, upper)
	default:
		return p.fault(t, "syntax", "%s, but got %s", expected, t)
	}
}

func (p *filterParser) expression() (models.Filter, error) {
	return p.group("AND", p.factor, models.And)
}

func (p *filterParser) factor() (models.Filter, error) {
	return p.group("OR", p.term, models.Or)
}

// group reads members with the keyword between them.
func (p *filterParser) group(keyword string, member func() (models.Filter, error), join func(...models.Filter) models.Filter) (models.Filter, error) {
	var members []models.Filter
	for {
		f, err := member()
		if err != nil {
			return models.Filter{}, err
		}
		members = append(members, f)
		if !p.token.isKeyword(keyword) {
			break
		}
		if err := p.advance(); err != nil {
			return models.Filter{}, err
		}
	}
	if len(members) == 1 {
		return members[0], nil
	}
	return join(members...), nil
}

func (p *filterParser) term() (models.Filter, error) {
	negated := p.token.kind == tokenMinus || p.token.isKeyword("NOT")
	if !negated && p.token.kind != tokenOpen {
		return p.restriction()
	}
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxFilterDepth {
		return models.Filter{}, p.fault(p.token, "limit", "parentheses and NOT may be %d deep", maxFilterDepth)
	}
	if err := p.advance(); err != nil {
		return models.Filter{}, err
	}
	if negated {
		if p.token.isKeyword("NOT") || p.token.kind == tokenMinus {
			return models.Filter{}, p.fault(p.token, "syntax", "NOT NOT needs parentheses")
		}
		f, err := p.term()
		return models.Not(f), err
	}
	f, err := p.expression()
	if err != nil {
		return models.Filter{}, err
	}
	if p.token.kind != tokenClose {
		return models.Filter{}, p.fault(p.token, "syntax", "AND, OR or ) is expected, but got %s", p.token)
	}
	return f, p.advance()
}

const propertyExpected = "a property, a function, NOT or ( is expected"

func (p *filterParser) restriction() (models.Filter, error) {
	name := p.token
	switch {
	case name.kind == tokenText:
		return models.Filter{}, p.bare(name)
	case name.kind != tokenWord || name.isKeyword("AND") || name.isKeyword("OR"):
		return models.Filter{}, p.fault(name, "syntax", "%s, but got %s", propertyExpected, name)
	}
	if err := p.advance(); err != nil {
		return models.Filter{}, err
	}
	switch p.token.kind {
	case tokenOpen:
		return p.function(name)
	case tokenCompare, tokenHas:
	default:
		return models.Filter{}, p.bare(name)
	}
	property, err := p.property(name)
	if err != nil {
		return models.Filter{}, err
	}
	comparator := p.token
	if err := p.advance(); err != nil {
		return models.Filter{}, err
	}
	if err := p.count(comparator); err != nil {
		return models.Filter{}, err
	}
	value := p.token
	f, err := p.comparison(property, comparator, value)
	if err != nil {
		return models.Filter{}, err
	}
	return f, p.advance()
}

// bare refuses a value without property.
func (p *filterParser) bare(t filterToken) error {
	if _, ok := models.EmployeeProperty(t.text); ok && t.kind == tokenWord {
		return p.fault(p.token, "syntax", "=, !=, <, <=, >, >= or :* is expected behind %s, but got %s", t.text, p.token)
	}
	return p.fault(t, "unsupported", "%s stands alone: a search in all properties is not supported, write property = value", t)
}

// property finds the property of that name.
func (p *filterParser) property(name filterToken) (models.Property, error) {
	property, ok := models.EmployeeProperty(name.text)
	if !ok || name.kind != tokenWord {
		return models.Property{}, p.fault(name, "unknown", "there is no property %s; there are %s", name, propertyNames())
	}
	return property, nil
}

func propertyNames() string {
	var names []string
	for _, p := range models.EmployeeProperties() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// count bounds the comparisons.
func (p *filterParser) count(t filterToken) error {
	if p.terms++; p.terms > maxFilterTerms {
		return p.fault(t, "limit", "there may be %d comparisons", maxFilterTerms)
	}
	return nil
}
