package program

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// The table of the captures, as far as the tests need it.
var (
	colID         = number("id", 0, dictinfo.TypeUnsigned, 5)
	colFirst      = varchar("first", 1)
	colLast       = varchar("last", 2)
	colDepartment = number("department", 3, dictinfo.TypeInt, 5)
	colSalary     = number("salary", 4, dictinfo.TypeBigint, 6)
	colVersion    = number("version", 5, dictinfo.TypeUnsigned, 5)
	colBalance    = number("balance", 6, dictinfo.TypeBigunsigned, 6)
	allColumns    = []*dictinfo.Column{colID, colFirst, colLast, colDepartment, colSalary, colVersion, colBalance}
)

func number(name string, id uint16, t dictinfo.Type, bitsLog2 uint8) *dictinfo.Column {
	return &dictinfo.Column{Name: name, ID: id, Type: t, ElementBitsLog2: bitsLog2, Elements: 1, Length: 1, Nullable: id != 0, Key: id == 0}
}

func varchar(name string, id uint16) *dictinfo.Column {
	return &dictinfo.Column{
		Name: name, ID: id, Type: dictinfo.TypeVarchar, ElementBitsLog2: 3, Elements: 201, ArrayType: dictinfo.ArrayShortVar,
		Length: 200, Charset: row.CollationUTF8MB40900AICI, Nullable: true,
	}
}

func columnByID(id uint16) *dictinfo.Column {
	if int(id) < len(allColumns) {
		return allColumns[id]
	}
	return nil
}

// captured returns the ATTRINFO of testdata/attrinfo.json: sections of signals
// that data nodes of 9.7.2 took.
func captured(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "attrinfo.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]string
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(file[name])
	if err != nil || len(b) == 0 {
		t.Fatal(name, err)
	}
	return b
}

