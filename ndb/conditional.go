package ndb

import (
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/program"
)

// Codes of refusals by a condition of the request; all are of ClassCondition.
const (
	// CodeConditionFalse is the code of an operation whose If did not hold.
	CodeConditionFalse = 6001
	// CodeOutOfLimits is that of an Increment whose result would leave its limits
	// or the type of the column.
	CodeOutOfLimits = 6002
	// CodeNullIncrement is that of an Increment of NULL.
	CodeNullIncrement = 6003
)

var (
	errNoCondition   = errors.New("ndb: only updates and deletes take a condition or return the row")
	errOneProgram    = errors.New("ndb: an operation takes one condition or one increment")
	errTwoReturnings = errors.New("ndb: an operation returns the row once")
)

// Limits bound the result of an Increment; nil means what the column's type can
// hold.
type Limits struct {
	Min, Max *int64
}

// If makes an update or a delete depend on the stored row, in the same round
// trip: where f does not hold, the operation fails with CodeConditionFalse, and
// with it the transaction unless IgnoreError was called. Text compares by the
// collation of its column: Eq holds for 'ABC' where 'abc' is stored in a column
// that ignores case.
func (op *Operation) If(f Filter) *Operation {
	if op.err != nil {
		return op
	}
	bound, err := bindFilter(f, op.version)
	if err != nil {
		return op.fail(err)
	}
	code, err := program.Compile(bound, CodeConditionFalse)
	if err != nil {
		return op.fail(fmt.Errorf("ndb: %w", err))
	}
	return op.run(code)
}

// Increment makes an update add to a column of type INT or BIGINT, in the same
// round trip and without reading it first. delta may be negative.
func (op *Operation) Increment(c *Column, delta int64, limits Limits) *Operation {
	if op.err != nil {
		return op
	}
	if op.kind != opUpdate {
		return op.fail(errNoCondition)
	}
	c, err := op.version.current(c)
	if err != nil {
		return op.fail(err)
	}
	inc := program.Increment{
		Column: c.info, Delta: delta, Min: limits.Min, Max: limits.Max,
		LimitCode: CodeOutOfLimits, NullCode: CodeNullIncrement,
	}
	code, err := inc.Program()
	if err != nil {
		return op.fail(fmt.Errorf("ndb: %w", err))
	}
	return op.run(code)
}

// Returning makes an update or a delete read the row, in the same round trip:
// as the update leaves it, or as it was before the delete.
func (op *Operation) Returning(columns *Projection, row *Row) *Operation {
	switch {
	case op.err != nil:
		return op
	case op.row != nil:
		return op.fail(errTwoReturnings)
	case op.kind != opUpdate && op.kind != opDelete:
		return op.fail(errNoCondition)
	case !op.version.takes(columns.def):
		return op.fail(errStale)
	}
	row.begin(columns)
	op.row = row
	return op.interpret(func(p *program.Interpreted) {
		if op.kind == opDelete {
			p.InitialRead = columns.readList
		} else {
			p.FinalRead = columns.readList
		}
	})
}

// run makes the operation run a program against the row.
func (op *Operation) run(code []byte) *Operation {
	if op.kind != opUpdate && op.kind != opDelete {
		return op.fail(errNoCondition)
	}
	if op.hasProgram {
		return op.fail(errOneProgram)
	}
	op.hasProgram = true
	return op.interpret(func(p *program.Interpreted) { p.Program = code })
}

// interpret changes the parts of ATTRINFO in the form that an interpreted
// operation has.
func (op *Operation) interpret(change func(*program.Interpreted)) *Operation {
	p := program.Interpreted{Program: program.Accept(), Update: op.attrInfo}
	if op.interpreted {
		if err := p.Decode(op.attrInfo); err != nil {
			panic("ndb: an operation of our own that cannot be read: " + err.Error())
		}
	}
	change(&p)
	op.interpreted, op.attrInfo = true, p.AppendTo(nil)
	if len(op.keyInfo)+len(op.attrInfo) > maxOperationBytes {
		return op.fail(errTooLarge)
	}
	return op
}

func (op *Operation) fail(err error) *Operation {
	op.err = err
	return op
}
