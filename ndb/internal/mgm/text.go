package mgm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of the text. The longest reply is the status of 255 nodes.
const (
	maxLineBytes = 512 // a longer line is no valid request for the server
	maxLines     = 4096
	maxBodyBytes = 4 << 20
)

// ErrProtocol is wrapped by errors about text that makes no sense.
var ErrProtocol = errors.New("not the management protocol")

// Field is a "name: value" line.
type Field struct{ Name, Value string }

// Fields are the lines of a request or of a reply.
type Fields []Field

// Get returns the first value with the name, or an empty one.
func (f Fields) Get(name string) string {
	for _, field := range f {
		if field.Name == name {
			return field.Value
		}
	}
	return ""
}

// Int returns the value with the name as a number between least and most.
func (f Fields) Int(name string, least, most int) (int, error) {
	value := f.Get(name)
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%w: %s is %q", ErrProtocol, name, value)
	}
	return n, nil
}

// lines reads text line by line, with limits.
type lines struct {
	in *bufio.Reader
	n  int // lines of this request or reply
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, maxLineBytes)} }

// next returns a line without its end. io.EOF comes only where nothing is left.
func (l *lines) next() (string, error) {
	if l.n++; l.n > maxLines {
		return "", fmt.Errorf("%w: more than %d lines", ErrProtocol, maxLines)
	}
	line, err := l.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, maxLineBytes)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return "", io.ErrUnexpectedEOF
	case err != nil:
		return "", err
	}
	return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
}

// header returns the first line that is not empty: servers send an empty one
// too many after some errors.
func (l *lines) header() (string, error) {
	l.n = 0
	for {
		line, err := l.next()
		if err != nil || line != "" {
			return line, err
		}
	}
}

// fields reads "name: value" lines up to an empty one.
func (l *lines) fields() (Fields, error) { return l.pairs(":") }

// pairs reads lines up to an empty one.
func (l *lines) pairs(separator string) (Fields, error) {
	var fields Fields
	for {
		line, err := l.next()
		if err != nil {
			return nil, noEOF(err)
		}
		if line == "" {
			return fields, nil
		}
		name, value, ok := strings.Cut(line, separator)
		if !ok {
			return nil, fmt.Errorf("%w: line %q", ErrProtocol, line)
		}
		fields = append(fields, Field{name, unquote(strings.TrimSpace(value))})
	}
}

// body reads n bytes and the end of line behind them.
func (l *lines) body(n int) (string, error) {
	body := make([]byte, n+1)
	if _, err := io.ReadFull(l.in, body); err != nil {
		return "", noEOF(err)
	}
	if body[n] != '\n' {
		return "", fmt.Errorf("%w: %d bytes are not followed by the end of a line", ErrProtocol, n)
	}
	return string(body[:n]), nil
}

// noEOF is for where more must come.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// unquote takes the quotes away that the C client puts around texts.
func unquote(value string) string {
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		return value[1 : len(value)-1]
	}
	return value
}

// appendText appends a first line, the fields and an empty line.
func appendText(dst []byte, first string, fields Fields) ([]byte, error) {
	dst = append(append(dst, first...), '\n')
	for _, f := range fields {
		if strings.ContainsAny(f.Name, ":\r\n") || strings.ContainsAny(f.Value, "\r\n") || len(f.Name)+len(": \n")+len(f.Value) > maxLineBytes {
			return nil, fmt.Errorf("%w: %s cannot be %.100q", ErrProtocol, f.Name, f.Value)
		}
		dst = append(append(append(append(dst, f.Name...), ": "...), f.Value...), '\n')
	}
	return append(dst, '\n'), nil
}
