package program

// Opcodes, in bits 0 to 5 of an instruction.
const (
	opLoadColumn        = 1
	opStoreColumn       = 2
	opLoadNull          = 3
	opLoad16            = 4
	opLoad32            = 5
	opLoad64            = 6
	opAdd               = 7
	opSubtract          = 8
	opJump              = 9
	opJumpNull          = 10
	opJumpNotNull       = 11
	opJumpEQ            = 12 // up to opJumpGE in the order of Condition
	opJumpGE            = 17
	opAccept            = 18
	opRefuse            = 19
	opCall              = 20
	opReturn            = 21
	opAcceptLast        = 22
	opJumpColumn        = 23 // a second word names column and length, then comes the constant
	opJumpColumnNull    = 24
	opJumpColumnNotNull = 25
	opJumpColumnParam   = 26
	opJumpColumnColumn  = 27 // a second word names both columns
)

// The other bits of an instruction.
const (
	opMask         = 1<<6 - 1
	registerShift  = 6 // the register, or the left one
	rightShift     = 9
	registerMask   = 1<<3 - 1
	operandShift   = 16
	backwardsBit   = 1 << 31 // of a jump, whose distance counts from itself
	distanceMask   = 0x7fff
	conditionShift = 12 // of jumps on columns
	conditionMask  = 0xf
	nullRuleShift  = 6
	nullRuleMask   = 3
	attrShift      = 16 // in first and second words
	attrLengthMask = 0xffff
)

const (
	// maxProgramWords is the reference client's limit; data nodes copy a filter
	// into a buffer of 16384 words.
	maxProgramWords = 15_359
	// maxInstructionsInRow is how many instructions run for one row.
	maxInstructionsInRow = 8_000
)

// Codes of Builder.Refuse.
const (
	RefuseNoMatch = 626  // passes over a row in a scan
	MinRefuseCode = 6000 // the first that belongs to applications
	MaxRefuseCode = 6999 // the last
)

// Register is one of the eight registers, each a 64-bit number or NULL. They
// start as NULL.
type Register uint8

// The registers.
const (
	R0 Register = iota
	R1
	R2
	R3
	R4
	R5
	R6
	R7
)

// Condition compares two values.
type Condition uint8

// The conditions. Like and NotLike are for text and binary strings only.
const (
	EQ Condition = iota
	NE
	LT
	LE
	GT
	GE
	Like
	NotLike
)

var conditionNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "LIKE", "NOT LIKE"}

// String gives the operator of SQL.
func (c Condition) String() string {
	if int(c) < len(conditionNames) {
		return conditionNames[c]
	}
	return "unknown condition"
}

// Negated returns the condition that holds where c does not, NULL aside.
func (c Condition) Negated() Condition {
	return [...]Condition{EQ: NE, NE: EQ, LT: GE, LE: GT, GT: LE, GE: LT, Like: NotLike, NotLike: Like}[c]
}

// swapped returns the condition that holds for (b, a) where c does for (a, b).
func (c Condition) swapped() Condition {
	return [...]Condition{EQ: EQ, NE: NE, LT: GT, LE: GE, GT: LT, GE: LE, Like: Like, NotLike: NotLike}[c]
}

// NullRule says what a comparison does where either side is NULL. Data nodes
// before 8.0.26 do not know the rules and take NullIsLeast always.
type NullRule uint8

// The rules.
const (
	NullIsLeast NullRule = 0 // NULL equals NULL and is less than all else; LIKE does not jump, NOT LIKE neither
	NullJumps   NullRule = 2
	NullGoesOn  NullRule = 3
)