func bare(t testing.TB, c *dictinfo.Column, v any) []byte {
	t.Helper()
	b, err := row.AppendValue(nil, row.FormBare, c, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readList(t testing.TB, columns ...*dictinfo.Column) []byte {
	t.Helper()
	var list []byte
	for _, c := range columns {
		list = row.AppendAttrHeader(list, c.ID, 0)
	}
	return list
}

func TestCompile_GoldenOfPROTOCOL(t *testing.T) {
	got, err := Compile(And(Compare(colDepartment, EQ, 3), Compare(colLast, Like, "S%")), RefuseNoMatch)
	want := word.Append(nil, 0x00071097, 0x00030004, 3, 0x00047097, 0x00020002, 0x00002553, 0x12, 0x02720013)
	if err != nil || string(got) != string(want) {
		t.Errorf("got  %x, %v\nwant %x", got, err, want)
	}
}

func TestCompile_GoldenOfCapture(t *testing.T) {
	p, err := Compile(And(Compare(colDepartment, EQ, 3), Compare(colLast, Like, "Qu%")), RefuseNoMatch)
	if err != nil {
		t.Fatal(err)
	}
	got := AppendInterpreted(nil, readList(t, colID, colLast), p, nil, nil, nil)
	if want := captured(t, "scan-filter"); string(got) != string(want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	var count Interpreted
	if err := count.Decode(captured(t, "scan-rowcount")); err != nil {
		t.Fatal(err)
	}
	if string(count.Program) != string(First()) {
		t.Errorf("got %x, want %x", First(), count.Program)
	}
}

func TestAccept_IsOneWord(t *testing.T) {
	if got, want := Accept(), word.Append(nil, opAccept); string(got) != string(want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// The capture jumps where the version is right; Compile jumps where it is not.
func TestBuilder_GoldenOfCapture(t *testing.T) {
	var b Builder
	ok := b.NewLabel()
	b.JumpColumn(EQ, NullJumps, colVersion, bare(t, colVersion, 1), ok)
	b.Refuse(6001)
	b.Place(ok)
	b.Accept()
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	var parts Interpreted
	if err := parts.Decode(captured(t, "scan-cas-ok")); err != nil {
		t.Fatal(err)
	}
	if string(parts.Program) != string(p) {
		t.Errorf("got %x, want %x", p, parts.Program)
	}
	if len(parts.InitialRead) != 0 || len(parts.Update) == 0 || len(parts.FinalRead) == 0 || len(parts.Subroutine) != 0 {
		t.Errorf("got %+v", parts)
	}
}

func TestInterpreted_DecodesToTheSame(t *testing.T) {
	want := Interpreted{[]byte("1234"), []byte("12345678"), []byte(""), []byte("abcd"), []byte("ABCDEFGH")}
	src := want.AppendTo(nil)
	var got Interpreted
	if err := got.Decode(src); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for n := range src {
		if err := got.Decode(src[:n]); !errors.Is(err, row.ErrMalformed) {
			t.Errorf("%d of %d bytes: %v", n, len(src), err)
		}
	}
	if err := got.Decode(append(src, 0, 0, 0, 0)); !errors.Is(err, row.ErrMalformed) {
		t.Errorf("a word too many: %v", err)
	}
	if err := got.Decode(word.Append(nil, 0xffffffff, 1, 0, 0, 0, 0)); !errors.Is(err, row.ErrMalformed) {
		t.Errorf("a length of 32 bits: %v", err)
	}
}

func TestBuilder_RefusesWhatDataNodesRefuseOrDieOf(t *testing.T) {
	blob := &dictinfo.Column{Name: "b", ID: 9, Type: dictinfo.TypeBlob, ElementBitsLog2: 3, Elements: 264}
	tiny := &dictinfo.Column{Name: "t", ID: 8, Type: dictinfo.TypeTinyint, ElementBitsLog2: 3, Elements: 1}
	for name, build := range map[string]func(b *Builder, l Label){
		"nothing":                  func(*Builder, Label) {},
		"running over the end":     func(b *Builder, _ Label) { b.LoadNull(R1) },
		"label never placed":       func(b *Builder, l Label) { b.JumpNull(R1, l); b.Accept() },
		"label at the end":         func(b *Builder, l Label) { b.JumpNull(R1, l); b.Accept(); b.Place(l) },
		"label placed twice":       func(b *Builder, l Label) { b.Place(l); b.Place(l); b.Accept() },
		"jump back":                func(b *Builder, l Label) { b.Place(l); b.LoadNull(R1); b.Jump(l) },
		"foreign label":            func(b *Builder, l Label) { b.Jump(l + 1) },
		"code of the kernel":       func(b *Builder, _ Label) { b.Refuse(630) },
		"code too high":            func(b *Builder, _ Label) { b.Refuse(7000) },
		"LIKE of registers":        func(b *Builder, l Label) { b.JumpRegisters(Like, R0, R1, l); b.Place(l); b.Accept() },
		"text in a register":       func(b *Builder, _ Label) { b.LoadColumn(R0, colLast); b.Accept() },
		"small number in register": func(b *Builder, _ Label) { b.StoreColumn(tiny, R0); b.Accept() },
		"key from a register":      func(b *Builder, _ Label) { b.StoreColumn(colID, R0); b.Accept() },
		"short number": func(b *Builder, l Label) {
			b.JumpColumn(EQ, NullJumps, colDepartment, []byte{1, 2, 3}, l)
			b.Place(l)
			b.Accept()
		},
		"long number": func(b *Builder, l Label) {
			b.JumpColumn(EQ, NullJumps, colDepartment, make([]byte, 8), l)
			b.Place(l)
			b.Accept()
		},
		"no constant": func(b *Builder, l Label) { b.JumpColumn(EQ, NullJumps, colDepartment, nil, l); b.Place(l); b.Accept() },
		"length byte too big": func(b *Builder, l Label) {
			b.JumpColumn(EQ, NullJumps, colLast, []byte("\x05abc"), l)
			b.Place(l)
			b.Accept()
		},
		"length byte too small": func(b *Builder, l Label) {
			b.JumpColumn(EQ, NullJumps, colLast, []byte("\x02abc"), l)
			b.Place(l)
			b.Accept()
		},
		"no length byte": func(b *Builder, l Label) { b.JumpColumn(EQ, NullJumps, colLast, []byte{}, l); b.Place(l); b.Accept() },
		"longer than the column": func(b *Builder, l Label) {
			b.JumpColumn(EQ, NullJumps, colLast, []byte("\xff"+strings.Repeat("x", 255)), l)
			b.Place(l)
			b.Accept()
		},
		"unknown condition": func(b *Builder, l Label) {
			b.JumpColumn(8, NullJumps, colLast, []byte("\x01x"), l)
			b.Place(l)
			b.Accept()
		},
		"empty pattern": func(b *Builder, l Label) { b.JumpColumn(Like, NullJumps, colLast, []byte{}, l); b.Place(l); b.Accept() },
		"pattern for a number": func(b *Builder, l Label) {
			b.JumpColumn(Like, NullJumps, colSalary, []byte("1%"), l)
			b.Place(l)
			b.Accept()
		},
		"blob":                     func(b *Builder, l Label) { b.JumpColumnNull(blob, l); b.Place(l); b.Accept() },
		"columns of unequal types": func(b *Builder, l Label) { b.JumpColumns(EQ, NullJumps, colID, colSalary, l); b.Place(l); b.Accept() },
		"LIKE of columns": func(b *Builder, l Label) {
			b.JumpColumns(Like, NullJumps, colFirst, colLast, l)
			b.Place(l)
			b.Accept()
		},
		"too long": func(b *Builder, l Label) {
			for range maxProgramWords {
				b.LoadNull(R0)
			}
			b.Accept()
		},
	} {
		var b Builder
		build(&b, b.NewLabel())
		p, err := b.Program()
		var valueErr *row.ValueError
		if p != nil || !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooLong) && !errors.As(err, &valueErr) {
			t.Errorf("%s: got %d bytes, %v", name, len(p), err)
		}
	}
}

func TestCompile_RefusesValuesThatDoNotFit(t *testing.T) {
	wideBits := &dictinfo.Column{Name: "bits", ID: 9, Type: dictinfo.TypeBit, Elements: 33}
	for name, test := range map[string]struct {
		filter Filter
		want   error
	}{
		"number too big":     {Compare(colDepartment, EQ, int64(1)<<40), row.ErrRange},
		"text for a number":  {Compare(colDepartment, EQ, "3"), row.ErrType},
		"text too long":      {Compare(colLast, EQ, strings.Repeat("x", 51)), row.ErrTooLong},
		"invalid text":       {Compare(colLast, Like, "\xff"), row.ErrCharset},
		"pattern type":       {Compare(colLast, Like, 3), ErrInvalid},
		"pattern of number":  {Compare(colSalary, Like, "3%"), row.ErrType},
		"condition":          {Compare(colSalary, 9, 1), ErrInvalid},
		"column condition":   {CompareColumns(colFirst, NotLike, colLast), ErrInvalid},
		"order of wide bits": {Compare(wideBits, LT, 1), ErrInvalid},
		"same of columns":    {CompareColumns(wideBits, GE, wideBits), ErrInvalid},
		"not of nothing":     {Not(nil), ErrInvalid},
		"too long":           {tooLong(), ErrTooLong},
	} {
		if p, err := Compile(test.filter, RefuseNoMatch); !errors.Is(err, test.want) || p != nil {
			t.Errorf("%s: got %d bytes, %v, want %v", name, len(p), err, test.want)
		}
	}
	if _, err := Compile(Compare(wideBits, NE, 1), RefuseNoMatch); err != nil {
		t.Errorf("wide bits <> 1: %v", err)
	}
	if _, err := Compile(nil, 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func tooLong() Filter {
	var all []Filter
	for i := range maxProgramWords/3 + 1 {
		all = append(all, Compare(colDepartment, NE, i))
	}
	return And(all...)
}

// The longest filters stay below the limit of instructions of a row.
func TestCompile_LongestFilterRuns(t *testing.T) {
	all := tooLong().(and)
	p, err := Compile(all[:len(all)-3], RefuseNoMatch)
	if err != nil {
		t.Fatal(err)
	}
	r := rowOf(t, 1, "a", "b", -1, 5, 1, 1)
	got, err := r.machine().Run(p)
	if err != nil || got != (Result{Outcome: Accepted}) {
		t.Errorf("got %+v, %v", got, err)
	}
	tests := make([]Filter, 0, 7600)
	for range cap(tests) {
		tests = append(tests, IsNotNull(colID))
	}
	if p, err = Compile(And(tests...), RefuseNoMatch); err != nil {
		t.Fatal(err)
	}
	if got, err = r.machine().Run(p); err != nil || got != (Result{Outcome: Accepted}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
