package program

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// testRow has one value for each of allColumns, as Go values and as bytes.
type testRow struct {
	values []any
	bytes  map[uint16][]byte
}

func rowOf(t testing.TB, values ...any) *testRow {
	t.Helper()
	r := &testRow{values: values, bytes: map[uint16][]byte{}}
	for i, v := range values {
		if v != nil {
			r.bytes[uint16(i)] = bare(t, allColumns[i], v)
		}
	}
	return r
}

func (r *testRow) machine() *Machine {
	return &Machine{
		Column: columnByID,
		Value:  func(c *dictinfo.Column) []byte { return r.bytes[c.ID] },
		Store: func(c *dictinfo.Column, value []byte) error {
			r.bytes[c.ID] = value
			return nil
		},
	}
}

// truth is the logic of SQL.
type truth int

const (
	isFalse truth = iota
	unknown
	isTrue
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// evaluate is the meaning of filters, apart from programs: it looks at the Go
// values. Text is of letters, and compares without case.
func (r *testRow) evaluate(f Filter) truth {
	switch f := f.(type) {
	case and:
		result := isTrue
		for _, member := range f {
			result = min(result, r.evaluate(member))
		}
		return result
	case or:
		result := isFalse
		for _, member := range f {
			result = max(result, r.evaluate(member))
		}
		return result
	case not:
		return isTrue - r.evaluate(f.of)
	case nullTest:
		return truthOf((r.values[f.column.ID] == nil) == f.isNull)
	case compare:
		return compareValues(r.values[f.column.ID], f.cond, f.value)
	case compareColumns:
		return compareValues(r.values[f.x.ID], f.cond, r.values[f.y.ID])
	}
	panic(fmt.Sprintf("filter %T", f))
}

func compareValues(a any, cond Condition, b any) truth {
	if a == nil || b == nil {
		return unknown
	}
	if text, ok := a.(string); ok {
		text, other := strings.ToLower(text), strings.ToLower(b.(string))
		if cond == Like || cond == NotLike {
			return truthOf(likeSlowly(text, other) == (cond == Like))
		}
		return truthOf(holds(cond, strings.Compare(text, other)))
	}
	x, _ := new(big.Int).SetString(fmt.Sprint(a), 10)
	y, _ := new(big.Int).SetString(fmt.Sprint(b), 10)
	return truthOf(holds(cond, x.Cmp(y)))
}

// likeSlowly tries everything.
func likeSlowly(text, pattern string) bool {
	if pattern == "" {
		return text == ""
	}
	switch pattern[0] {
	case '%':
		for i := range len(text) + 1 {
			if likeSlowly(text[i:], pattern[1:]) {
				return true
			}
		}
		return false
	case '_':
		return text != "" && likeSlowly(text[1:], pattern[1:])
	case '\\':
		pattern = pattern[1:]
	}
	return text != "" && text[0] == pattern[0] && likeSlowly(text[1:], pattern[1:])
}

func randomWord(r *rand.Rand, letters string, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteByte(letters[r.IntN(len(letters))])
	}
	return b.String()
}

func randomValue(r *rand.Rand, c *dictinfo.Column, nulls bool) any {
	if nulls && c.Nullable && r.IntN(4) == 0 {
		return nil
	}
	switch c.Type {
	case dictinfo.TypeVarchar:
		return randomWord(r, "abAB", 3)
	case dictinfo.TypeInt:
		return int64([...]int{math.MinInt32, -1, 0, 1, math.MaxInt32}[r.IntN(5)])
	case dictinfo.TypeBigint:
		return [...]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[r.IntN(5)]
	case dictinfo.TypeBigunsigned:
		return [...]uint64{0, 1, 2, 1 << 63, math.MaxUint64}[r.IntN(5)]
	}
	return [...]uint64{0, 1, 2, 1 << 31, math.MaxUint32}[r.IntN(5)]
}

