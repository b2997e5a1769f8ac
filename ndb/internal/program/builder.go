package program

import (
	"errors"
	"fmt"
	"math"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Errors of Builder and Compile. Values that do not fit their column give a
// *row.ValueError.
var (
	ErrTooLong = errors.New("program is too long")
	ErrInvalid = errors.New("invalid program")
)

// Label is a place in a program to jump to.
type Label int

// Builder assembles a program, one instruction after another. Its methods
// never fail; the first error stays and Program returns it. Jumps lead forward
// only, so that every program ends.
type Builder struct {
	words  []uint32
	labels []label
	ended  bool // nothing runs on to the next instruction
	err    error
}

type label struct {
	place int   // -1 until placed
	jumps []int // instructions that lead to it
}

// NewLabel returns a label that is to be placed later.
func (b *Builder) NewLabel() Label {
	b.labels = append(b.labels, label{place: -1})
	return Label(len(b.labels) - 1)
}

// Place puts the label before the next instruction.
func (b *Builder) Place(l Label) {
	if !b.knows(l) {
		return
	}
	if b.labels[l].place >= 0 {
		b.fail("label %d is placed twice", l)
		return
	}
	b.labels[l].place = len(b.words)
	if len(b.labels[l].jumps) > 0 {
		b.ended = false
	}
}

// Jump goes to l.
func (b *Builder) Jump(l Label) {
	b.jump(opJump, l)
	b.ended = true
}

// Accept ends the program: the row is taken.
func (b *Builder) Accept() {
	b.add(opAccept)
	b.ended = true
}

// AcceptLast is Accept, and the scan of this fragment ends with the row.
func (b *Builder) AcceptLast() {
	b.add(opAcceptLast)
	b.ended = true
}

// Refuse ends the program: with RefuseNoMatch, a scan passes over the row. Any
// other code, of MinRefuseCode to MaxRefuseCode, is an error of the operation.
func (b *Builder) Refuse(code int) {
	if code != RefuseNoMatch && (code < MinRefuseCode || code > MaxRefuseCode) {
		b.fail("code %d is not one of applications", code)
		return
	}
	b.add(opRefuse | uint32(code)<<operandShift)
	b.ended = true
}

// LoadNull sets r to NULL.
func (b *Builder) LoadNull(r Register) { b.add(opLoadNull | left(r)) }

// LoadInt64 sets r to v.
func (b *Builder) LoadInt64(r Register, v int64) {
	switch {
	case v >= 0 && v <= math.MaxUint16:
		b.add(opLoad16 | left(r) | uint32(v)<<operandShift)
	case v >= 0 && v <= math.MaxInt32:
		b.add(opLoad32|left(r), uint32(v))
	default:
		b.add(opLoad64|left(r), uint32(v), uint32(uint64(v)>>32))
	}
}

// LoadColumn sets r to the column of 32 or 64 bits. It does not extend the
// sign: a negative INT looks like the number plus 1<<32.
func (b *Builder) LoadColumn(r Register, c *dictinfo.Column) {
	if b.fitsRegister(c) {
		b.add(opLoadColumn | left(r) | uint32(c.ID)<<attrShift)
	}
}

// StoreColumn sets the column of 32 or 64 bits to r, or its lower half.
// Programs of updates may do so.
func (b *Builder) StoreColumn(c *dictinfo.Column, r Register) {
	if c.Key {
		b.fail("column %s is part of the key", c.Name)
		return
	}
	if b.fitsRegister(c) {
		b.add(opStoreColumn | left(r) | uint32(c.ID)<<attrShift)
	}
}

// Add sets sum to x plus y, which wraps around.
func (b *Builder) Add(sum, x, y Register) {
	b.add(opAdd | left(x) | right(y) | uint32(sum&registerMask)<<operandShift)
}

// Subtract sets difference to x minus y, which wraps around.
func (b *Builder) Subtract(difference, x, y Register) {
	b.add(opSubtract | left(x) | right(y) | uint32(difference&registerMask)<<operandShift)
}

// JumpNull goes to l where r is NULL.
func (b *Builder) JumpNull(r Register, l Label) { b.jump(opJumpNull|left(r), l) }

// JumpNotNull goes to l where r is not NULL.
func (b *Builder) JumpNotNull(r Register, l Label) { b.jump(opJumpNotNull|left(r), l) }

// JumpRegisters goes to l where the condition holds for x and y as signed
// numbers. Neither may be NULL.
func (b *Builder) JumpRegisters(cond Condition, x, y Register, l Label) {
	if cond > GE {
		b.fail("%v between registers", cond)
		return
	}
	b.jump(opJumpEQ+uint32(cond)|left(x)|right(y), l)
}

// JumpColumnNull goes to l where the column is NULL.
func (b *Builder) JumpColumnNull(c *dictinfo.Column, l Label) { b.jumpColumn(opJumpColumnNull, c, l) }

// JumpColumnNotNull goes to l where the column is not NULL.
func (b *Builder) JumpColumnNotNull(c *dictinfo.Column, l Label) {
	b.jumpColumn(opJumpColumnNotNull, c, l)
}

func (b *Builder) jumpColumn(op uint32, c *dictinfo.Column, l Label) {
	if err := usable(c); err != nil {
		b.setError(err)
		return
	}
	b.jump(op, l, uint32(c.ID)<<attrShift)
}

// JumpColumn goes to l where "column cond value" holds. The value is that of
// package row's FormBare, and for Like and NotLike that of its AppendPattern.
func (b *Builder) JumpColumn(cond Condition, rule NullRule, c *dictinfo.Column, value []byte, l Label) {
	if err := checkConstant(cond, c, value); err != nil {
		b.setError(err)
		return
	}
	// Data nodes ask whether "value cond column" holds.
	instruction := opJumpColumn | comparison(cond.swapped(), rule)
	words := []uint32{uint32(row.NewAttrHeader(c.ID, len(value)))}
	padded := word.AppendPadded(nil, value)
	for i := range len(padded) / word.SizeBytes {
		words = append(words, word.At(padded, i))
	}
	b.jump(instruction, l, words...)
}

// JumpColumns goes to l where "x cond y" holds for two columns of the same
// type, size and character set.
func (b *Builder) JumpColumns(cond Condition, rule NullRule, x, y *dictinfo.Column, l Label) {
	if err := checkColumns(cond, x, y); err != nil {
		b.setError(err)
		return
	}
	b.jump(opJumpColumnColumn|comparison(columnsCondition(cond), rule), l, uint32(x.ID)<<attrShift|uint32(y.ID))
}

// columnsCondition is the condition as data nodes take it between columns: they
// ask whether "y cond x" holds.
func columnsCondition(cond Condition) Condition { return cond.swapped() }

func comparison(cond Condition, rule NullRule) uint32 {
	return uint32(cond)<<conditionShift | uint32(rule)<<nullRuleShift
}

func left(r Register) uint32  { return uint32(r&registerMask) << registerShift }
func right(r Register) uint32 { return uint32(r&registerMask) << rightShift }

// Program returns the program. It fails where any instruction failed, a label
// that is jumped to was not placed before an instruction, the end can be run
// over, or the program is longer than data nodes take.
func (b *Builder) Program() ([]byte, error) {
	if len(b.words) == 0 || !b.ended {
		b.fail("runs over its end")
	}
	words := append([]uint32(nil), b.words...)
	for i, l := range b.labels {
		if len(l.jumps) > 0 && (l.place < 0 || l.place >= len(words)) {
			b.fail("label %d is not in the program", i)
		}
		for _, jump := range l.jumps {
			words[jump] |= uint32(l.place-jump) << operandShift
		}
	}
	if len(words) > maxProgramWords {
		b.setError(fmt.Errorf("%w: %d words, at most %d", ErrTooLong, len(words), maxProgramWords))
	}
	if b.err != nil {
		return nil, b.err
	}
	return word.Append(nil, words...), nil
}

func (b *Builder) jump(instruction uint32, l Label, more ...uint32) {
	if !b.knows(l) {
		return
	}
	if b.labels[l].place >= 0 {
		b.fail("jump back to label %d", l)
		return
	}
	at := len(b.words)
	b.add(append([]uint32{instruction}, more...)...)
	if b.err == nil {
		b.labels[l].jumps = append(b.labels[l].jumps, at)
	}
}

func (b *Builder) add(words ...uint32) {
	if len(b.words)+len(words) > maxProgramWords {
		b.setError(fmt.Errorf("%w: more than %d words", ErrTooLong, maxProgramWords))
	}
	if b.err != nil {
		return
	}
	b.words = append(b.words, words...)
	b.ended = false
}

func (b *Builder) knows(l Label) bool {
	if l < 0 || int(l) >= len(b.labels) {
		b.fail("label %d is of another program", l)
		return false
	}
	return true
}

func (b *Builder) fail(format string, args ...any) {
	b.setError(fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...)))
}

