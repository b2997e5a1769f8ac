package program

import (
	"math"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Increment adds to a column of INT or BIGINT, signed or not, in the program of
// an update. Where the result would leave the column's type or the limits, or
// the column is NULL, the row is refused and stays as it is.
type Increment struct {
	Column    *dictinfo.Column
	Delta     int64  // may be negative
	Min, Max  *int64 // of the result; nil: what the type holds
	LimitCode int    // of MinRefuseCode to MaxRefuseCode
	NullCode  int    // likewise
}

// Program returns the program.
func (inc *Increment) Program() ([]byte, error) {
	var b Builder
	inc.emit(&b)
	return b.Program()
}

// A number of the column is taken through a mapping to int64 that keeps the
// order, so that the signed comparison of registers is right for all types.
//
//	INT                  the sign is extended: loading fills up with zeros
//	BIGINT, INT UNSIGNED as they are
//	BIGINT UNSIGNED      minus 1<<63, as a wrapping subtraction
func (inc *Increment) emit(b *Builder) {
	c := inc.Column
	tooMuch, isNull := b.NewLabel(), b.NewLabel()
	b.LoadColumn(R0, c)
	b.JumpNull(R0, isNull)
	switch c.Type {
	case dictinfo.TypeInt:
		positive := b.NewLabel()
		b.LoadInt64(R1, 1<<31)
		b.JumpRegisters(LT, R0, R1, positive)
		b.LoadInt64(R1, 1<<32)
		b.Subtract(R0, R0, R1)
		b.Place(positive)
	case dictinfo.TypeBigunsigned:
		b.LoadInt64(R1, math.MinInt64)
		b.Subtract(R0, R0, R1)
	}
	low, high, possible := inc.before()
	if !possible {
		b.Jump(tooMuch)
	} else {
		b.LoadInt64(R1, low)
		b.JumpRegisters(LT, R0, R1, tooMuch)
		b.LoadInt64(R1, high)
		b.JumpRegisters(GT, R0, R1, tooMuch)
		b.LoadInt64(R1, inc.Delta)
		b.Add(R0, R0, R1)
		if c.Type == dictinfo.TypeBigunsigned {
			b.LoadInt64(R1, math.MinInt64)
			b.Add(R0, R0, R1)
		}
		b.StoreColumn(c, R0)
		b.Accept()
	}
	b.Place(tooMuch)
	b.Refuse(inc.LimitCode)
	b.Place(isNull)
	b.Refuse(inc.NullCode)
}

// before returns between which mapped numbers the old value must be.
func (inc *Increment) before() (low, high int64, possible bool) {
	typeMin, typeMax := int64(math.MinInt64), int64(math.MaxInt64)
	mapped := func(v int64) (int64, bool) { return v, true }
	switch inc.Column.Type {
	case dictinfo.TypeInt:
		typeMin, typeMax = math.MinInt32, math.MaxInt32
	case dictinfo.TypeUnsigned:
		typeMin, typeMax = 0, math.MaxUint32
	case dictinfo.TypeBigunsigned:
		mapped = func(v int64) (int64, bool) { return v + math.MinInt64, v >= 0 }
	}
	resultMin, resultMax := typeMin, typeMax
	if inc.Min != nil {
		if v, ok := mapped(*inc.Min); ok {
			resultMin = max(resultMin, v)
		}
	}
	if inc.Max != nil {
		v, ok := mapped(*inc.Max)
		if !ok {
			return 0, 0, false
		}
		resultMax = min(resultMax, v)
	}
	if resultMin > resultMax {
		return 0, 0, false
	}
	low, lowOver := subtract(resultMin, inc.Delta)
	high, highOver := subtract(resultMax, inc.Delta)
	if lowOver > 0 || highOver < 0 {
		return 0, 0, false
	}
	if lowOver < 0 {
		low = math.MinInt64
	}
	if highOver > 0 {
		high = math.MaxInt64
	}
	low, high = max(low, typeMin), min(high, typeMax)
	return low, high, low <= high
}

// subtract returns x minus y, and 1 or -1 where that is above or below int64.
func subtract(x, y int64) (difference int64, over int) {
	difference = x - y
	switch {
	case y < 0 && difference < x:
		return 0, 1
	case y > 0 && difference > x:
		return 0, -1
	}
	return difference, 0
}
