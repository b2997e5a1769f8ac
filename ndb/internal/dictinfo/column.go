package dictinfo

import "fmt"

// Type is the type of a column, numbered as the dictionary does.
type Type uint8

// The types of columns. The ones that end in Old are of tables made by servers
// before 5.6.
const (
	TypeTinyint            Type = 1
	TypeTinyunsigned       Type = 2
	TypeSmallint           Type = 3
	TypeSmallunsigned      Type = 4
	TypeMediumint          Type = 5
	TypeMediumunsigned     Type = 6
	TypeInt                Type = 7
	TypeUnsigned           Type = 8
	TypeBigint             Type = 9
	TypeBigunsigned        Type = 10
	TypeFloat              Type = 11
	TypeDouble             Type = 12
	TypeDecimalOld         Type = 13
	TypeChar               Type = 14
	TypeVarchar            Type = 15
	TypeBinary             Type = 16
	TypeVarbinary          Type = 17
	TypeDatetimeOld        Type = 18
	TypeDate               Type = 19
	TypeBlob               Type = 20
	TypeText               Type = 21
	TypeBit                Type = 22
	TypeLongvarchar        Type = 23
	TypeLongvarbinary      Type = 24
	TypeTimeOld            Type = 25
	TypeYear               Type = 26
	TypeTimestampOld       Type = 27
	TypeDecimalunsignedOld Type = 28
	TypeDecimal            Type = 29
	TypeDecimalunsigned    Type = 30
	TypeTime2              Type = 31
	TypeDatetime2          Type = 32
	TypeTimestamp2         Type = 33
)

var typeNames = [...]string{
	TypeTinyint: "Tinyint", TypeTinyunsigned: "Tinyunsigned", TypeSmallint: "Smallint", TypeSmallunsigned: "Smallunsigned",
	TypeMediumint: "Mediumint", TypeMediumunsigned: "Mediumunsigned", TypeInt: "Int", TypeUnsigned: "Unsigned",
	TypeBigint: "Bigint", TypeBigunsigned: "Bigunsigned", TypeFloat: "Float", TypeDouble: "Double",
	TypeDecimalOld: "Olddecimal", TypeChar: "Char", TypeVarchar: "Varchar", TypeBinary: "Binary", TypeVarbinary: "Varbinary",
	TypeDatetimeOld: "Datetime", TypeDate: "Date", TypeBlob: "Blob", TypeText: "Text", TypeBit: "Bit",
	TypeLongvarchar: "Longvarchar", TypeLongvarbinary: "Longvarbinary", TypeTimeOld: "Time", TypeYear: "Year",
	TypeTimestampOld: "Timestamp", TypeDecimalunsignedOld: "Olddecimalunsigned", TypeDecimal: "Decimal",
	TypeDecimalunsigned: "Decimalunsigned", TypeTime2: "Time2", TypeDatetime2: "Datetime2", TypeTimestamp2: "Timestamp2",
}

// String gives NDB's own name of the type, such as "Bigunsigned".
func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// IsBlob tells the types whose values lie in a second table beside the row.
func (t Type) IsBlob() bool { return t == TypeBlob || t == TypeText }

// HasCharset tells the types that compare by a collation.
func (t Type) HasCharset() bool {
	switch t {
	case TypeChar, TypeVarchar, TypeLongvarchar, TypeText:
		return true
	}
	return false
}

// ArrayType is how a column says the length of its value.
type ArrayType uint8

// The array types.
const (
	ArrayFixed     ArrayType = 0
	ArrayShortVar  ArrayType = 1 // one length byte
	ArrayMediumVar ArrayType = 2 // two length bytes
	// ArrayPlainVar has a varying size and no length bytes. Only the kernel's own
	// column of unique indexes has it, which holds the primary key.
	ArrayPlainVar ArrayType = 3
)

// Column describes one column of a table or an index.
type Column struct {
	Name string
	ID   uint16 // attribute id: its number in requests, and its place in Table.Columns
	Type Type

	// The size of a value in memory: Elements of 1<<ElementBitsLog2 bits each,
	// length bytes included.
	ElementBitsLog2 uint8
	Elements        uint32
	ArrayType       ArrayType
	Length          uint32 // bytes for strings without length bytes, bits for Bit, else 1

	Nullable        bool
	Key             bool // part of the primary key
	DistributionKey bool // its value takes part in choosing the fragment; see Decode
	AutoIncrement   bool
	Dynamic         bool
	Disk            bool

	// Charset is the number of the collation, 0 for types without one.
	// Package row tells what the numbers mean.
	Charset uint16
	// Precision is the digits of decimals and of the fraction of Time2,
	// Datetime2 and Timestamp2, and the bytes of a blob that lie in the row.
	Precision uint16
	Scale     uint32 // digits after the point of decimals; size of a part of a blob

	// Default is the value in the form of requests, without header and padding.
	// Nil says that there is none, or that it is NULL.
	Default []byte
}

const bitsPerByteLog2 = 3

// SizeBytes is the most bytes a value takes, length bytes included. Values of
// Bit take whole words.
func (c *Column) SizeBytes() int {
	if c.Type == TypeBit {
		return int((c.Elements+31)/32) * 4
	}
	return int(uint64(c.Elements) << c.ElementBitsLog2 >> bitsPerByteLog2)
}

// LengthBytes is how many bytes at the start of a value hold its length: 0 for
// values of a fixed size, else 1 or 2 (or 0: see ArrayPlainVar).
func (c *Column) LengthBytes() int {
	if c.ArrayType == ArrayPlainVar {
		return 0
	}
	return int(c.ArrayType)
}

// Fixed tells whether all values have SizeBytes bytes.
func (c *Column) Fixed() bool { return c.ArrayType == ArrayFixed }
