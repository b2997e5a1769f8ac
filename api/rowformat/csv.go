package rowformat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Field is one value of a record of CSV. PostgreSQL's convention tells NULL from
// empty text: a field with nothing in it is NULL, one with two quotes is empty
// text. So no field in quotes is NULL.
type Field struct {
	Text []byte
	Null bool
}

// Records cuts a stream of CSV (RFC 4180) into records. Lines may also end with
// LF alone, and empty ones are passed over. Not safe for concurrent use.
type Records struct {
	lines  *Lines
	begins int    // line of the last record
	text   []byte // of all fields of the record, without quotes
	spans  []span // of the fields in it
	fields []Field
}

type span struct {
	end  int
	null bool
}

// NewRecords returns the records of r, each of at most maxBytes.
func NewRecords(r io.Reader, maxBytes int) *Records {
	return &Records{lines: NewLines(r, maxBytes)}
}

// SyntaxError is what is wrong with a record.
type SyntaxError struct {
	Detail string
	// Fatal says that nobody can tell where the next record begins.
	Fatal bool
}

func (e *SyntaxError) Error() string { return "CSV: " + e.Detail }

// Next returns the fields of the next record; they are valid until the next call.
// At the end of the stream it returns io.EOF. After ErrTooLong and a *SyntaxError
// that is not fatal the stream goes on with the line behind.
func (c *Records) Next() ([]Field, error) {
	for {
		line, err := c.lines.next()
		c.begins = c.lines.n
		if err != nil {
			return nil, err
		}
		if len(trimEnd(line)) > 0 {
			return c.record(line)
		}
	}
}

// Line is the number of the line in which the record begins that Next has
// returned last, from 1 on.
func (c *Records) Line() int { return c.begins }

func (c *Records) record(rest []byte) ([]Field, error) {
	c.text, c.spans = c.text[:0], c.spans[:0]
	for more := true; more; {
		quoted := len(rest) > 0 && rest[0] == '"'
		begin := len(c.text)
		var err error
		if quoted {
			rest, err = c.quoted(rest[1:])
		} else {
			rest, err = c.plain(rest)
		}
		if err != nil {
			return nil, err
		}
		c.spans = append(c.spans, span{end: len(c.text), null: !quoted && begin == len(c.text)})
		rest, more = bytes.CutPrefix(rest, []byte(","))
	}
	if len(trimEnd(rest)) > 0 {
		return nil, &SyntaxError{Detail: fmt.Sprintf("after a closing quote comes a comma or the end of the line, not %q", first(rest))}
	}
	c.fields = c.fields[:0]
	begin := 0
	for _, s := range c.spans {
		c.fields = append(c.fields, Field{Text: c.text[begin:s.end], Null: s.null})
		begin = s.end
	}
	return c.fields, nil
}

// first is the first character of text that is not empty.
func first(text []byte) rune {
	char, _ := utf8.DecodeRune(text)
	return char
}

// plain takes a field without quotes off the rest of the line.
func (c *Records) plain(rest []byte) ([]byte, error) {
	end := bytes.IndexByte(rest, ',')
	if end < 0 {
		end = len(trimEnd(rest))
	}
	field := rest[:end]
	if bytes.IndexByte(field, '"') >= 0 {
		return nil, &SyntaxError{Detail: "a quote in a field that does not begin with one"}
	}
	if bytes.IndexByte(field, '\r') >= 0 {
		return nil, &SyntaxError{Detail: "a carriage return in a field without quotes"}
	}
	c.text = append(c.text, field...)
	return rest[end:], nil
}

// quoted takes a field off the rest of the line behind its opening quote; the
// field may go on over several lines.
func (c *Records) quoted(rest []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(rest, '"')
		if i < 0 {
			c.text = append(c.text, rest...)
			var err error
			if rest, err = c.continued(); err != nil {
				return nil, err
			}
			continue
		}
		c.text = append(c.text, rest[:i]...)
		rest = rest[i+1:]
		if len(rest) == 0 || rest[0] != '"' {
			return rest, nil
		}
		c.text = append(c.text, '"')
		rest = rest[1:]
	}
}

// continued returns the line on which a field in quotes goes on.
func (c *Records) continued() ([]byte, error) {
	line, err := c.lines.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, &SyntaxError{Detail: "the quote that opens a field is never closed", Fatal: true}
	case errors.Is(err, ErrTooLong) || err == nil && len(c.text)+len(line) > c.lines.max:
		return nil, &SyntaxError{Detail: fmt.Sprintf("the quote that opens a field is not closed within %d bytes", c.lines.max), Fatal: true}
	}
	return line, err
}

// AppendField appends a field of CSV, without the comma before it: NULL where
// text is nil.
func AppendField(dst, text []byte) []byte {
	switch {
	case text == nil:
		return dst
	case len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n"):
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for {
		before, after, found := bytes.Cut(text, []byte{'"'})
		dst = append(dst, before...)
		if !found {
			return append(dst, '"')
		}
		dst = append(dst, '"', '"')
		text = after
	}
}
