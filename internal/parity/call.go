package parity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// call is a call of store.Employees.
type call struct {
	method     callMethod
	id         int64
	employee   models.Employee // of create and save; the values of a patch
	set        []models.Property
	pre        precondition
	returnsRow bool
	query      models.EmployeeQuery
}

type callMethod string

const (
	callGet    callMethod = "Get"
	callList   callMethod = "List"
	callCreate callMethod = "Create"
	callSave   callMethod = "Save"
	callPatch  callMethod = "Patch"
	callDelete callMethod = "Delete"
)

// precondition is a store.Precondition as data.
type precondition struct {
	absent, present bool
	department      *int32 // the stored row must have it
}

// on makes the precondition; what it is shown goes to saw.
func (p precondition) on(saw *string) store.Precondition {
	pre := store.Precondition{Absent: p.absent, Present: p.present}
	if p.department != nil {
		pre.Matches = func(e *models.Employee) bool {
			*saw = asJSON(e)
			return e.Department == *p.department
		}
	}
	return pre
}

func (p precondition) String() string {
	switch {
	case p.absent:
		return " if absent"
	case p.present:
		return " if present"
	case p.department != nil:
		return fmt.Sprintf(" if of department %d", *p.department)
	default:
		return ""
	}
}

// do implements action. Equal must be what is returned, the kind of error, the
// rules that are broken, and what the precondition was shown.
func (c *call) do(ctx context.Context, s *side, _ *memory) outcome {
	var result any
	var err error
	saw := "nothing"
	pre := c.pre.on(&saw)
	switch c.method {
	case callGet:
		result, err = s.rows.Get(ctx, c.id)
	case callList:
		result, err = s.rows.List(ctx, c.query)
	case callCreate:
		err = s.rows.Create(ctx, c.employee)
	case callSave:
		result, err = s.rows.Save(ctx, c.employee, pre)
	case callPatch:
		patch := models.EmployeePatch{Values: c.employee, Set: c.set}
		result, err = s.rows.Patch(ctx, c.id, patch, store.PatchOptions{Precondition: pre, ReturnRow: c.returnsRow})
	case callDelete:
		err = s.rows.Delete(ctx, c.id, pre)
	default:
		panic("parity: a call of " + string(c.method))
	}
	kind := kindsOf(err)
	if errors.Is(err, store.ErrInvalid) {
		saw = "what it was" // a road may refuse a value before it looks at the row, or after
	}
	o := outcome{name: string(c.method) + " " + kind}
	o.same = fmt.Sprintf("returned %s, %s; the precondition was shown %s", asJSON(result), kind, saw)
	var invalid *models.ValidationError
	if errors.As(err, &invalid) {
		o.same += fmt.Sprintf("; broken are %v", invalid.Fields)
	}
	if err != nil {
		o.cause = err.Error()
	}
	return o
}

// kindsOf names the kinds that an error has.
func kindsOf(err error) string {
	if err == nil {
		return "no error"
	}
	var names []string
	for _, kind := range []error{
		store.ErrNotFound, store.ErrConflict, store.ErrInvalid, store.ErrPreconditionFailed, store.ErrUnavailable,
		store.ErrUnknownOutcome, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, kind) {
			names = append(names, kind.Error())
		}
	}
	if len(names) == 0 {
		return "an error of no kind"
	}
	return strings.Join(names, " and ")
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

// smaller implements action.
func (c *call) smaller() []action {
	var all []action
	for i := range c.set {
		less := *c
		less.set = slices.Delete(slices.Clone(c.set), i, i+1)
		all = append(all, &less)
	}
	for _, f := range smallerFilters(c.query.Filter) {
		less := *c
		less.query.Filter = f
		all = append(all, &less)
	}
	if c.query.After != nil {
		less := *c
		less.query.After = nil
		all = append(all, &less)
	} else if n := len(c.query.Order); n > 0 {
		less := *c
		less.query.Order = c.query.Order[:n-1]
		all = append(all, &less)
	}
	if c.method == callCreate || c.method == callSave {
		for _, p := range models.EmployeeProperties() {
			if p.Nullable && p.Value(&c.employee) != nil {
				less := *c
				setNull(p, &less.employee)
				all = append(all, &less)
			}
		}
	}
	return all
}

// smallerFilters returns filters with a part of f less.
func smallerFilters(f models.Filter) []models.Filter {
	var all []models.Filter
	for i, m := range f.Members {
		all = append(all, m)
		if f.Op != models.OpNot {
			less := f
			less.Members = slices.Delete(slices.Clone(f.Members), i, i+1)
			all = append(all, less)
		}
		for _, smaller := range smallerFilters(m) {
			less := f
			less.Members = slices.Clone(f.Members)
			less.Members[i] = smaller
			all = append(all, less)
		}
	}
	return all
}

// setNull makes a property null that can be.
func setNull(p models.Property, e *models.Employee) {
	switch field := p.Pointer(e).(type) {
	case **string:
		*field = nil
	case **models.Date:
		*field = nil
	}
}

// String implements action.
func (c *call) String() string {
	switch c.method {
	case callGet, callDelete:
		return fmt.Sprintf("%s(%d)%s", c.method, c.id, c.pre)
	case callList:
		var order []string
		for _, o := range c.query.Order {
			order = append(order, fmt.Sprintf("%s %t", o.Property.Name, o.Descending))
		}
		return fmt.Sprintf("List(%s, by %v, after %s, limit %d)", asASCII(c.query.Filter.String()), order, asASCII(asJSON(c.query.After)), c.query.Limit)
	case callPatch:
		var set []string
		for _, p := range c.set {
			set = append(set, fmt.Sprintf("%s = %s", p.Name, asASCII(asJSON(p.Value(&c.employee)))))
		}
		return fmt.Sprintf("Patch(%d, %s)%s, returns row: %t", c.id, strings.Join(set, ", "), c.pre, c.returnsRow)
	default:
		return fmt.Sprintf("%s(%s)%s", c.method, asASCII(asJSON(c.employee)), c.pre)
	}
}
