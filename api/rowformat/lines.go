package rowformat

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong says that a line, or a record of CSV, is longer than it may be. The
// stream goes on behind it.
var ErrTooLong = errors.New("the line is too long")

// byteOrderMark may stand at the beginning of a stream; some editors put it there.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Lines cuts a stream into lines, which end with LF or CR LF; the last one may
// end with the stream. Not safe for concurrent use.
type Lines struct {
	r   *bufio.Reader
	max int
	n   int   // lines so far
	err error // of the stream; found behind a line that was too long
}

// NewLines returns the lines of r, each of at most maxBytes without its end. A
// byte order mark before the first one is passed over.
func NewLines(r io.Reader, maxBytes int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, len(byteOrderMark)+maxBytes+len("\r\n")), max: maxBytes}
}

// Next returns the next line without its end; it is valid until the next call.
// At the end of the stream it returns io.EOF, and for a line that is too long
// ErrTooLong. Any other error is that of the stream: what came of its last line
// is lost.
func (l *Lines) Next() ([]byte, error) {
	line, err := l.next()
	return trimEnd(line), err
}

// Line is the number of the line that Next has returned last, from 1 on.
func (l *Lines) Line() int { return l.n }

// next is Next with the end of the line.
func (l *Lines) next() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	line, err := l.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		l.n++
		l.skip()
		return nil, ErrTooLong
	case errors.Is(err, io.EOF) && len(line) > 0:
		l.err = io.EOF
	case err != nil:
		l.err = err
		return nil, err
	}
	if l.n++; l.n == 1 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(trimEnd(line)) > l.max {
		return nil, ErrTooLong
	}
	return line, nil
}

// skip goes on behind the end of a line that does not fit the buffer.
func (l *Lines) skip() {
	for {
		_, err := l.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.err = err
		return
	}
}

func trimEnd(line []byte) []byte {
	line, ended := bytes.CutSuffix(line, []byte("\n"))
	if ended {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line
}
