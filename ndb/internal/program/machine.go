package program

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Codes with which data nodes refuse a program.
const (
	CodeBadOpcode     = 871
	CodeJumpOutside   = 876
	CodeUnknownColumn = 879
	CodeTooManySteps  = 886
	CodeLikeOnNumber  = 892
)

// CodeError is an error that a data node answers with.
type CodeError struct{ Code int }

// Error gives the code.
func (e *CodeError) Error() string { return fmt.Sprintf("program refused with code %d", e.Code) }

// ErrStopsNode says that the program would stop a data node, or make it read
// what is not part of the constant. ErrUnknown says that it does what the real
// machine is not known well enough for. Neither is an answer: both are for
// tests to fail with.
var (
	ErrStopsNode = errors.New("program that no data node may see")
	ErrUnknown   = errors.New("program with effects that are not known")
)

// Outcome is how a program ended.
type Outcome uint8

// The outcomes.
const (
	Accepted     Outcome = iota
	AcceptedLast         // and the scan of the fragment is over
	Refused
)

// Result is what became of a row. Code is that of Refused.
type Result struct {
	Outcome Outcome
	Code    int
}

// Machine runs programs against one row at a time. All functions but Column
// and Value have defaults.
type Machine struct {
	// Column returns the column of an attribute id, nil where there is none.
	Column func(id uint16) *dictinfo.Column
	// Value returns the value of a column, length bytes included, nil for NULL.
	Value func(c *dictinfo.Column) []byte
	// Store takes the value, of the column's size, that an instruction writes;
	// nil is NULL. Without it, writing is ErrUnknown.
	Store func(c *dictinfo.Column, value []byte) error
	// Compare orders two values without length bytes, as row.Compare does.
	Compare func(c *dictinfo.Column, a, b []byte) (order int, ok bool)
	// Match tells whether a value without length bytes is LIKE a pattern, as
	// MatchLike does.
	Match func(c *dictinfo.Column, value, pattern []byte) (matches, ok bool)
}

// run is the state of one run.
type run struct {
	*Machine
	words     []byte
	pc        int
	registers [registerMask + 1]register
}

type register struct {
	value uint64
	null  bool
}

// Run runs a program. Errors are a *CodeError, or wrap ErrStopsNode or
// ErrUnknown.
func (m *Machine) Run(program []byte) (Result, error) {
	if len(program)%word.SizeBytes != 0 || len(program) > maxProgramWords*word.SizeBytes {
		return Result{}, fmt.Errorf("%w: %d bytes", ErrStopsNode, len(program))
	}
	r := run{Machine: m, words: program}
	for i := range r.registers {
		r.registers[i].null = true
	}
	for range maxInstructionsInRow {
		if r.pc >= r.size() {
			return Result{}, &CodeError{CodeJumpOutside}
		}
		result, ended, err := r.step(r.at(r.pc))
		if ended || err != nil {
			return result, err
		}
	}
	return Result{}, &CodeError{CodeTooManySteps}
}

func (r *run) size() int       { return len(r.words) / word.SizeBytes }
func (r *run) at(i int) uint32 { return word.At(r.words, i) }