func randomFilter(r *rand.Rand, depth int) Filter {
	if depth > 0 {
		switch r.IntN(5) {
		case 0, 1:
			members := make([]Filter, r.IntN(4))
			for i := range members {
				members[i] = randomFilter(r, depth-1)
			}
			if r.IntN(2) == 0 {
				return And(members...)
			}
			return Or(members...)
		case 2:
			return Not(randomFilter(r, depth-1))
		}
	}
	c := allColumns[r.IntN(len(allColumns))]
	switch r.IntN(6) {
	case 0:
		return IsNull(c)
	case 1:
		return IsNotNull(c)
	case 2:
		if c.Type == dictinfo.TypeVarchar {
			return CompareColumns(colFirst, Condition(r.IntN(6)), colLast)
		}
		return CompareColumns(colID, Condition(r.IntN(6)), colVersion)
	case 3:
		cond := Like
		if r.IntN(2) == 0 {
			cond = NotLike
		}
		return Compare(colLast, cond, randomWord(r, "aB%_", 3)+"%")
	}
	v := randomValue(r, c, true)
	if r.IntN(20) == 0 {
		v = nil
	}
	return Compare(c, Condition(r.IntN(6)), v)
}

func TestCompile_AgreesWithTheLogicOfSQL(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	accepted := 0
	const filters, rows = 3000, 10
	for range filters {
		f := randomFilter(r, 4)
		p, err := Compile(f, 6001)
		if err != nil {
			t.Fatalf("%#v: %v", f, err)
		}
		for range rows {
			var values []any
			for _, c := range allColumns {
				values = append(values, randomValue(r, c, true))
			}
			data := rowOf(t, values...)
			want := Result{Outcome: Refused, Code: 6001}
			if data.evaluate(f) == isTrue {
				want = Result{Outcome: Accepted}
				accepted++
			}
			got, err := data.machine().Run(p)
			if err != nil || got != want {
				t.Fatalf("%#v of %v: got %+v, %v, want %+v", f, values, got, err, want)
			}
		}
	}
	if accepted < filters*rows/10 || accepted > filters*rows*9/10 {
		t.Errorf("%d of %d rows were accepted: the filters test little", accepted, filters*rows)
	}
}

func TestCompile_NotLikeDoesNotPassNULL(t *testing.T) {
	r := rowOf(t, 1, nil, nil, nil, nil, nil, nil)
	for _, f := range []Filter{
		Compare(colLast, NotLike, "a%"),
		Not(Compare(colLast, Like, "a%")),
		Not(Compare(colDepartment, EQ, 3)),
		Not(And(Compare(colDepartment, EQ, 3), Compare(colID, EQ, 1))),
		Compare(colDepartment, NE, nil),
		Not(Compare(colDepartment, EQ, nil)),
	} {
		p, err := Compile(f, RefuseNoMatch)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.machine().Run(p)
		if want := (Result{Outcome: Refused, Code: RefuseNoMatch}); err != nil || got != want {
			t.Errorf("%#v: got %+v, %v, want %+v", f, got, err, want)
		}
	}
}

