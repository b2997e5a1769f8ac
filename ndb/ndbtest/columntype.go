package ndbtest

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// This file turns SQL types into columns of the dictionary, as SQL nodes do.

// sqlType is a type taken apart.
type sqlType struct {
	name     string // upper case
	args     []string
	unsigned bool
}

// The element sizes of the dictionary, as powers of two of bits.
const (
	bits1  = 0
	bits8  = 3
	bits16 = 4
	bits32 = 5
	bits64 = 6
)

type fixedType struct {
	signed, unsigned dictinfo.Type
	bitsLog2         uint8
	elements         uint32
}

var fixedTypes = map[string]fixedType{
	"TINYINT":   {dictinfo.TypeTinyint, dictinfo.TypeTinyunsigned, bits8, 1},
	"SMALLINT":  {dictinfo.TypeSmallint, dictinfo.TypeSmallunsigned, bits16, 1},
	"MEDIUMINT": {dictinfo.TypeMediumint, dictinfo.TypeMediumunsigned, bits8, 3},
	"INT":       {dictinfo.TypeInt, dictinfo.TypeUnsigned, bits32, 1},
	"BIGINT":    {dictinfo.TypeBigint, dictinfo.TypeBigunsigned, bits64, 1},
	"FLOAT":     {dictinfo.TypeFloat, dictinfo.TypeFloat, bits32, 1},
	"DOUBLE":    {dictinfo.TypeDouble, dictinfo.TypeDouble, bits64, 1},
	"DATE":      {dictinfo.TypeDate, dictinfo.TypeDate, bits8, 3},
	"YEAR":      {dictinfo.TypeYear, dictinfo.TypeYear, bits8, 1},
}

var typeSynonyms = map[string]string{
	"INTEGER": "INT", "BOOL": "TINYINT", "BOOLEAN": "TINYINT", "REAL": "DOUBLE", "NUMERIC": "DECIMAL", "DEC": "DECIMAL",
	"CHARACTER": "CHAR", "TINYBLOB": "BLOB", "MEDIUMBLOB": "BLOB", "LONGBLOB": "BLOB", "TINYTEXT": "TEXT", "MEDIUMTEXT": "TEXT",
	"LONGTEXT": "TEXT", "JSON": "BLOB", "GEOMETRY": "BLOB",
}

// temporalTypes have so many bytes before the fraction.
var temporalTypes = map[string]struct {
	kind  dictinfo.Type
	bytes uint32
}{
	"TIME":      {dictinfo.TypeTime2, 3},
	"DATETIME":  {dictinfo.TypeDatetime2, 5},
	"TIMESTAMP": {dictinfo.TypeTimestamp2, 4},
}

const (
	maxShortLength   = 255
	blobInlineBytes  = 256
	blobHeadBytes    = 16
	blobPartBytes    = 2000
	maxColumnBytes   = 30000
	maxDecimalDigits = 65
	digitsPerGroup   = 9
	groupBytes       = 4
	maxBitLength     = 64
)

// column returns the column without its number.
func (d *ColumnDef) column() (dictinfo.Column, error) {
	c := dictinfo.Column{Name: d.Name, Nullable: !d.NotNull, AutoIncrement: d.AutoIncrement, Length: 1, Elements: 1}
	fail := func(err error) (dictinfo.Column, error) { return c, fmt.Errorf("column %q: %w", d.Name, err) }
	t, err := parseType(d.Type)
	if err != nil {
		return fail(err)
	}
	collation, err := collationByName(d.Collation)
	if err != nil {
		return fail(err)
	}
	if err := t.fill(&c, collation); err != nil {
		return fail(err)
	}
	if d.Default != nil {
		if c.Default, err = row.AppendValue(nil, row.FormBare, &c, numberFor(&c, d.Default)); err != nil {
			return fail(fmt.Errorf("default: %w", err))
		}
	}
	return c, nil
}

