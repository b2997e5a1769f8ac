package ndb

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Compare orders two stored values of the column as the data nodes do: below 0, 0
// or above. The values are as Row.Bytes returns them; nil is NULL, which comes
// first. BIT, and text that this package cannot compare, are an ErrUnknownOrder.
func (c *Column) Compare(a, b []byte) (int, error) {
	order, ok := row.CompareSpans(c.info, a, spanOf(a), b, spanOf(b))
	if !ok || c.info.Type == dictinfo.TypeBit {
		return 0, fmt.Errorf("%w: column %s, collation %d", ErrUnknownOrder, c.Name, c.Charset)
	}
	return order, nil
}

func spanOf(value []byte) row.Span { return row.Span{Null: value == nil, Len: uint32(len(value))} }

// HasKnownOrder tells whether Compare can compare all values of the column.
func (c *Column) HasKnownOrder() bool { return row.OrderIsKnown(c.info) }

// Stored returns the bytes that a value, of any type that Values.Any takes, has
// in the column, as Row.Bytes returns them; nil is NULL. Its errors are
// those of Values.
func (c *Column) Stored(value any) ([]byte, error) {
	attr, err := row.AppendValue(nil, row.FormAttr, c.info, value)
	if err != nil {
		return nil, fmt.Errorf("ndb: %w", err)
	}
	header := row.AttrHeader(word.At(attr, 0))
	if header.LengthBytes() == 0 {
		return nil, nil
	}
	return row.Content(c.info, attr[word.SizeBytes:word.SizeBytes+header.LengthBytes()]), nil
}

// PrefixBounds returns the first and the last text of the column, in its order,
// that can begin with what equals prefix: between them is what is like the
// pattern of prefix and %. It is not ok where the order of the column is not
// known, and where prefix is longer than the column.
func (c *Column) PrefixBounds(prefix string) (low, high string, ok bool) {
	return row.PrefixBounds(c.info, prefix)
}