func (b *Builder) setError(err error) {
	if b.err == nil {
		b.err = err
	}
}

// fitsRegister tells whether programs can load and store the column.
func (b *Builder) fitsRegister(c *dictinfo.Column) bool {
	switch c.Type {
	case dictinfo.TypeInt, dictinfo.TypeUnsigned, dictinfo.TypeBigint, dictinfo.TypeBigunsigned:
		return true
	}
	b.fail("column %s (%v) does not fit a register", c.Name, c.Type)
	return false
}

// usable refuses columns that data nodes cannot compare.
func usable(c *dictinfo.Column) error { return row.Supported(c) }

// checkConstant refuses what makes data nodes read beyond the constant: they
// trust its length bytes, and stop themselves when these are wrong.
func checkConstant(cond Condition, c *dictinfo.Column, value []byte) error {
	if err := usable(c); err != nil {
		return err
	}
	if cond == Like || cond == NotLike {
		if !takesPattern(c) || len(value) == 0 || len(value) > row.MaxValueBytes {
			return fmt.Errorf("%w: column %s (%v) %v a pattern of %d bytes", ErrInvalid, c.Name, c.Type, cond, len(value))
		}
		return nil
	}
	if cond > GE || value == nil {
		return fmt.Errorf("%w: column %s %v a constant of %d bytes", ErrInvalid, c.Name, cond, len(value))
	}
	if err := row.CheckValue(c, value); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

func takesPattern(c *dictinfo.Column) bool {
	switch c.Type {
	case dictinfo.TypeChar:
		return !row.IsNumbered(c)
	case dictinfo.TypeVarchar, dictinfo.TypeLongvarchar,
		dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
		return true
	}
	return false
}

func checkColumns(cond Condition, x, y *dictinfo.Column) error {
	if err := errors.Join(usable(x), usable(y)); err != nil {
		return err
	}
	if cond > GE || x.Type != y.Type || x.SizeBytes() != y.SizeBytes() || x.Charset != y.Charset ||
		x.Precision != y.Precision || x.Scale != y.Scale {
		return fmt.Errorf("%w: column %s (%v) %v column %s (%v)", ErrInvalid, x.Name, x.Type, cond, y.Name, y.Type)
	}
	return nil
}
