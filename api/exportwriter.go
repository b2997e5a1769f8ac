package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
)

// exportWriter writes the pages of an export.
type exportWriter struct {
	e    *exporter
	to   rowformat.Writer
	text []byte
	rows int64
}

// errNotSent says that the client has left, or reads too slowly.
var errNotSent = errors.New("the client does not read")

func newExportWriter(e *exporter) *exportWriter {
	w := &exportWriter{e: e, to: rowformat.NewWriter(e.opts.encoding, e.x.w)}
	if e.opts.mediaType == csvType {
		w.text = appendCSVHeader(w.text)
	}
	return w
}

// textBytes is how much text is gathered for one write.
const textBytes = 64 << 10

// page sends a page, and shows it to the client.
func (w *exportWriter) page(rows []models.Employee) error {
	for i := range rows {
		if w.e.opts.mediaType == csvType {
			w.text = appendCSVRecord(w.text, &rows[i])
		} else {
			w.text = append(w.text, encodeEmployee(&rows[i])...)
		}
		w.rows++
		if len(w.text) >= textBytes {
			if err := w.write(); err != nil {
				return err
			}
		}
	}
	return errors.Join(w.write(), w.flush())
}

// write gives the client a time of its own for each piece.
func (w *exportWriter) write() error {
	setDeadline(w.e.conn.SetWriteDeadline, w.e.s.streamIdle)
	_, err := w.to.Write(w.text)
	w.text = w.text[:0]
	return notSent(err)
}

func (w *exportWriter) flush() error {
	return errors.Join(notSent(w.to.Flush()), w.flushed())
}

// flushed has the client see what the compressor gave. Some writers of tests
// cannot do it; every real one can.
func (w *exportWriter) flushed() error {
	err := w.e.conn.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return notSent(err)
}

func notSent(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errNotSent, err)
}

// end sends the end of an export that ended with the error, and returns that or
// why it could not.
func (w *exportWriter) end(err error) error {
	if errors.Is(err, errNotSent) || w.e.x.r.Context().Err() != nil {
		return err
	}
	if w.e.opts.end && w.e.opts.mediaType == ndjsonType {
		end := exportEnd{Complete: err == nil, Rows: w.rows}
		if err != nil {
			p := *toProblem(err)
			p.RequestID = infoOf(w.e.x.r.Context()).id
			end.Error = &p
		}
		w.text = append(w.text, encodeLine(end)...)
	}
	return errors.Join(err, w.write(), notSent(w.to.Close()), w.flushed())
}