// step does one instruction and moves on.
func (r *run) step(instruction uint32) (result Result, ended bool, err error) {
	x := &r.registers[instruction>>registerShift&registerMask]
	y := &r.registers[instruction>>rightShift&registerMask]
	switch op := instruction & opMask; op {
	case opLoadColumn:
		err = r.loadColumn(x, uint16(instruction>>attrShift))
	case opStoreColumn:
		err = r.storeColumn(x, uint16(instruction>>attrShift))
	case opLoadNull:
		*x = register{null: true}
	case opLoad16:
		*x = register{value: uint64(instruction >> operandShift)}
	case opLoad32, opLoad64:
		return result, false, r.loadConstant(x, int(op-opLoad32)+1)
	case opAdd, opSubtract:
		err = r.calculate(op, x, y, &r.registers[instruction>>operandShift&registerMask])
	case opJump:
		return result, false, r.jumpIf(true, instruction, 1)
	case opJumpNull, opJumpNotNull:
		return result, false, r.jumpIf(x.null == (op == opJumpNull), instruction, 1)
	case opAccept:
		return Result{Outcome: Accepted}, true, nil
	case opAcceptLast:
		return Result{Outcome: AcceptedLast}, true, nil
	case opRefuse:
		return Result{Outcome: Refused, Code: int(instruction >> operandShift)}, true, nil
	case opJumpColumn, opJumpColumnNull, opJumpColumnNotNull, opJumpColumnColumn:
		return result, false, r.columnStep(op, instruction)
	case opCall, opReturn, opJumpColumnParam:
		return result, false, fmt.Errorf("%w: opcode %d", ErrUnknown, op)
	default:
		if op < opJumpEQ || op > opJumpGE {
			return result, false, &CodeError{CodeBadOpcode}
		}
		if x.null || y.null {
			return result, false, fmt.Errorf("%w: comparison of NULL in registers", ErrUnknown)
		}
		return result, false, r.jumpIf(holds(Condition(op-opJumpEQ), signedOrder(x.value, y.value)), instruction, 1)
	}
	r.pc++
	return result, false, err
}

func signedOrder(x, y uint64) int {
	switch {
	case int64(x) < int64(y):
		return -1
	case int64(x) > int64(y):
		return 1
	}
	return 0
}

// holds tells whether the condition holds for a pair of that order.
func holds(cond Condition, order int) bool {
	switch cond {
	case EQ:
		return order == 0
	case NE:
		return order != 0
	case LT:
		return order < 0
	case LE:
		return order <= 0
	case GT:
		return order > 0
	default:
		return order >= 0
	}
}

// jumpIf jumps, or goes on behind the words of the instruction.
func (r *run) jumpIf(jump bool, instruction uint32, sizeWords int) error {
	if !jump {
		r.pc += sizeWords
		return nil
	}
	distance := int(instruction >> operandShift & distanceMask)
	if instruction&backwardsBit != 0 {
		distance = -distance
	}
	r.pc += distance
	if r.pc < 0 || r.pc >= r.size() {
		return &CodeError{CodeJumpOutside}
	}
	return nil
}

// column returns the column, and its value once the length bytes agree.
func (r *run) column(id uint16) (*dictinfo.Column, []byte, error) {
	c := r.Column(id)
	if c == nil {
		return nil, nil, &CodeError{CodeUnknownColumn}
	}
	value := r.Value(c)
	if value != nil {
		if err := row.CheckValue(c, value); err != nil {
			return nil, nil, err
		}
	}
	return c, value, nil
}

func registerBytes(c *dictinfo.Column) int {
	switch c.Type {
	case dictinfo.TypeInt, dictinfo.TypeUnsigned:
		return 4
	case dictinfo.TypeBigint, dictinfo.TypeBigunsigned:
		return 8
	}
	return 0
}

// loadColumn fills up with zeros: the sign of an INT is lost.
func (r *run) loadColumn(x *register, id uint16) error {
	c, value, err := r.column(id)
	switch {
	case err != nil:
		return err
	case registerBytes(c) == 0:
		return fmt.Errorf("%w: column %s (%v) in a register", ErrUnknown, c.Name, c.Type)
	case value == nil:
		*x = register{null: true}
		return nil
	}
	var b [8]byte
	copy(b[:], value)
	*x = register{value: binary.LittleEndian.Uint64(b[:])}
	return nil
}

func (r *run) storeColumn(x *register, id uint16) error {
	c := r.Column(id)
	switch {
	case c == nil:
		return &CodeError{CodeUnknownColumn}
	case registerBytes(c) == 0 || r.Store == nil:
		return fmt.Errorf("%w: column %s (%v) from a register", ErrUnknown, c.Name, c.Type)
	case x.null && !c.Nullable:
		return fmt.Errorf("%w: NULL into column %s", ErrUnknown, c.Name)
	case x.null:
		return r.Store(c, nil)
	}
	value := binary.LittleEndian.AppendUint64(nil, x.value)
	return r.Store(c, value[:registerBytes(c)])
}

