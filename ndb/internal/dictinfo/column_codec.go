package dictinfo

import (
	"encoding/binary"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Keys of the properties of a column. A column begins with its name and ends
// with keyEndOfColumn.
const (
	keyColumnName      = 1000
	keyColumnID        = 1001
	keyElementBits     = 1003
	keyElements        = 1005
	keyIsKey           = 1006
	keyStorage         = 1007
	keyNullable        = 1008
	keyDynamic         = 1009
	keyDistributionKey = 1010
	keyColumnType      = 1013
	keyPrecision       = 1014 // with the charset
	keyScale           = 1015
	keyLength          = 1016
	keyAutoIncrement   = 1017
	keyArrayType       = 1019
	keyDefaultBytes    = 1020
	keyDefault         = 1021
	keyEndOfColumn     = 1999
)

const (
	charsetShift  = 16 // in keyPrecision
	precisionMask = 0xffff

	maxValueBytes      = 1 << 16 // no row is bigger
	maxElementBitsLog2 = 7
	word32Log2         = 5

	defaultLengthMask = 0xffff // in the header before a default
)

// newColumn has the values of properties that are missing.
func newColumn() Column { return Column{ElementBitsLog2: word32Log2, Elements: 1} }

// decode reads p into c and returns c, or nil after the end of the column.
func (c *Column) decode(p *property) (*Column, error) {
	var err error
	var num uint32
	switch p.key {
	case keyColumnID:
		err = asSmall(p, &c.ID)
	case keyElementBits:
		err = asSmall(p, &c.ElementBitsLog2)
	case keyElements:
		err = p.asWord(&c.Elements)
	case keyIsKey:
		err = p.asFlag(&c.Key)
	case keyStorage:
		err = p.asFlag(&c.Disk)
	case keyNullable:
		err = p.asFlag(&c.Nullable)
	case keyDynamic:
		err = p.asFlag(&c.Dynamic)
	case keyDistributionKey:
		err = p.asFlag(&c.DistributionKey)
	case keyColumnType:
		err = asSmall(p, &c.Type)
	case keyPrecision:
		err = p.asWord(&num)
		c.Precision, c.Charset = uint16(num&precisionMask), uint16(num>>charsetShift)
	case keyScale:
		err = p.asWord(&c.Scale)
	case keyLength:
		err = p.asWord(&c.Length)
	case keyAutoIncrement:
		err = p.asFlag(&c.AutoIncrement)
	case keyArrayType:
		err = asSmall(p, &c.ArrayType)
	case keyDefault:
		err = c.decodeDefault(p)
	case keyColumnName, keyEndOfTable:
		err = fmt.Errorf("%w: column %q does not end", ErrMalformed, c.Name)
	case keyEndOfColumn:
		return nil, c.check()
	}
	return c, err
}

// asSmall reads a word that must fit a smaller type.
func asSmall[T ~uint8 | ~uint16](p *property, v *T) error {
	var num uint32
	if err := p.asWord(&num); err != nil {
		return err
	}
	*v = T(num)
	if uint32(*v) != num {
		return fmt.Errorf("%w: property %d is %d", ErrMalformed, p.key, num)
	}
	return nil
}

// decodeDefault reads a header word with the length of the value, and the
// value. The header is big endian, the value is as in requests.
func (c *Column) decodeDefault(p *property) error {
	var data []byte
	if err := p.asData(&data); err != nil || len(data) == 0 {
		return err
	}
	if len(data) < word.SizeBytes {
		return fmt.Errorf("%w: default of column %q in %d bytes", ErrMalformed, c.Name, len(data))
	}
	length := int(binary.BigEndian.Uint32(data) & defaultLengthMask)
	data = data[word.SizeBytes:]
	if length > len(data) {
		return fmt.Errorf("%w: default of column %q has %d of %d bytes", ErrMalformed, c.Name, len(data), length)
	}
	if length > 0 {
		c.Default = append([]byte(nil), data[:length]...)
	}
	return nil
}

func (c *Column) check() error {
	bad := func(what string, v any) error {
		return fmt.Errorf("%w: column %q has %s %v", ErrMalformed, c.Name, what, v)
	}
	switch {
	case c.Name == "":
		return fmt.Errorf("%w: a column without a name", ErrMalformed)
	case c.Type == 0:
		return bad("type", c.Type)
	case c.ElementBitsLog2 > maxElementBitsLog2:
		return bad("elements of 2 to the power of this many bits:", c.ElementBitsLog2)
	case c.Elements == 0 || uint64(c.Elements)<<c.ElementBitsLog2 > maxValueBytes<<bitsPerByteLog2:
		return bad("a number of elements:", c.Elements)
	case c.ArrayType > ArrayPlainVar:
		return bad("array type", c.ArrayType)
	case !c.Fixed() && c.SizeBytes() < c.LengthBytes():
		return bad("no room for its length:", c.SizeBytes())
	case len(c.Default) > c.SizeBytes():
		return bad("a default of too many bytes:", len(c.Default))
	case c.Length > maxValueBytes<<bitsPerByteLog2:
		return bad("length", c.Length)
	}
	return nil
}

func (c *Column) appendTo(dst []byte) []byte {
	dst = appendString(dst, keyColumnName, c.Name)
	dst = appendWord(dst, keyColumnID, uint32(c.ID))
	dst = appendFlag(dst, keyIsKey, c.Key)
	dst = appendWord(dst, keyElementBits, uint32(c.ElementBitsLog2))
	dst = appendWord(dst, keyElements, c.Elements)
	dst = appendWord(dst, keyArrayType, uint32(c.ArrayType))
	dst = appendFlag(dst, keyNullable, c.Nullable)
	dst = appendFlag(dst, keyDynamic, c.Dynamic)
	dst = appendFlag(dst, keyDistributionKey, c.DistributionKey)
	dst = appendWord(dst, keyColumnType, uint32(c.Type))
	dst = appendWord(dst, keyPrecision, uint32(c.Charset)<<charsetShift|uint32(c.Precision))
	dst = appendWord(dst, keyScale, c.Scale)
	dst = appendWord(dst, keyLength, c.Length)
	dst = appendFlag(dst, keyAutoIncrement, c.AutoIncrement)
	dst = appendFlag(dst, keyStorage, c.Disk)
	data := binary.BigEndian.AppendUint32(nil, uint32(len(c.Default)))
	data = append(data, c.Default...)
	dst = appendWord(dst, keyDefaultBytes, uint32(len(data)))
	dst = appendBinary(dst, keyDefault, data)
	return appendWord(dst, keyEndOfColumn, 1)
}
