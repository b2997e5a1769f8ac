package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
)

// rowReader reads the rows of an import's body.
type rowReader interface {
	// next returns the next row, valid but for what only the database knows. At
	// the end it returns io.EOF. A *lineFault is about one line, and the rows go
	// on behind it; any other error ends the body, as a *problem or as what a
	// read of the body has returned.
	next() (models.Employee, error)
	// line is the number of the line that next has read last; of CSV the one in
	// which the record begins.
	line() int
}

// lineFault is what is wrong with one line.
type lineFault struct {
	line    int
	id      int64 // 0: not known
	problem *problem
	unknown bool // it may be written
}

func (f *lineFault) Error() string { return fmt.Sprintf("line %d: %v", f.line, f.problem) }

func newRowReader(mediaType string, body io.Reader) rowReader {
	if mediaType == csvType {
		return &csvReader{records: rowformat.NewRecords(body, maxLineBytes)}
	}
	return &ndjsonReader{lines: rowformat.NewLines(body, maxLineBytes)}
}

func lineTooLong(line int) *lineFault {
	return &lineFault{line: line, problem: newProblem(codeBodyTooLarge, fmt.Sprintf("a line may hold %d bytes", maxLineBytes))}
}

const idRequired = "must be given, so that the import can be repeated"

// checkRow looks at a row that has the right form. An import names every ID, so
// that it can be repeated.
func checkRow(m *members, line int) (models.Employee, error) {
	isNull := func(f fault) bool { return *f.Pointer == "/id" && f.Code == ruleNotNull } // which in CSV is nothing
	if !m.has("id") || slices.ContainsFunc(m.badValue, isNull) {
		m.badValue = append(slices.DeleteFunc(m.badValue, isNull), bodyFault("/id", "required", idRequired))
	}
	if err := m.check(m.employee.Validate()); err != nil {
		fault := &lineFault{line: line}
		if m.has("id") && m.employee.ID > 0 {
			fault.id = m.employee.ID
		}
		if !errors.As(err, &fault.problem) {
			return models.Employee{}, err
		}
		return models.Employee{}, fault
	}
	return m.employee, nil
}

// ndjsonReader reads a JSON object from each line. Empty lines are passed over.
type ndjsonReader struct {
	lines *rowformat.Lines
	rows  int64 // since the last line that an export ends with
}

func (r *ndjsonReader) line() int { return r.lines.Line() }

func (r *ndjsonReader) next() (models.Employee, error) {
	for {
		line, err := r.lines.Next()
		switch {
		case errors.Is(err, rowformat.ErrTooLong):
			r.rows++
			return models.Employee{}, lineTooLong(r.line())
		case err != nil:
			return models.Employee{}, err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case bytes.HasPrefix(line, exportEndPrefix):
			if err := r.checkEnd(line); err != nil {
				return models.Employee{}, err
			}
			continue
		}
		r.rows++
		return r.row(line)
	}
}

// row takes the short way where nothing is wrong, and the thorough one to tell
// what is. Both agree on that; see FuzzImportLine.
func (r *ndjsonReader) row(line []byte) (models.Employee, error) {
	e := models.NewEmployee()
	if json.Unmarshal(line, &e, json.RejectUnknownMembers(true)) == nil && e.Validate() == nil {
		return e, nil
	}
	return r.examined(line)
}

func (r *ndjsonReader) examined(line []byte) (models.Employee, error) {
	m, err := decodeMembers(line, models.NewEmployee())
	if err != nil {
		fault := &lineFault{line: r.line()}
		if !errors.As(err, &fault.problem) {
			return models.Employee{}, err
		}
		return models.Employee{}, fault
	}
	return checkRow(m, r.line())
}

// checkEnd looks at the last line of an export: whether all is there.
func (r *ndjsonReader) checkEnd(line []byte) error {
	var end exportEnd
	rows := r.rows
	r.rows = 0
	refuse := func(c code, detail string) error {
		return &lineFault{line: r.line(), problem: newProblem(c, detail)}
	}
	switch err := json.Unmarshal(line, &end); {
	case err != nil:
		return refuse(codeInvalidBody, "the line begins as the last one of an export does, and is none")
	case !end.Complete:
		return refuse(codeIncompleteBody, "it is an export that was cut off: rows are missing")
	case end.Rows != rows:
		return refuse(codeIncompleteBody, fmt.Sprintf("it is an export of %d rows, of which %d are here", end.Rows, rows))
	}
	return nil
}

// csvReader reads a row from each record behind the first, which names the
// properties of the columns.
type csvReader struct {
	records *rowformat.Records
	columns []models.Property // nil before the first record was read
}

func (r *csvReader) line() int { return r.records.Line() }

