package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/models"
)

// maxListedFaults is how many faults a problem of a batch lists at most.
const maxListedFaults = 100

// batchBody is the body of a batch, decoded as it comes: it is never in memory as
// text.
type batchBody struct {
	list    string // the member with the items
	writes  bool
	partial bool
	chunk   int // items of a transaction; 0: all

	ids       []int64                 // of all items; 0: of an employee without one
	employees []models.Employee       // to create
	updates   []models.EmployeeUpdate // to make
	assigned  []int                   // items whose ID the gateway has assigned

	badForm  []fault         // 400; of the first maxListedFaults
	badForms int             // all of them
	badValue []fault         // 422, of the batch as a whole
	broken   map[int][]fault // 422, of the items
	given    bool            // the list is there

	item     members // used again
	readItem func(dec *jsontext.Decoder) error
	lease    *itemLease
	meter    *itemMeter
}

func newGetBatch() *batchBody {
	b := &batchBody{list: "ids"}
	b.readItem = b.readID
	return b
}

func newDeleteBatch() *batchBody {
	b := newGetBatch()
	b.writes = true
	return b
}

func newCreateBatch() *batchBody {
	b := &batchBody{list: "employees", writes: true}
	b.readItem = b.readEmployee
	return b
}

func newUpdateBatch() *batchBody {
	b := &batchBody{list: "updates", writes: true}
	b.readItem = b.readUpdate
	return b
}

// read decodes the body of a request. What is wrong with single items, but for
// their form, is in broken where the batch is partial; else it is a problem.
func (b *batchBody) read(s *server, x *exchange, lease *itemLease) error {
	if err := checkMediaType(x.r, []string{jsonType}); err != nil {
		return err
	}
	x.limitBody()
	b.broken, b.lease = map[int][]fault{}, lease
	body := io.Reader(http.MaxBytesReader(x.w, x.r.Body, s.maxBatchBytes))
	if x.once != nil {
		body = x.once.summing(body)
	}
	if err := b.decode(body); err != nil {
		return unreadable(err)
	}
	x.bodyRead = true
	return b.check(s.ids)
}

// unreadable is the problem of a body that could not be read to its end.
func unreadable(err error) error {
	var p *problem
	var tooLarge *http.MaxBytesError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		return tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newProblem(codeBodyTimeout, "send the whole body sooner; nothing was done")
	case errors.Is(err, io.EOF), errors.As(err, &syntactic):
		return malformed(err)
	default:
		return newProblem(codeMalformedJSON, "the body ended early")
	}
}

func (b *batchBody) decode(body io.Reader) error {
	b.meter = &itemMeter{body: body}
	dec := jsontext.NewDecoder(b.meter)
	b.meter.next(dec)
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return newProblem(codeInvalidBody, "the body must be a JSON object", bodyFault("", "type", "must be an object"))
	}
	if err := eachMember(dec, b.readMember); err != nil {
		return err
	}
	switch _, err := dec.ReadToken(); {
	case err == nil:
		return newProblem(codeMalformedJSON, "there is more after the end of the JSON value")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func (b *batchBody) readMember(name string, dec *jsontext.Decoder) error {
	at := jsontext.Pointer("").AppendToken(name)
	switch {
	case name == b.list:
		return b.readList(dec)
	case name == "partial":
		value, err := dec.ReadValue()
		switch kind := value.Kind(); {
		case err != nil:
			return err
		case kind != 't' && kind != 'f':
			b.addBadForm(at, "type", "must be true or false")
		default:
			b.partial = kind == 't'
		}
		return nil
	case name == "chunk" && b.writes:
		value, err := dec.ReadValue()
		if err == nil {
			b.chunk = b.integer(at, value, models.MaxBatchItems, &b.badValue)
		}
		return err
	default:
		b.addBadForm(at, "unknown", "is not a member of this batch")
		return dec.SkipValue()
	}
}

// integer reads a number from 1 to limit, or adds what is wrong.
func (b *batchBody) integer(at jsontext.Pointer, value jsontext.Value, limit int64, badValue *[]fault) int {
	text := "must be an integer from 1 to " + strconv.FormatInt(limit, 10)
	n, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case value.Kind() != '0' || err != nil && !errors.Is(err, strconv.ErrRange):
		b.addBadForm(at, "type", text)
	case err != nil || n > limit:
		*badValue = append(*badValue, bodyFault(shortPointer(at), "range", text))
	case n < 1:
		*badValue = append(*badValue, bodyFault(shortPointer(at), "min", "must be at least 1"))
	default:
		return int(n)
	}
	return 0
}

