package rowformat

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Encodings of a stream, as HTTP names them.
const (
	Identity = "identity"
	Gzip     = "gzip"
	Zstd     = "zstd"
)

// Limits of compressed streams, so that a few bytes cannot keep a gateway busy
// or take its memory. No file of rows comes near to them: gzip shrinks nothing
// but one byte again and again by a factor of 1000.
const (
	maxExpansion     = 1000
	freeExpansion    = 16 << 20 // bytes that come out before that counts
	maxWindowBytes   = 8 << 20  // that a decoder must take, says RFC 8878
	writeWindowBytes = 1 << 20
)

var (
	// ErrCompression says that a stream is not compressed as it claims to be, or
	// ends early.
	ErrCompression = errors.New("the compressed data is damaged or cut off")
	// ErrExpansion says that a stream holds far more than its size.
	ErrExpansion = fmt.Errorf("the data is compressed more than %d times", maxExpansion)
)

// NewReader returns what r holds, decompressed while it is read. It returns
// ErrCompression where r does not even begin as it should, and panics where
// there is no such encoding. Errors of r come through.
func NewReader(encoding string, r io.Reader) (io.ReadCloser, error) {
	d := &decoder{from: &counted{r: r}}
	switch encoding {
	case Identity:
		return io.NopCloser(r), nil
	case Gzip:
		z, err := gzip.NewReader(d.from)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, d.explain(err)
		}
		d.Reader, d.close = z, z.Close
	case Zstd:
		z, err := zstd.NewReader(d.from,
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindowBytes))
		if err != nil {
			return nil, d.explain(err)
		}
		d.Reader, d.close = z, func() error { z.Close(); return nil }
	default:
		panic("rowformat: no encoding " + encoding)
	}
	return d, nil
}

// decoder watches over a decompressor.
type decoder struct {
	io.Reader
	close func() error
	from  *counted
	out   int64 // bytes that came out
}

// counted remembers what it has read.
type counted struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.out += int64(n)
	if d.out > freeExpansion && d.out/maxExpansion > d.from.n {
		return 0, ErrExpansion
	}
	return n, d.explain(err)
}

func (d *decoder) Close() error { return d.close() }

// explain tells an error of the stream from damage of what is in it.
func (d *decoder) explain(err error) error {
	switch {
	case err == nil || err == io.EOF: // io.ErrUnexpectedEOF is another one
		return err
	case d.from.err != nil && !errors.Is(d.from.err, io.EOF):
		return d.from.err
	default:
		return fmt.Errorf("%w: %w", ErrCompression, err)
	}
}

// Writer compresses.
type Writer interface {
	io.WriteCloser
	// Flush has the other end see all that was written.
	Flush() error
}

// NewWriter returns a writer to w that compresses, rather soon than much. Close
// ends the compressed stream and leaves w open. It panics where there is no such
// encoding.
func NewWriter(encoding string, w io.Writer) Writer {
	switch encoding {
	case Identity:
		return plainWriter{w}
	case Gzip:
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			panic("rowformat: " + err.Error())
		}
		return z
	case Zstd:
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(writeWindowBytes), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			panic("rowformat: " + err.Error())
		}
		return z
	default:
		panic("rowformat: no encoding " + encoding)
	}
}

type plainWriter struct{ io.Writer }

func (plainWriter) Flush() error { return nil }
func (plainWriter) Close() error { return nil }