func TestCompileFirst_EndsTheScan(t *testing.T) {
	p, err := CompileFirst(Compare(colID, EQ, 1))
	if err != nil {
		t.Fatal(err)
	}
	got, err := rowOf(t, 1, nil, nil, nil, nil, nil, nil).machine().Run(p)
	if want := (Result{Outcome: AcceptedLast}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	got, err = rowOf(t, 2, nil, nil, nil, nil, nil, nil).machine().Run(p)
	if want := (Result{Outcome: Refused, Code: RefuseNoMatch}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	got, err = rowOf(t, 2).machine().Run(First())
	if want := (Result{Outcome: AcceptedLast}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func pointer(v int64) *int64 { return &v }

func TestIncrement_StaysWithinLimits(t *testing.T) {
	const limit, null = 6001, 6002
	minimum := map[dictinfo.Type]string{
		dictinfo.TypeInt: "-2147483648", dictinfo.TypeUnsigned: "0",
		dictinfo.TypeBigint: "-9223372036854775808", dictinfo.TypeBigunsigned: "0",
	}
	maximum := map[dictinfo.Type]string{
		dictinfo.TypeInt: "2147483647", dictinfo.TypeUnsigned: "4294967295",
		dictinfo.TypeBigint: "9223372036854775807", dictinfo.TypeBigunsigned: "18446744073709551615",
	}
	toBig := func(v any) *big.Int {
		n, ok := new(big.Int).SetString(fmt.Sprint(v), 10)
		if !ok {
			t.Fatal(v)
		}
		return n
	}
	limits := []*int64{nil, pointer(0), pointer(-5), pointer(7), pointer(math.MaxInt64), pointer(math.MinInt64), pointer(math.MaxInt32)}
	deltas := []int64{0, 1, -1, 5, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1 << 40}
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []*dictinfo.Column{colDepartment, colVersion, colSalary, colBalance} {
		for range 4000 {
			inc := Increment{
				Column: c, Delta: deltas[r.IntN(len(deltas))],
				Min: limits[r.IntN(len(limits))], Max: limits[r.IntN(len(limits))], LimitCode: limit, NullCode: null,
			}
			p, err := inc.Program()
			if err != nil {
				t.Fatal(err)
			}
			old := randomValue(r, c, true)
			values := make([]any, len(allColumns))
			values[c.ID] = old
			data := rowOf(t, values...)
			got, err := data.machine().Run(p)
			if err != nil {
				t.Fatal(err)
			}
			if old == nil {
				if want := (Result{Outcome: Refused, Code: null}); got != want {
					t.Errorf("%s: NULL: got %+v, want %+v", c.Name, got, want)
				}
				continue
			}
			sum := new(big.Int).Add(toBig(old), big.NewInt(inc.Delta))
			fits := sum.Cmp(toBig(minimum[c.Type])) >= 0 && sum.Cmp(toBig(maximum[c.Type])) <= 0 &&
				(inc.Min == nil || sum.Cmp(big.NewInt(*inc.Min)) >= 0) && (inc.Max == nil || sum.Cmp(big.NewInt(*inc.Max)) <= 0)
			want, wantValue := Result{Outcome: Refused, Code: limit}, toBig(old)
			if fits {
				want, wantValue = Result{Outcome: Accepted}, sum
			}
			after, err := row.Value(c, data.bytes[c.ID], row.Span{Len: uint32(c.SizeBytes())})
			if err != nil || got != want || toBig(after).Cmp(wantValue) != 0 {
				t.Fatalf("%s: %v plus %d within %v and %v: got %+v, %v, %v, want %+v, %v", c.Name, old, inc.Delta,
					show(inc.Min), show(inc.Max), got, after, err, want, wantValue)
			}
		}
	}
	text := Increment{Column: colLast, Delta: 1, LimitCode: limit, NullCode: null}
	if _, err := text.Program(); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func show(limit *int64) string {
	if limit == nil {
		return "none"
	}
	return fmt.Sprint(*limit)
}

func TestMachine_AnswersAsDataNodes(t *testing.T) {
	r := rowOf(t, 1, "abc", nil, -1, 5, 1, 1)
	code := func(n int) error { return &CodeError{n} }
	for name, test := range map[string]struct {
		words []uint32
		want  error
	}{
		"impossible opcode":      {[]uint32{63}, code(CodeBadOpcode)},
		"opcode 0":               {[]uint32{0}, code(CodeBadOpcode)},
		"endless loop":           {[]uint32{opLoadNull, opJump | 1<<operandShift | backwardsBit}, code(CodeTooManySteps)},
		"jump on itself":         {[]uint32{opJump}, code(CodeTooManySteps)},
		"jump behind the end":    {[]uint32{opJump | 1<<operandShift}, code(CodeJumpOutside)},
		"jump before the start":  {[]uint32{opJump | 1<<operandShift | backwardsBit}, code(CodeJumpOutside)},
		"nothing":                {nil, code(CodeJumpOutside)},
		"runs over the end":      {[]uint32{opLoadNull}, code(CodeJumpOutside)},
		"constant cut off":       {[]uint32{opLoad64, 1}, code(CodeJumpOutside)},
		"unknown column":         {[]uint32{opLoadColumn | 99<<attrShift}, code(CodeUnknownColumn)},
		"stores unknown column":  {[]uint32{opStoreColumn | 99<<attrShift}, code(CodeUnknownColumn)},
		"tests unknown column":   {[]uint32{opJumpColumnNull, 99 << attrShift}, code(CodeUnknownColumn)},
		"LIKE on a number":       {[]uint32{opJumpColumn | uint32(Like)<<conditionShift, 3<<attrShift | 1, '%'}, code(CodeLikeOnNumber)},
		"length byte too big":    {[]uint32{opJumpColumn, 1<<attrShift | 4, 0x63626109}, ErrStopsNode},
		"length byte too small":  {[]uint32{opJumpColumn, 1<<attrShift | 4, 0x63626102}, ErrStopsNode},
		"short number":           {[]uint32{opJumpColumn, 3<<attrShift | 2, 1}, ErrStopsNode},
		"instruction cut off":    {[]uint32{opJumpColumn}, ErrStopsNode},
		"column constant cut":    {[]uint32{opJumpColumn, 3<<attrShift | 4}, ErrStopsNode},
		"call":                   {[]uint32{opCall}, ErrUnknown},
		"parameter":              {[]uint32{opJumpColumnParam, 3 << attrShift}, ErrUnknown},
		"adds NULL":              {[]uint32{opAdd}, ErrUnknown},
		"compares NULL":          {[]uint32{opJumpEQ}, ErrUnknown},
		"text in a register":     {[]uint32{opLoadColumn | 1<<attrShift}, ErrUnknown},
		"mask condition":         {[]uint32{opJumpColumn | 8<<conditionShift, 3<<attrShift | 4, 1}, ErrUnknown},
		"rule 1 for NULL":        {[]uint32{opJumpColumn | 1<<nullRuleShift, 2<<attrShift | 2, 0x6101}, ErrUnknown},
		"columns of other types": {[]uint32{opJumpColumnColumn, 0<<attrShift | 4}, ErrStopsNode},
		"unknown second column":  {[]uint32{opJumpColumnColumn, 0<<attrShift | 99}, code(CodeUnknownColumn)},
	} {
		result, err := r.machine().Run(word.Append(nil, test.words...))
		var got, want *CodeError
		if errors.As(test.want, &want) {
			if !errors.As(err, &got) || *got != *want {
				t.Errorf("%s: got %+v, %v, want %v", name, result, err, test.want)
			}
			continue
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %+v, %v, want %v", name, result, err, test.want)
		}
	}
}

// NULL handling 0 lets NULL through a filter: the reason for the other rules.
func TestMachine_OldRuleForNULL(t *testing.T) {
	r := rowOf(t, 1, nil, nil, nil, 5, 1, 1)
	for _, test := range []struct {
		cond  Condition
		jumps bool
	}{{EQ, false}, {NE, true}, {LT, true}, {LE, true}, {GT, false}, {GE, false}} {
		var b Builder
		l := b.NewLabel()
		b.JumpColumn(test.cond, NullIsLeast, colDepartment, bare(t, colDepartment, 1), l)
		b.Refuse(RefuseNoMatch)
		b.Place(l)
		b.Accept()
		p, err := b.Program()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.machine().Run(p)
		if jumped := got.Outcome == Accepted; err != nil || jumped != test.jumps {
			t.Errorf("NULL %v 1: got %v, %v, want %v", test.cond, jumped, err, test.jumps)
		}
	}
}

func TestMachine_LoadsWithoutSign(t *testing.T) {
	r := rowOf(t, 1, nil, nil, -1, -1, 1, 1)
	var b Builder
	less := b.NewLabel()
	b.LoadColumn(R1, colDepartment)
	b.LoadInt64(R2, 0)
	b.JumpRegisters(LT, R1, R2, less)
	b.StoreColumn(colSalary, R1)
	b.Accept()
	b.Place(less)
	b.Refuse(6000)
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.machine().Run(p)
	if err != nil || got.Outcome != Accepted || binary.LittleEndian.Uint64(r.bytes[4]) != math.MaxUint32 {
		t.Errorf("got %+v, %v, %x", got, err, r.bytes[4])
	}
}

func TestMachine_NullInRegisters(t *testing.T) {
	r := rowOf(t, 1, nil, nil, nil, 5, 1, 1)
	var b Builder
	wrong := b.NewLabel()
	b.LoadColumn(R3, colDepartment)
	b.JumpNotNull(R3, wrong)
	b.LoadColumn(R4, colSalary)
	b.JumpNull(R4, wrong)
	b.LoadNull(R4)
	b.JumpNotNull(R4, wrong)
	b.StoreColumn(colSalary, R4)
	b.Accept()
	b.Place(wrong)
	b.Refuse(6000)
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.machine().Run(p)
	if err != nil || got.Outcome != Accepted || r.bytes[colSalary.ID] != nil {
		t.Errorf("got %+v, %v, %x", got, err, r.bytes[colSalary.ID])
	}
	m := rowOf(t, 1, nil, nil, nil, 5, 1, 1).machine()
	m.Store = nil
	if _, err := m.Run(p); !errors.Is(err, ErrUnknown) {
		t.Errorf("without Store: got %v", err)
	}
}

func TestMatchLike(t *testing.T) {
	text := func(charset uint16) *dictinfo.Column {
		c := *colLast
		c.Charset = charset
		return &c
	}
	char := *colLast
	char.Type, char.ArrayType = dictinfo.TypeChar, dictinfo.ArrayFixed
	binaryColumn := &dictinfo.Column{Name: "b", Type: dictinfo.TypeVarbinary, ArrayType: dictinfo.ArrayShortVar, ElementBitsLog2: 3, Elements: 20}
	for _, test := range []struct {
		column         *dictinfo.Column
		value, pattern string
		want, ok       bool
	}{
		{text(255), "Stockholm", "s%M", true, true},
		{text(255), "Stockholm", "s%X", false, true},
		{text(255), "a%b", `A\%_`, true, true},
		{text(255), "axb", `a\%b`, false, true},
		{text(255), "", "%", true, true},
		{text(255), "", "_", false, true},
		{text(255), "abc", "%%c%", true, true},
		{text(255), "abc", "ab", false, true},
		{text(255), "é", "_", false, false},
		{text(46), "é€x", "__x", true, true},
		{text(46), "é", "É", false, true},
		{text(309), "é€x", "__x", true, true},
		{text(8), "\xe9\xe8", "E_", true, true},
		{text(8), `a\`, `a\`, true, true},
		{binaryColumn, "\xc3\xa9", "__", true, true},
		{binaryColumn, "a", "A", false, true},
		{&char, "ab   ", "ab", true, true},
		{text(9999), "a", "a", false, false},
	} {
		got, ok := MatchLike(test.column, []byte(test.value), []byte(test.pattern))
		if got != test.want || ok != test.ok {
			t.Errorf("%q LIKE %q by %d: got %v, %v, want %v, %v", test.value, test.pattern, test.column.Charset, got, ok, test.want, test.ok)
		}
	}
}

func FuzzMachine(f *testing.F) {
	r := rowOf(f, 1, "abc", nil, -1, 5, 1, 1)
	filter := And(Compare(colDepartment, EQ, 3), Or(Compare(colLast, Like, "S%"), CompareColumns(colFirst, LT, colLast)), IsNull(colBalance))
	p, err := Compile(filter, RefuseNoMatch)
	if err != nil {
		f.Fatal(err)
	}
	inc := Increment{Column: colDepartment, Delta: 1, LimitCode: 6000, NullCode: 6000}
	p2, err := inc.Program()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Add(p2)
	f.Fuzz(func(t *testing.T, src []byte) {
		result, err := r.machine().Run(src)
		if err != nil && result != (Result{}) {
			t.Errorf("got %+v with %v", result, err)
		}
	})
}
