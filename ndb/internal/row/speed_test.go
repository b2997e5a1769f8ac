package row

import (
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// employeeColumns is the table of the benchmarks: a number, three texts, two
// dates and a number.
func employeeColumns() []dictinfo.Column {
	columns := []dictinfo.Column{
		integerColumn("id", dictinfo.TypeBigint),
		varColumn("first", dictinfo.TypeVarchar, 192, CollationUTF8MB3GeneralCI),
		varColumn("last", dictinfo.TypeVarchar, 192, CollationUTF8MB3GeneralCI),
		varColumn("municipality", dictinfo.TypeVarchar, 192, CollationUTF8MB3GeneralCI),
		column("started", dictinfo.TypeDate, 3, 3),
		column("ended", dictinfo.TypeDate, 3, 3),
		integerColumn("department", dictinfo.TypeInt),
	}
	for i := range columns {
		columns[i].ID = uint16(i)
	}
	columns[0].Nullable, columns[6].Nullable = false, false
	return columns
}

func appendEmployee(dst []byte, columns []dictinfo.Column) ([]byte, error) {
	dst, err1 := AppendInt64(dst, FormAttr, &columns[0], 4242)
	dst, err2 := AppendString(dst, FormAttr, &columns[1], "Astrid")
	dst, err3 := AppendString(dst, FormAttr, &columns[2], "Lindgren")
	dst, err4 := AppendString(dst, FormAttr, &columns[3], "Vimmerby")
	dst, err5 := AppendDate(dst, FormAttr, &columns[4], 1944, 1, 1)
	dst, err6 := AppendNull(dst, FormAttr, &columns[5])
	dst, err7 := AppendInt64(dst, FormAttr, &columns[6], 3)
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func packedEmployee(t testing.TB) ([]dictinfo.Column, *Projection, []byte) {
	t.Helper()
	columns := employeeColumns()
	src, err := appendEmployee(nil, columns)
	if err != nil {
		t.Fatal(err)
	}
	values := make([][]byte, len(columns))
	for i := range values {
		if _, values[i], src, err = NextAttr(src); err != nil {
			t.Fatal(err)
		}
	}
	p, err := NewProjection(pointers(columns))
	if err != nil {
		t.Fatal(err)
	}
	return columns, p, AppendPacked(nil, columns, values, FirstColumns(len(columns)))
}

func TestAppend_DoesNotAllocate(t *testing.T) {
	columns := employeeColumns()
	dst := make([]byte, 0, 1024)
	if got := testing.AllocsPerRun(100, func() {
		if _, err := appendEmployee(dst, columns); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func TestDecode_DoesNotAllocate(t *testing.T) {
	columns, p, src := packedEmployee(t)
	spans := make([]Span, p.Len())
	text := make([]byte, 0, 64)
	if got := testing.AllocsPerRun(100, func() {
		if _, err := p.Decode(src, spans); err != nil {
			t.Fatal(err)
		}
		id, err1 := Int64(&columns[0], src, spans[0])
		first, err2 := AppendText(text, &columns[1], src, spans[1])
		started, err3 := GetDate(&columns[4], src, spans[4])
		if id != 4242 || string(first) != "Astrid" || started.Year != 1944 || !spans[5].Null || err1 != nil || err2 != nil || err3 != nil {
			t.Fatalf("got %d, %s, %v, %v, %v, %v, %v", id, first, started, spans[5], err1, err2, err3)
		}
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	columns := employeeColumns()
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := appendEmployee(dst, columns); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	_, p, src := packedEmployee(b)
	spans := make([]Span, p.Len())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Decode(src, spans); err != nil {
			b.Fatal(err)
		}
	}
}
