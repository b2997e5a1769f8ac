package dictinfo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// ErrMalformed is wrapped by all errors of this package's decoders.
var ErrMalformed = errors.New("malformed description")

// A property begins with a word that has its kind and its key; the words are
// big endian.
const (
	propertyKindShift = 16
	propertyKeyMask   = 0xffff

	kindWord   = 0
	kindString = 1 // bytes with a NUL at the end
	kindBinary = 2
)

type property struct {
	key  uint16
	kind uint16
	num  uint32 // of kindWord
	data []byte // of the others; a string has lost its NUL
}

// nextProperty reads the property at the start of src.
func nextProperty(src []byte) (p property, rest []byte, err error) {
	if len(src) < 2*word.SizeBytes {
		return p, nil, fmt.Errorf("%w: a property %w", ErrMalformed, word.ErrShort)
	}
	head, value := binary.BigEndian.Uint32(src), binary.BigEndian.Uint32(src[word.SizeBytes:])
	rest = src[2*word.SizeBytes:]
	p = property{key: uint16(head & propertyKeyMask), kind: uint16(head >> propertyKindShift)}
	switch p.kind {
	case kindWord:
		p.num = value
		return p, rest, nil
	case kindString, kindBinary:
	default:
		return p, nil, fmt.Errorf("%w: property %d of kind %d", ErrMalformed, p.key, p.kind)
	}
	if uint64(value) > uint64(len(rest)) || word.PaddedBytes(int(value)) > len(rest) {
		return p, nil, fmt.Errorf("%w: property %d of %d bytes %w", ErrMalformed, p.key, value, word.ErrShort)
	}
	p.data = rest[:value]
	if p.kind == kindString {
		end := bytes.IndexByte(p.data, 0)
		if end < 0 {
			return p, nil, fmt.Errorf("%w: property %d is a string without end", ErrMalformed, p.key)
		}
		p.data = p.data[:end]
	}
	return p, rest[word.PaddedBytes(int(value)):], nil
}

func appendWord(dst []byte, key uint16, value uint32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, kindWord<<propertyKindShift|uint32(key))
	return binary.BigEndian.AppendUint32(dst, value)
}

func appendFlag(dst []byte, key uint16, flag bool) []byte {
	if flag {
		return appendWord(dst, key, 1)
	}
	return appendWord(dst, key, 0)
}

func appendString(dst []byte, key uint16, s string) []byte {
	return appendData(dst, key, kindString, append([]byte(s), 0))
}

func appendBinary(dst []byte, key uint16, b []byte) []byte {
	return appendData(dst, key, kindBinary, b)
}

func appendData(dst []byte, key, kind uint16, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(kind)<<propertyKindShift|uint32(key))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return word.AppendPadded(dst, b)
}

// asWord, asString and asData check the kind that the key must have.
func (p *property) asWord(v *uint32) error {
	if p.kind != kindWord {
		return fmt.Errorf("%w: property %d is no word", ErrMalformed, p.key)
	}
	*v = p.num
	return nil
}

func (p *property) asFlag(v *bool) error {
	var num uint32
	err := p.asWord(&num)
	*v = num != 0
	return err
}

func (p *property) asString(v *string) error {
	if p.kind != kindString {
		return fmt.Errorf("%w: property %d is no string", ErrMalformed, p.key)
	}
	*v = string(p.data)
	return nil
}

func (p *property) asData(v *[]byte) error {
	if p.kind != kindBinary {
		return fmt.Errorf("%w: property %d is no binary", ErrMalformed, p.key)
	}
	*v = p.data
	return nil
}