// numberFor turns text into a number where the column takes no text: DEFAULT
// '1' is common.
func numberFor(c *dictinfo.Column, v any) any {
	s, isText := v.(string)
	if !isText {
		return v
	}
	switch c.Type {
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar, dictinfo.TypeBinary, dictinfo.TypeVarbinary,
		dictinfo.TypeLongvarbinary, dictinfo.TypeDecimal, dictinfo.TypeDecimalunsigned, dictinfo.TypeDate, dictinfo.TypeTime2,
		dictinfo.TypeDatetime2, dictinfo.TypeTimestamp2:
		return v
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	return v
}

// parseType takes "INT(11) UNSIGNED" apart.
func parseType(text string) (t sqlType, err error) {
	name, rest, _ := strings.Cut(text, "(")
	args := ""
	if rest != "" {
		var ended bool
		if args, rest, ended = strings.Cut(rest, ")"); !ended {
			return t, fmt.Errorf("type %q has no end", text)
		}
		t.args = splitArgs(args)
	}
	words := strings.Fields(strings.ToUpper(name + " " + rest))
	if len(words) == 0 {
		return t, fmt.Errorf("no type")
	}
	t.name = words[0]
	for _, w := range words[1:] {
		switch w {
		case "UNSIGNED":
			t.unsigned = true
		case "SIGNED", "PRECISION", "VARYING":
		default:
			return t, fmt.Errorf("type %q: what is %s?", text, w)
		}
	}
	if other, ok := typeSynonyms[t.name]; ok {
		t.name = other
	}
	return t, nil
}

func splitArgs(text string) []string {
	var args []string
	for arg := range strings.SplitSeq(text, ",") {
		args = append(args, strings.TrimSpace(arg))
	}
	return args
}

// number returns argument i, or a default where it is missing.
func (t *sqlType) number(i int, missing, most uint32) (uint32, error) {
	if i >= len(t.args) {
		return missing, nil
	}
	n, err := strconv.ParseUint(t.args[i], 10, 32)
	if err != nil || n > uint64(most) {
		return 0, fmt.Errorf("%s(%s): at most %d", t.name, strings.Join(t.args, ","), most)
	}
	return uint32(n), nil
}

// fill sets what the type says.
func (t *sqlType) fill(c *dictinfo.Column, collation uint16) error {
	if fixed, ok := fixedTypes[t.name]; ok {
		c.Type, c.ElementBitsLog2, c.Elements = fixed.signed, fixed.bitsLog2, fixed.elements
		if t.unsigned {
			c.Type = fixed.unsigned
		}
		return nil
	}
	if temporal, ok := temporalTypes[t.name]; ok {
		digits, err := t.number(0, 0, 6)
		c.Type, c.ElementBitsLog2, c.Precision = temporal.kind, bits8, uint16(digits)
		c.Elements = temporal.bytes + (digits+1)/2
		return err
	}
	switch t.name {
	case "CHAR", "VARCHAR", "BINARY", "VARBINARY":
		return t.fillText(c, collation)
	case "DECIMAL":
		return t.fillDecimal(c)
	case "BIT":
		n, err := t.number(0, 1, maxBitLength)
		c.Type, c.ElementBitsLog2, c.Elements, c.Length = dictinfo.TypeBit, bits1, n, n
		return err
	case "ENUM", "SET":
		t.fillNumbered(c)
		return nil
	case "BLOB", "TEXT":
		c.Type, c.ElementBitsLog2, c.Elements = dictinfo.TypeBlob, bits8, blobHeadBytes+blobInlineBytes
		c.ArrayType, c.Precision, c.Scale = dictinfo.ArrayMediumVar, blobInlineBytes, blobPartBytes
		if t.name == "TEXT" {
			c.Type, c.Charset = dictinfo.TypeText, collation
		}
		return nil
	}
	return fmt.Errorf("type %s is not known", t.name)
}

func (t *sqlType) fillText(c *dictinfo.Column, collation uint16) error {
	n, err := t.number(0, 1, maxColumnBytes)
	if err != nil {
		return err
	}
	binary := strings.HasSuffix(t.name, "BINARY")
	if !binary {
		info, _ := row.CollationByID(collation)
		n *= uint32(info.MaxBytes)
		c.Charset = collation
	}
	if n == 0 || n > maxColumnBytes {
		return fmt.Errorf("%s of %d bytes", t.name, n)
	}
	c.ElementBitsLog2, c.Length, c.Elements = bits8, n, n
	if !strings.HasPrefix(t.name, "VAR") {
		c.Type = dictinfo.TypeChar
		if binary {
			c.Type = dictinfo.TypeBinary
		}
		return nil
	}
	types := [2][2]dictinfo.Type{
		{dictinfo.TypeVarchar, dictinfo.TypeLongvarchar},
		{dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary},
	}[map[bool]int{true: 1}[binary]]
	c.Type, c.ArrayType = types[0], dictinfo.ArrayShortVar
	if n > maxShortLength {
		c.Type, c.ArrayType = types[1], dictinfo.ArrayMediumVar
	}
	c.Elements = n + uint32(c.ArrayType)
	return nil
}

// fillDecimal: nine digits take four bytes, and what is left on either side of
// the point one byte for each two.
func (t *sqlType) fillDecimal(c *dictinfo.Column) error {
	precision, err := t.number(0, 10, maxDecimalDigits)
	if err != nil {
		return err
	}
	scale, err := t.number(1, 0, precision)
	c.Type, c.ElementBitsLog2 = dictinfo.TypeDecimal, bits8
	if t.unsigned {
		c.Type = dictinfo.TypeDecimalunsigned
	}
	size := func(digits uint32) uint32 { return digits/digitsPerGroup*groupBytes + (digits%digitsPerGroup+1)/2 }
	c.Precision, c.Scale, c.Elements = uint16(precision), scale, size(precision-scale)+size(scale)
	return err
}

// fillNumbered: ENUM and SET are numbers in fixed binary characters.
func (t *sqlType) fillNumbered(c *dictinfo.Column) {
	size := uint32(1)
	switch {
	case t.name == "ENUM" && len(t.args) > maxShortLength:
		size = 2
	case t.name == "SET":
		size = uint32(len(t.args)+7) / 8
		if size > 4 {
			size = 8
		} else if size > 2 {
			size = 1 << bits.Len32(size-1)
		}
	}
	c.Type, c.ElementBitsLog2, c.Elements, c.Length, c.Charset = dictinfo.TypeChar, bits8, size, size, row.CollationBinary
}

const maxCollation = 323

var defaultCollations = map[string]uint16{
	"": row.CollationUTF8MB40900AICI, "UTF8MB4": row.CollationUTF8MB40900AICI, "UTF8MB3": row.CollationUTF8MB3GeneralCI,
	"UTF8": row.CollationUTF8MB3GeneralCI, "LATIN1": row.CollationLatin1SwedishCI, "ASCII": row.CollationASCIIGeneralCI,
	"BINARY": row.CollationBinary,
}

func collationByName(name string) (uint16, error) {
	if id, ok := defaultCollations[strings.ToUpper(name)]; ok {
		return id, nil
	}
	if id, err := strconv.ParseUint(name, 10, 16); err == nil {
		if _, ok := row.CollationByID(uint16(id)); ok {
			return uint16(id), nil
		}
	}
	for id := uint16(1); id <= maxCollation; id++ {
		if c, ok := row.CollationByID(id); ok && strings.EqualFold(c.Name, name) {
			return id, nil
		}
	}
	return 0, fmt.Errorf("no character set or collation %q", name)
}
