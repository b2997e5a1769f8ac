package row

import (
	"encoding/binary"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// AttrHeader is the word before a value: the column's attribute id and the
// length of the value in bytes. Length 0 is NULL; in a read list it only names
// the column.
type AttrHeader uint32

const (
	attrIDShift    = 16
	attrLengthMask = 0xffff

	// MaxValueBytes is the longest value that a header can announce.
	MaxValueBytes = 0xfffc
)

// NewAttrHeader returns the header of a value of length bytes.
func NewAttrHeader(id uint16, lengthBytes int) AttrHeader {
	return AttrHeader(uint32(id)<<attrIDShift | uint32(lengthBytes)&attrLengthMask)
}

// ID is the column's attribute id, or one of the pseudo columns.
func (h AttrHeader) ID() uint16 { return uint16(h >> attrIDShift) }

// LengthBytes is the length of the value, 0 for NULL.
func (h AttrHeader) LengthBytes() int { return int(h & attrLengthMask) }

// Pseudo columns: attribute ids that no column has. They are read like columns
// and answered with header and value, of the size given in bytes.
const (
	AttrFragment     uint16 = 0xfffe // 4: number of the fragment
	AttrRowCount     uint16 = 0xfffd // 8: committed rows of the fragment
	AttrCommitCount  uint16 = 0xfffc // 8
	AttrRangeNo      uint16 = 0xfffb // 4: number of the range that the row is in
	AttrRowSize      uint16 = 0xfffa // 4: bytes of the fixed part
	AttrFixedMemory  uint16 = 0xfff9 // 8: bytes of the fragment
	AttrRowID        uint16 = 0xfff6 // 8
	AttrRowGCI       uint16 = 0xfff5 // 8: of the row's last commit
	AttrVarMemory    uint16 = 0xfff4 // 8: bytes of the fragment
	AttrReadPacked   uint16 = 0xfff3 // no column: a bitmap of columns follows
	AttrAnyValue     uint16 = 0xfff2 // 4, write only: tag seen by change streams
	AttrReadAll      uint16 = 0xfff0 // no column: the first columns, packed
	AttrLockRef      uint16 = 0xffee // 12
	AttrOpID         uint16 = 0xffed // 8
	AttrRowGCI64     uint16 = 0xffe7 // 8
	AttrRowAuthor    uint16 = 0xffe6 // 4
	firstPseudoAttr  uint16 = 0xffe0
	MaxPackedColumns        = 512
)

// AppendAttrHeader appends the header of a value of length bytes to dst. Length
// 0 asks for the column in a read list, and is NULL elsewhere.
func AppendAttrHeader(dst []byte, id uint16, lengthBytes int) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(NewAttrHeader(id, lengthBytes)))
}

// AppendAttr appends header, value and padding. A nil value is NULL.
func AppendAttr(dst []byte, id uint16, value []byte) []byte {
	return word.AppendPadded(AppendAttrHeader(dst, id, len(value)), value)
}

// NextAttr reads the header and the value at the start of src. A NULL has a nil
// value. Both results share memory with src. Errors wrap ErrMalformed.
func NextAttr(src []byte) (h AttrHeader, value, rest []byte, err error) {
	if len(src) < word.SizeBytes {
		return 0, nil, nil, fmt.Errorf("%w: a header %w", ErrMalformed, word.ErrShort)
	}
	h = AttrHeader(word.At(src, 0))
	n := h.LengthBytes()
	src = src[word.SizeBytes:]
	if word.PaddedBytes(n) > len(src) {
		return 0, nil, nil, fmt.Errorf("%w: attribute %#x of %d bytes %w", ErrMalformed, h.ID(), n, word.ErrShort)
	}
	if n > 0 {
		value = src[:n:n]
	}
	return h, value, src[word.PaddedBytes(n):], nil
}

// NextKeyValue reads the value of key column c at the start of src, which is
// KEYINFO, length bytes included. The results share memory with src. Errors wrap
// ErrMalformed.
func NextKeyValue(src []byte, c *dictinfo.Column) (value, rest []byte, err error) {
	n, err := wireSize(src, c)
	if err != nil {
		return nil, nil, err
	}
	if word.PaddedBytes(n) > len(src) {
		return nil, nil, fmt.Errorf("%w: key column %s of %d bytes %w", ErrMalformed, c.Name, n, word.ErrShort)
	}
	return src[:n:n], src[word.PaddedBytes(n):], nil
}

// wireSize is how many bytes the value at the start of src has, length bytes
// included.
func wireSize(src []byte, c *dictinfo.Column) (int, error) {
	lengthBytes := c.LengthBytes()
	switch {
	case c.ArrayType == dictinfo.ArrayPlainVar:
		return min(len(src), c.SizeBytes()), nil // takes all there is
	case lengthBytes == 0:
		return c.SizeBytes(), nil
	}
	if len(src) < lengthBytes {
		return 0, fmt.Errorf("%w: length of column %s %w", ErrMalformed, c.Name, word.ErrShort)
	}
	n := lengthBytes + contentLength(src, lengthBytes)
	if n > c.SizeBytes() {
		return 0, fmt.Errorf("%w: column %s has %d bytes of at most %d", ErrMalformed, c.Name, n, c.SizeBytes())
	}
	return n, nil
}

// contentLength reads the 1 or 2 length bytes at the start of src.
func contentLength(src []byte, lengthBytes int) int {
	if lengthBytes == 1 {
		return int(src[0])
	}
	return int(binary.LittleEndian.Uint16(src))
}

// CheckValue tells whether value, length bytes included, is one that the column
// can hold as far as sizes go. Nil is NULL. Errors wrap ErrMalformed.
func CheckValue(c *dictinfo.Column, value []byte) error {
	if value == nil {
		if !c.Nullable {
			return fmt.Errorf("%w: NULL for column %s", ErrMalformed, c.Name)
		}
		return nil
	}
	n, err := wireSize(value, c)
	if err != nil {
		return err
	}
	if n != len(value) {
		return fmt.Errorf("%w: column %s has %d bytes, announces %d", ErrMalformed, c.Name, len(value), n)
	}
	return nil
}