func (r *csvReader) next() (models.Employee, error) {
	if r.columns == nil {
		if err := r.readHeader(); err != nil {
			return models.Employee{}, err
		}
	}
	fields, err := r.records.Next()
	if err != nil {
		return models.Employee{}, r.explain(err)
	}
	if len(fields) != len(r.columns) {
		detail := fmt.Sprintf("must have %d fields, as the first line has, not %d", len(r.columns), len(fields))
		return models.Employee{}, &lineFault{line: r.line(), problem: newProblem(codeMalformedCSV, "a record "+detail)}
	}
	m := &members{employee: models.NewEmployee(), present: r.columns}
	for i, f := range fields {
		m.addField(r.columns[i], f)
	}
	return checkRow(m, r.line())
}

// explain makes a fault of what is wrong with one record.
func (r *csvReader) explain(err error) error {
	var syntax *rowformat.SyntaxError
	switch {
	case errors.Is(err, rowformat.ErrTooLong):
		return lineTooLong(r.line())
	case errors.As(err, &syntax) && syntax.Fatal:
		return newProblem(codeMalformedCSV, fmt.Sprintf("line %d: %s", r.line(), syntax.Detail))
	case errors.As(err, &syntax):
		return &lineFault{line: r.line(), problem: newProblem(codeMalformedCSV, syntax.Detail)}
	}
	return err
}

func (r *csvReader) readHeader() error {
	fields, err := r.records.Next()
	var wrong *lineFault
	switch err = r.explain(err); {
	case errors.Is(err, io.EOF):
		return newProblem(codeMalformedCSV, "the first line, which names the columns, is missing")
	case errors.As(err, &wrong):
		return wrong.problem
	case err != nil:
		return err
	}
	if separator, ok := otherSeparator(fields); ok {
		return newProblem(codeMalformedCSV, "the first line has no comma: columns are separated by commas, not by "+separator)
	}
	var faults []fault
	for _, f := range fields {
		name := string(f.Text)
		property, ok := models.EmployeeProperty(name)
		switch {
		case !ok:
			faults = append(faults, bodyFault(pointerTo(name), "unknown", "is not a property of an employee"))
		case slices.Contains(r.columns, property):
			faults = append(faults, bodyFault(pointerTo(name), "duplicate", "must be given once"))
		}
		r.columns = append(r.columns, property)
	}
	if id, _ := models.EmployeeProperty("id"); len(faults) == 0 && !slices.Contains(r.columns, id) {
		faults = append(faults, bodyFault("/id", "required", idRequired))
	}
	if len(faults) > 0 {
		return newProblem(codeInvalidBody, "the first line of CSV must name properties of an employee, the id among them", faults...)
	}
	return nil
}

// otherSeparators are those of files that some programs call CSV.
var otherSeparators = []struct{ text, name string }{{";", "semicolons"}, {"\t", "tabs"}, {"|", "bars"}}

// otherSeparator names what seems to stand between the columns in place of commas.
func otherSeparator(header []rowformat.Field) (name string, ok bool) {
	if len(header) != 1 {
		return "", false
	}
	for _, s := range otherSeparators {
		if bytes.Contains(header[0].Text, []byte(s.text)) {
			return s.name, true
		}
	}
	return "", false
}

// addField sets a property to the value of a field of CSV, and is as strict as
// add is with JSON.
func (m *members) addField(property models.Property, f rowformat.Field) {
	pointer := pointerTo(property.Name)
	if f.Null {
		if !property.Nullable {
			m.badValue = append(m.badValue, bodyFault(pointer, ruleNotNull, "must not be null"))
		}
		return
	}
	target := property.Pointer(&m.employee)
	if err := parseField(string(f.Text), target); err == nil {
		return
	} else if form := formOf(target); errors.Is(err, strconv.ErrSyntax) {
		m.badForm = append(m.badForm, bodyFault(pointer, "type", "must be "+form.text))
	} else {
		m.badValue = append(m.badValue, bodyFault(pointer, form.rule, "must be "+form.text))
	}
}

// pointerTo is the JSON pointer to a member, or to the whole where its name is too
// long.
func pointerTo(name string) string { return shortPointer(jsontext.Pointer("").AppendToken(name)) }

// parseField sets what target points to. An error is strconv.ErrSyntax where the
// text has not the right form.
func parseField(text string, target any) (err error) {
	switch target := target.(type) {
	case *int64:
		*target, err = parseWhole(text, 64)
	case *int32:
		var n int64
		n, err = parseWhole(text, 32)
		*target = int32(n)
	case **string:
		*target = &text
	case **models.Date:
		var d models.Date
		d, err = models.ParseDate(text)
		*target = &d
	default:
		panic(fmt.Sprintf("api: no field of CSV for %T", target))
	}
	return err
}

// parseWhole reads a number in the one spelling that JSON has for it.
func parseWhole(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err == nil && strconv.FormatInt(n, 10) != text {
		return 0, strconv.ErrSyntax
	}
	return n, err
}
