package row

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Columns as SQL nodes make them.

func column(name string, t dictinfo.Type, bitsLog2 uint8, elements int) dictinfo.Column {
	return dictinfo.Column{Name: name, Type: t, ElementBitsLog2: bitsLog2, Elements: uint32(elements), Length: 1, Nullable: true}
}

func integerColumn(name string, t dictinfo.Type) dictinfo.Column {
	switch size, _, _ := integer(t); size {
	case 4:
		return column(name, t, 5, 1)
	case 8:
		return column(name, t, 6, 1)
	case 2:
		return column(name, t, 4, 1)
	default:
		return column(name, t, 3, size)
	}
}

func varColumn(name string, t dictinfo.Type, sizeBytes int, charset uint16) dictinfo.Column {
	lengthBytes := dictinfo.ArrayShortVar
	if t == dictinfo.TypeLongvarchar || t == dictinfo.TypeLongvarbinary {
		lengthBytes = dictinfo.ArrayMediumVar
	}
	c := column(name, t, 3, sizeBytes+int(lengthBytes))
	c.ArrayType, c.Length, c.Charset = lengthBytes, uint32(sizeBytes), charset
	return c
}

func fixedColumn(name string, t dictinfo.Type, sizeBytes int, charset uint16) dictinfo.Column {
	c := column(name, t, 3, sizeBytes)
	c.Length, c.Charset = uint32(sizeBytes), charset
	return c
}

func decimalColumn(name string, precision, scale int) dictinfo.Column {
	c := column(name, dictinfo.TypeDecimal, 3, decimalBytes(precision-scale)+decimalBytes(scale))
	c.Precision, c.Scale = uint16(precision), uint32(scale)
	return c
}

func unsignedDecimalColumn(name string, precision, scale int) dictinfo.Column {
	c := decimalColumn(name, precision, scale)
	c.Type = dictinfo.TypeDecimalunsigned
	return c
}

func temporalColumn(name string, t dictinfo.Type, digits int) dictinfo.Column {
	whole := map[dictinfo.Type]int{dictinfo.TypeTime2: 3, dictinfo.TypeDatetime2: 5, dictinfo.TypeTimestamp2: 4}[t]
	c := column(name, t, 3, whole+(digits+1)/2)
	c.Precision = uint16(digits)
	return c
}

func bitColumn(name string, bits int) dictinfo.Column {
	c := column(name, dictinfo.TypeBit, 0, bits)
	c.Length = uint32(bits)
	return c
}

// typesColumns is the table of testdata/types.json.
func typesColumns() []dictinfo.Column {
	columns := []dictinfo.Column{
		integerColumn("id", dictinfo.TypeUnsigned),
		integerColumn("tiny", dictinfo.TypeTinyint),
		integerColumn("small", dictinfo.TypeSmallint),
		integerColumn("medium", dictinfo.TypeMediumint),
		integerColumn("big", dictinfo.TypeBigint),
		column("single", dictinfo.TypeFloat, 5, 1),
		column("double", dictinfo.TypeDouble, 6, 1),
		decimalColumn("dec_10_2", 10, 2),
		decimalColumn("dec_20_6", 20, 6),
		unsignedDecimalColumn("dec_5_2", 5, 2),
		column("day", dictinfo.TypeDate, 3, 3),
		column("year", dictinfo.TypeYear, 3, 1),
		temporalColumn("time", dictinfo.TypeTime2, 0),
		temporalColumn("time_3", dictinfo.TypeTime2, 3),
		temporalColumn("datetime", dictinfo.TypeDatetime2, 0),
		temporalColumn("datetime_6", dictinfo.TypeDatetime2, 6),
		temporalColumn("timestamp", dictinfo.TypeTimestamp2, 0),
		temporalColumn("timestamp_6", dictinfo.TypeTimestamp2, 6),
		fixedColumn("char_10", dictinfo.TypeChar, 40, CollationUTF8MB40900AICI),
		fixedColumn("binary_4", dictinfo.TypeBinary, 4, 0),
		varColumn("varbinary", dictinfo.TypeVarbinary, 20, 0),
		bitColumn("bit_9", 9),
		bitColumn("bit_40", 40),
		varColumn("long", dictinfo.TypeLongvarchar, 1000, CollationUTF8MB40900AICI),
		varColumn("latin", dictinfo.TypeVarchar, 20, CollationLatin1SwedishCI),
	}
	for i := range columns {
		columns[i].ID = uint16(i)
	}
	columns[0].Nullable, columns[0].Key = false, true
	return columns
}

// typesValues is the row of testdata/types.json.
func typesValues() []any {
	return []any{
		uint64(1), int64(-5), int64(-1000), int64(-100000), int64(-5), 1.5, -2.25,
		"-1234567.89", "12345678901234.567891", "1.65",
		Date{2026, 11, 30},
		uint64(2026),
		838*time.Hour + 59*time.Minute + 59*time.Second,
		-(time.Hour + 2*time.Minute + 3*time.Second + 456*time.Millisecond),
		DateTime{Date{2026, 11, 30}, 10, 40, 59, 0},
		DateTime{Date{1999, 12, 31}, 23, 59, 58, 123450},
		time.Unix(0x6b0d52bb, 0).UTC(),
		time.Unix(0x6b0d52bb, 654321_000).UTC(),
		"Zoë", []byte("ab\x00\x00"),
		[]byte{1, 2, 3},
		uint64(0x155), uint64(0x6789abcdef), "hello", "latin",
	}
}

// golden reads testdata/types.json: sections of signals that a data node of
// 9.7.2 understood and answered.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "types.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]string
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	sections := map[string][]byte{}
	for name, text := range file {
		if sections[name], err = hex.DecodeString(text); err != nil {
			t.Fatal(err)
		}
	}
	return sections
}

func pointers(columns []dictinfo.Column) []*dictinfo.Column {
	var p []*dictinfo.Column
	for i := range columns {
		p = append(p, &columns[i])
	}
	return p
}