func (r *run) loadConstant(x *register, sizeWords int) error {
	if r.pc+sizeWords >= r.size() {
		return &CodeError{CodeJumpOutside}
	}
	value := uint64(r.at(r.pc + 1))
	if sizeWords == 2 {
		value |= uint64(r.at(r.pc+2)) << 32
	}
	*x = register{value: value}
	r.pc += 1 + sizeWords
	return nil
}

func (r *run) calculate(op uint32, x, y, to *register) error {
	if x.null || y.null {
		return fmt.Errorf("%w: calculation with NULL", ErrUnknown)
	}
	if op == opAdd {
		*to = register{value: x.value + y.value}
	} else {
		*to = register{value: x.value - y.value}
	}
	return nil
}

// columnStep does the jumps that look at columns.
func (r *run) columnStep(op, instruction uint32) error {
	if r.pc+1 >= r.size() {
		return fmt.Errorf("%w: instruction cut off", ErrStopsNode)
	}
	second := r.at(r.pc + 1)
	c, value, err := r.column(uint16(second >> attrShift))
	if err != nil {
		return err
	}
	switch op {
	case opJumpColumnNull, opJumpColumnNotNull:
		return r.jumpIf((value == nil) == (op == opJumpColumnNull), instruction, 2)
	case opJumpColumnColumn:
		other, otherValue, err := r.column(uint16(second))
		if err != nil {
			return err
		}
		if err := checkColumns(EQ, c, other); err != nil {
			return fmt.Errorf("%w: %w", ErrStopsNode, err)
		}
		jump, err := r.compare(instruction, c, value, otherValue)
		if err != nil {
			return err
		}
		return r.jumpIf(jump, instruction, 2)
	}
	length := int(second & attrLengthMask)
	padded := word.PaddedBytes(length)
	rest := r.words[(r.pc+2)*word.SizeBytes:]
	if padded > len(rest) {
		return fmt.Errorf("%w: constant cut off", ErrStopsNode)
	}
	var constant []byte // of length 0: NULL
	if length > 0 {
		constant = rest[:length]
	}
	jump, err := r.compare(instruction, c, value, constant)
	if err != nil {
		return err
	}
	return r.jumpIf(jump, instruction, 2+padded/word.SizeBytes)
}

// compare tells whether the comparison of a column with another value jumps.
func (r *run) compare(instruction uint32, c *dictinfo.Column, value, other []byte) (bool, error) {
	cond := Condition(instruction >> conditionShift & conditionMask)
	rule := NullRule(instruction >> nullRuleShift & nullRuleMask)
	if cond > NotLike {
		return false, fmt.Errorf("%w: condition %d", ErrUnknown, cond)
	}
	isLike := cond == Like || cond == NotLike
	if isLike && !takesPattern(c) {
		return false, &CodeError{CodeLikeOnNumber}
	}
	if other != nil {
		if err := checkConstant(cond, c, other); err != nil {
			return false, fmt.Errorf("%w: %w", ErrStopsNode, err)
		}
	}
	if value == nil || other == nil {
		return compareNull(rule, cond, value == nil, other == nil)
	}
	if isLike {
		match := r.Match
		if match == nil {
			match = MatchLike
		}
		matches, ok := match(c, row.Content(c, value), other)
		if !ok {
			return false, fmt.Errorf("%w: LIKE by the collation of column %s", ErrUnknown, c.Name)
		}
		return matches == (cond == Like), nil
	}
	compare := r.Compare
	if compare == nil {
		compare = row.Compare
	}
	order, ok := compare(c, row.Content(c, value), row.Content(c, other))
	if !ok {
		return false, fmt.Errorf("%w: order of column %s (%v)", ErrUnknown, c.Name, c.Type)
	}
	return holds(cond, -order), nil // the other value stands on the left
}

func compareNull(rule NullRule, cond Condition, left, right bool) (bool, error) {
	switch rule {
	case NullJumps:
		return true, nil
	case NullGoesOn:
		return false, nil
	case NullIsLeast:
		if cond == Like || cond == NotLike {
			return false, nil
		}
		order := 0
		if left != right {
			order = 1
			if left {
				order = -1
			}
		}
		return holds(cond, -order), nil
	}
	return false, fmt.Errorf("%w: rule %d for NULL", ErrUnknown, rule)
}