func (b *batchBody) addBadForm(at jsontext.Pointer, rule, detail string) {
	b.addBadForms(bodyFault(shortPointer(at), rule, detail))
}

func (b *batchBody) addBadForms(faults ...fault) {
	b.badForms += len(faults)
	b.badForm = append(b.badForm, faults[:min(len(faults), maxListedFaults-len(b.badForm))]...)
}

func (b *batchBody) readList(dec *jsontext.Decoder) error {
	b.given = true
	if dec.PeekKind() != '[' {
		b.addBadForm(jsontext.Pointer("/"+b.list), "type", "must be an array")
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for b.meter.next(dec); dec.PeekKind() != ']'; b.meter.next(dec) {
		if len(b.ids) == models.MaxBatchItems {
			return validationProblem([]fault{b.sizeFault()})
		}
		if err := b.lease.grow(len(b.ids) + 1); err != nil {
			return err
		}
		if err := b.readItem(dec); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

func (b *batchBody) sizeFault() fault {
	return bodyFault("/"+b.list, "size", fmt.Sprintf("must have 1 to %d items", models.MaxBatchItems))
}

// at points to item i.
func (b *batchBody) at(i int) jsontext.Pointer {
	return jsontext.Pointer("/" + b.list + "/" + strconv.Itoa(i))
}

func (b *batchBody) readID(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	i, broken := len(b.ids), []fault(nil)
	const limit = 1<<63 - 1
	b.ids = append(b.ids, int64(b.integer(b.at(i), value, limit, &broken)))
	b.breaks(i, broken)
	return nil
}

// breaks notes the rules that item i breaks.
func (b *batchBody) breaks(i int, faults []fault) {
	if len(faults) > 0 {
		b.broken[i] = append(b.broken[i], faults...)
	}
}

// readObject reads an item that is an object into b.item, over the values that
// defaults has.
func (b *batchBody) readObject(dec *jsontext.Decoder, defaults models.Employee) error {
	b.item = members{employee: defaults, present: b.item.present[:0], at: b.at(len(b.ids))}
	if dec.PeekKind() == '{' {
		return eachMember(dec, b.item.read)
	}
	b.item.badForm = append(b.item.badForm, bodyFault(string(b.item.at), "type", "must be an object"))
	return dec.SkipValue()
}

func (b *batchBody) readEmployee(dec *jsontext.Decoder) error {
	if err := b.readObject(dec, models.NewEmployee()); err != nil {
		return err
	}
	e := b.item.employee
	checked := e
	if !b.item.has("id") {
		checked.ID = 1 // one will be assigned
	}
	b.addItem(e.ID, checked.Validate())
	b.employees = append(b.employees, e)
	return nil
}

func (b *batchBody) readUpdate(dec *jsontext.Decoder) error {
	if err := b.readObject(dec, models.Employee{}); err != nil {
		return err
	}
	m := &b.item
	at := m.at + "/id"
	switch {
	case !m.has("id") && len(m.badForm) == 0:
		m.badForm = append(m.badForm, bodyFault(string(at), "required", "must be there"))
	case m.employee.ID < 1 && !mentioned(m.badForm, string(at)) && !mentioned(m.badValue, string(at)):
		m.badValue = append(m.badValue, bodyFault(string(at), "min", "must be at least 1"))
	}
	u := models.EmployeeUpdate{ID: m.employee.ID, Patch: models.EmployeePatch{Values: m.employee, Set: b.setOf(m.present)}}
	b.addItem(u.ID, u.Patch.Validate())
	b.updates = append(b.updates, u)
	return nil
}

// setOf is what a patch changes. Items that change the same share the slice.
func (b *batchBody) setOf(present []models.Property) []models.Property {
	set := slices.DeleteFunc(present, func(p models.Property) bool { return p.Name == "id" })
	if last := len(b.updates) - 1; last >= 0 && slices.Equal(b.updates[last].Patch.Set, set) {
		return b.updates[last].Patch.Set
	}
	return slices.Clone(set)
}

// addItem takes the faults of the item in b.item, with those that the model found.
func (b *batchBody) addItem(id int64, invalid error) {
	b.addBadForms(b.item.badForm...)
	b.breaks(len(b.ids), b.item.broken(invalid))
	b.ids = append(b.ids, id)
}
