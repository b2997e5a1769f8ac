package row

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Span says where in received words a value lies: Len bytes from Off on,
// length bytes not included. The bits of a BIT column begin at bit Bit of the
// little endian word at Off. A NULL has no bytes.
type Span struct {
	Off, Len uint32
	Bit      uint8
	Null     bool
}

// Bytes returns the value in src, with which it shares memory; nil for NULL.
func (s Span) Bytes(src []byte) []byte {
	if s.Null {
		return nil
	}
	return src[s.Off : s.Off+s.Len : s.Off+s.Len]
}

// Projection is a set of columns to read, in the order in which the caller
// wants them. It is built once and then only read.
type Projection struct {
	columns  []*dictinfo.Column
	mask     []byte // bitmap of the columns, in whole words
	steps    []step // by attribute id, up to the highest wanted
	readList []byte
}

// step is what to do about one column in a packed row.
type step struct {
	column    *dictinfo.Column // nil: not wanted
	place     int              // in the caller's order
	kind      stepKind
	nullable  bool
	sizeBytes uint32 // of a fixed one; the most of another
	bits      uint32 // of BIT
}

type stepKind uint8

const (
	stepFixed   stepKind = iota // follows without padding
	stepAligned                 // begins at a word
	stepShort                   // one length byte
	stepMedium                  // two length bytes
	stepBit
)

// NewProjection returns the projection of columns of one table, each of them
// once. None at all is allowed: rows are then without values.
func NewProjection(columns []*dictinfo.Column) (*Projection, error) {
	p := &Projection{columns: slices.Clone(columns)}
	for place, c := range columns {
		if err := Supported(c); err != nil {
			return nil, err
		}
		id := int(c.ID)
		if id >= MaxPackedColumns {
			return nil, valueError(c, ErrUnsupported, "attribute id %d", id)
		}
		for len(p.steps) <= id {
			p.steps = append(p.steps, step{})
		}
		if p.steps[id].column != nil {
			return nil, fmt.Errorf("column %s is asked for twice", c.Name)
		}
		p.steps[id] = newStep(c, place)
	}
	p.mask = make([]byte, word.PaddedBytes((len(p.steps)+7)/8))
	for _, c := range columns {
		p.mask[c.ID/8] |= 1 << (c.ID % 8)
	}
	p.readList = p.buildReadList()
	return p, nil
}

func newStep(c *dictinfo.Column, place int) step {
	s := step{column: c, place: place, nullable: c.Nullable, sizeBytes: uint32(c.SizeBytes())}
	switch {
	case c.Type == dictinfo.TypeBit:
		s.kind, s.bits = stepBit, c.Elements
	case c.ArrayType == dictinfo.ArrayShortVar:
		s.kind = stepShort
	case c.ArrayType == dictinfo.ArrayMediumVar:
		s.kind = stepMedium
	case c.ElementBitsLog2 >= alignedBitsLog2:
		s.kind = stepAligned
	}
	return s
}

// Elements of 32 bits and more begin at a word.
const alignedBitsLog2 = 5

// buildReadList asks for one column by its header, for more by a bitmap.
func (p *Projection) buildReadList() []byte {
	switch len(p.columns) {
	case 0:
		return nil
	case 1:
		return AppendAttrHeader(nil, p.columns[0].ID, 0)
	}
	return append(AppendAttrHeader(nil, AttrReadPacked, len(p.mask)), p.mask...)
}

// AppendReadList appends the words that ask for the columns. An empty
// projection has none.
func (p *Projection) AppendReadList(dst []byte) []byte { return append(dst, p.readList...) }

// Len is the number of columns.
func (p *Projection) Len() int { return len(p.columns) }

// Column returns the column in place i of the caller's order.
func (p *Projection) Column(i int) *dictinfo.Column { return p.columns[i] }

// Decode finds the values of one row at the start of src, which is the words of
// TRANSID_AI, and fills spans, which must have Len places, in the caller's order.
// Both forms of answers will do. It returns what follows the row: the answers to
// a further read list. The spans count from the start of src. Errors wrap
// ErrMalformed.
func (p *Projection) Decode(src []byte, spans []Span) (rest []byte, err error) {
	if len(p.columns) == 0 {
		return src, nil
	}
	if len(src) >= word.SizeBytes && AttrHeader(word.At(src, 0)).ID() == AttrReadPacked {
		return p.decodePacked(src, spans)
	}
	rest = src
	for i := range spans {
		spans[i] = Span{Len: missing}
	}
	for range p.columns {
		var h AttrHeader
		var value []byte
		h, value, rest, err = NextAttr(rest)
		if err != nil {
			return nil, err
		}
		if int(h.ID()) >= len(p.steps) || p.steps[h.ID()].column == nil {
			return nil, fmt.Errorf("%w: attribute %#x was not asked for", ErrMalformed, h.ID())
		}
		s := &p.steps[h.ID()]
		if spans[s.place] != (Span{Len: missing}) {
			return nil, fmt.Errorf("%w: column %s comes twice", ErrMalformed, s.column.Name)
		}
		if err := CheckValue(s.column, value); err != nil {
			return nil, err
		}
		end := len(src) - len(rest)
		spans[s.place] = spanAt(end-word.PaddedBytes(len(value)), value, s.column.LengthBytes())
	}
	return rest, nil
}

// missing is the length of spans that are not filled yet.
const missing = 1<<32 - 1

func spanAt(off int, value []byte, lengthBytes int) Span {
	if value == nil {
		return Span{Null: true}
	}
	return Span{Off: uint32(off + lengthBytes), Len: uint32(len(value) - lengthBytes)}
}
