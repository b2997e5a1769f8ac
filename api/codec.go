package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/models"
)

const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

// readBody returns the whole body, whose media type must be one of types.
func (s *server) readBody(x *exchange, types ...string) ([]byte, error) {
	if err := checkMediaType(x.r, types); err != nil {
		return nil, err
	}
	x.limitBody()
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, s.maxBodyBytes))
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case err == nil:
		x.bodyRead = true
		if x.once != nil {
			x.once.bodySum.Write(body)
		}
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, newProblem(codeBodyTimeout, "send the whole body sooner; nothing was done")
	default:
		return nil, newProblem(codeMalformedJSON, "the body ended early")
	}
}

// limitBody makes the request's deadline hold for its body too.
func (x *exchange) limitBody() {
	if deadline, ok := x.ctx.Deadline(); ok {
		// Some writers of tests have no connection; every real one can do it.
		_ = http.NewResponseController(x.w).SetReadDeadline(deadline)
	}
}

func checkMediaType(r *http.Request, types []string) error {
	refuse := func(detail string) error {
		p := newProblem(codeUnsupportedMediaType, detail)
		if r.Method == http.MethodPatch {
			p = p.withHeader("Accept-Patch", strings.Join(types, ", "))
		}
		return p
	}
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if encoding != "" && encoding != "identity" {
			return refuse("the body must not be compressed")
		}
	}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || len(r.Header.Values("Content-Type")) > 1 || !slices.Contains(types, mediaType) {
		return refuse("Content-Type must be " + strings.Join(types, " or "))
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refuse("the charset of the body must be utf-8")
	}
	return nil
}

// members is a decoded JSON object: an employee, which of its properties were
// present, and what is wrong with them.
type members struct {
	employee models.Employee
	present  []models.Property
	badForm  []fault // not the right form: 400
	badValue []fault // the right form, but a rule is broken: 422

	at jsontext.Pointer // of the object in the body
}

// decodeMembers reads one JSON object over the values that defaults has. It
// goes on after a bad member, so that the client hears of all of them.
func decodeMembers(body []byte, defaults models.Employee) (*members, error) {
	m := &members{employee: defaults}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return nil, malformed(err)
		}
		return nil, newProblem(codeInvalidBody, "the body must be a JSON object", bodyFault("", "type", "must be an object"))
	}
	if err := eachMember(dec, m.read); err != nil {
		return nil, malformed(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, newProblem(codeMalformedJSON, "there is more after the end of the JSON value")
	}
	return m, nil
}

// eachMember reads an object, which comes next, and has read take the value of each
// of its members.
func eachMember(dec *jsontext.Decoder, read func(name string, dec *jsontext.Decoder) error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		// The token is only good until the next read.
		if err := read(name.String(), dec); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

func malformed(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return newProblem(codeMalformedJSON, "the body is empty")
	case !errors.As(err, &syntactic):
		return newProblem(codeMalformedJSON, "the body cannot be read")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return newProblem(codeInvalidBody, "a member is given twice", bodyFault(shortPointer(syntactic.JSONPointer), "duplicate", "must be given once"))
	default:
		detail := fmt.Sprintf("at byte %d: %v", syntactic.ByteOffset, syntactic.Err)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			detail = fmt.Sprintf("at byte %d: the text ends within a JSON value", syntactic.ByteOffset)
		}
		return newProblem(codeMalformedJSON, detail, bodyFault(shortPointer(syntactic.JSONPointer), "syntax", detail))
	}
}

// maxPointerBytes bounds what is sent back of a pointer that a client made up.
const maxPointerBytes = 256

// shortPointer points to the whole body where the pointer is too long.
func shortPointer(p jsontext.Pointer) string {
	if len(p) > maxPointerBytes {
		return ""
	}
	return string(p)
}

// ruleNotNull is the rule that null breaks.
const ruleNotNull = "not_null"

// read takes one member of the object.
func (m *members) read(name string, dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err == nil {
		m.add(name, value)
	}
	return err
}

func (m *members) add(name string, value jsontext.Value) {
	fault := func(code, detail string) fault { return bodyFault(shortPointer(m.at.AppendToken(name)), code, detail) }
	property, ok := models.EmployeeProperty(name)
	if !ok {
		m.badForm = append(m.badForm, fault("unknown", "is not a property of an employee"))
		return
	}
	m.present = append(m.present, property)
	if value.Kind() == 'n' && !property.Nullable {
		m.badValue = append(m.badValue, fault(ruleNotNull, "must not be null"))
		return
	}
	target := property.Pointer(&m.employee)
	err := json.Unmarshal(value, target)
	form := formOf(target)
	switch {
	case err == nil:
	case value.Kind() != form.kind:
		m.badForm = append(m.badForm, fault("type", "must be "+form.text))
	case form.kind == '"' || errors.Is(err, strconv.ErrRange):
		m.badValue = append(m.badValue, fault(form.rule, "must be "+form.text))
	default:
		m.badForm = append(m.badForm, fault("type", "must be "+form.text))
	}
}

// form is what the JSON value of a property must look like.
type form struct {
	kind jsontext.Kind
	rule string // broken by a value of the right kind that is none of its values
	text string
}

func formOf(target any) form {
	switch target.(type) {
	case *int64:
		return form{'0', "range", "an integer from 1 to 9223372036854775807"}
	case *int32:
		return form{'0', "range", "an integer from 1 to 2147483647"}
	case **string:
		return form{'"', "text", "a string or null"}
	case **models.Date:
		return form{'"', "date", "a date of the calendar as YYYY-MM-DD, or null"}
	default:
		panic(fmt.Sprintf("api: no JSON form for %T", target))
	}
}

// check returns a problem with all that is wrong with the members: what has not
// the right form, and the rules that the others break, where invalid is what the
// model found.
func (m *members) check(invalid error) error {
	broken := m.broken(invalid)
	switch {
	case len(m.badForm) > 0:
		return newProblem(codeInvalidBody, "each entry of errors names a member", slices.Concat(m.badForm, broken)...)
	case len(broken) > 0:
		return validationProblem(broken)
	default:
		return nil
	}
}

// broken lists the broken rules, with those that the model found.
func (m *members) broken(invalid error) []fault {
	faults := m.badValue
	var validation *models.ValidationError
	if errors.As(invalid, &validation) {
		for _, f := range invalidFaultsAt(m.at, validation) {
			if !mentioned(m.badForm, *f.Pointer) && !mentioned(faults, *f.Pointer) {
				faults = append(faults, f)
			}
		}
	}
	return faults
}

func mentioned(faults []fault, pointer string) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return *f.Pointer == pointer })
}

// has tells whether the member of that name was in the object.
func (m *members) has(name string) bool {
	return slices.ContainsFunc(m.present, func(p models.Property) bool { return p.Name == name })
}

// pinID makes the employee's ID that of the path; another one in the body is a
// broken rule.
func (m *members) pinID(id int64) {
	if m.has("id") && m.employee.ID != id && !mentioned(m.badValue, "/id") && !mentioned(m.badForm, "/id") {
		m.badValue = append(m.badValue, bodyFault("/id", "mismatch", "must be the id in the path"))
	}
	m.employee.ID = id
}
