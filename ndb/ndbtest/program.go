package ndbtest

import (
	"bytes"
	"errors"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/program"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is interpreted operations, as DBTUP runs them:
//
//   - their ATTRINFO has five parts: initial read, program, update, final read
//     and subroutines. An update or delete does the initial read, the program,
//     the update and the final read; a read does the program first; the answers
//     come together;
//   - a program that refuses the row fails the operation with its code;
//   - a write of a row that is not there inserts the update list, and the program
//     does not run;
//   - a program that makes data nodes compare what is not a value is a
//     Violation, and so is one whose effect is not known.

const codeBadAttrInfo = 874

// executeProgram does an interpreted operation with the lock of the row held.
func (op *rowOp) executeProgram(v *version) (finished bool) {
	var parts program.Interpreted
	if parts.Decode(op.attrInfo) != nil {
		return op.fail(failure(codeBadAttrInfo))
	}
	if v == nil { // a write: inserts were refused
		return op.write(nil, parts.Update)
	}
	var err *opError
	reads := op.reads()
	answer := []byte{}
	if !reads {
		if answer, err = op.row.appendRead(answer, v, parts.InitialRead); err != nil {
			return op.fail(err)
		}
	}
	values, err := op.interpret(v, parts.Program)
	if err != nil {
		return op.fail(err)
	}
	if reads {
		if answer, err = op.row.appendRead(answer, v, parts.InitialRead); err != nil {
			return op.fail(err)
		}
	}
	after := v
	switch {
	case reads:
	case op.kind == signal.OpDelete:
		after = nil
	default:
		if values, err = op.newValues(&version{values: values}, parts.Update); err != nil {
			return op.fail(err)
		}
		after = &version{values: values}
	}
	if after != nil {
		if answer, err = op.row.appendRead(answer, after, parts.FinalRead); err != nil {
			return op.fail(err)
		}
	}
	op.answer = answer
	return reads || op.replace(v, after)
}

// interpret runs a program on the row. It returns the values that the program
// leaves.
func (op *rowOp) interpret(v *version, code []byte) ([][]byte, *opError) {
	columns := op.table.desc.Columns
	values := slices.Clone(v.values)
	if missing := len(columns) - len(values); missing > 0 {
		values = append(values, make([][]byte, missing)...)
	}
	if len(code) == 0 {
		return values, nil
	}
	m := newMachine(op.table.weigh, columns, func(id uint16) []byte { return values[id] })
	if op.kind == signal.OpUpdate || op.kind == signal.OpWrite {
		m.Store = func(c *dictinfo.Column, value []byte) error {
			if c.Key {
				return &program.CodeError{Code: codeKeyUpdated}
			}
			values[c.ID] = slices.Clone(value)
			return nil
		}
	}
	result, err := m.Run(code)
	switch {
	case err != nil:
		return nil, op.programError(err)
	case result.Outcome == program.Refused:
		return nil, failure(uint32(result.Code))
	}
	return values, nil
}

func newMachine(weigh weigher, columns []dictinfo.Column, value func(id uint16) []byte) *program.Machine {
	return &program.Machine{
		Column: func(id uint16) *dictinfo.Column {
			if int(id) >= len(columns) {
				return nil
			}
			return &columns[id]
		},
		Value:   func(c *dictinfo.Column) []byte { return value(c.ID) },
		Compare: weigh.compareContent,
		Match:   matchLike,
	}
}

// matchLike is LIKE. Text with characters whose weights are not known is
// compared character by character, with ASCII letters folded where the
// collation does that.
func matchLike(c *dictinfo.Column, value, pattern []byte) (matches, ok bool) {
	if matches, ok := program.MatchLike(c, value, pattern); ok {
		return matches, true
	}
	lower, _ := knownWeight(c.Charset, []byte{'a'})
	upper, _ := knownWeight(c.Charset, []byte{'A'})
	if lower == upper {
		value, pattern = bytes.ToLower(value), bytes.ToLower(pattern)
	}
	plain := *c
	plain.Charset = row.CollationUTF8MB4Bin
	return program.MatchLike(&plain, value, pattern)
}

// programError is the failure that a program's error means.
func (op *rowOp) programError(err error) *opError {
	var code *program.CodeError
	if errors.As(err, &code) {
		return failure(uint32(code.Code))
	}
	if op.link != nil {
		op.link.badProgram(signal.GSNTCKeyReq, err)
	}
	return failure(program.CodeBadOpcode)
}

// badProgram reports a program that no data node may see.
func (l *link) badProgram(gsn signal.GSN, err error) {
	rule, effect := "programs do only what is known of the data nodes", effectIgnored
	if errors.Is(err, program.ErrStopsNode) {
		rule, effect = "programs are well-formed and compare values with values", effectAllStop
	}
	l.violates(gsn, rule, effect, "%v", err)
}
