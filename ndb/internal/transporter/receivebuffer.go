package transporter

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

const (
	receiveBufferBytes = 512 << 10
	// maxLineBytes bounds a line of the handshake. The longest that a data node
	// accepts as a hello has 23 characters.
	maxLineBytes = 64
)

// receiveBuffer holds what was read and not yet used. The handshake and the
// signals after it share one, so that no byte between them is lost.
type receiveBuffer struct {
	buf        []byte
	start, end int // buf[start:end] is unused
}

func newReceiveBuffer() *receiveBuffer {
	return &receiveBuffer{buf: make([]byte, receiveBufferBytes)}
}

func (b *receiveBuffer) unused() []byte { return b.buf[b.start:b.end] }

// fill reads once from r. It moves what is unused to the front where the largest
// message might not fit behind it, so the results of unused are void.
func (b *receiveBuffer) fill(r io.Reader) (int, error) {
	switch {
	case b.start == b.end:
		b.start, b.end = 0, 0
	case len(b.buf)-b.start < signal.MaxMessageBytes:
		b.end = copy(b.buf, b.unused())
		b.start = 0
	}
	n, err := r.Read(b.buf[b.end:])
	b.end += n
	if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

// line reads a line and returns it without its end.
func (b *receiveBuffer) line(r io.Reader) (string, error) {
	for {
		unused := b.unused()
		n := bytes.IndexByte(unused, '\n')
		if n > maxLineBytes || n < 0 && len(unused) > maxLineBytes {
			return "", fmt.Errorf("%w: a line of more than %d bytes", ErrHandshake, maxLineBytes)
		}
		if n >= 0 {
			b.start += n + 1
			return string(bytes.TrimSuffix(unused[:n], []byte("\r"))), nil
		}
		if _, err := b.fill(r); err != nil {
			return "", err
		}
	}
}
