package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
)

// exportPageRows is how many rows an export reads at a time: in the order of
// their IDs, each page behind the last ID of the one before. So no scan stays
// open while a client reads slowly, and one that fails is begun again.
const exportPageRows = 5000

// Trailers of an export that came to its end.
const (
	exportCompleteTrailer = "X-Export-Complete"
	exportRowsTrailer     = "X-Export-Rows"
)

// exportEnd is the last line of an export in NDJSON.
type exportEnd struct {
	Complete bool     `json:"complete"`
	Rows     int64    `json:"rows"`
	Error    *problem `json:"error,omitempty"`
}

// exportEndPrefix is how that line begins, and no row does.
var exportEndPrefix = []byte(`{"complete":`)

// exportOptions are what a request asks of an export.
type exportOptions struct {
	filter    models.Filter
	mediaType string
	encoding  string
	end       bool // NDJSON ends with a line that says whether all is there
}

// exportEmployees sends rows of any number while they are read.
func (s *server) exportEmployees(x *exchange, rows streamRows) error {
	opts, err := parseExport(x)
	if err != nil {
		return err
	}
	e := &exporter{s: s, x: x, rows: rows, opts: opts, conn: http.NewResponseController(x.w)}
	// The client that leaves ends the reading, also where nothing is found that
	// could be sent to it.
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	first, err := e.page(ctx, nil)
	if err != nil {
		return (&listParameters{hasFilter: true}).refused(err)
	}
	e.prepareHeader()
	if x.r.Method == http.MethodHead {
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	e.run(ctx, cancel, first)
	return nil
}

func parseExport(x *exchange) (exportOptions, error) {
	opts := exportOptions{end: true, encoding: rowformat.ChooseEncoding(x.r.Header.Values("Accept-Encoding"))}
	x.w.Header().Set("Vary", x.w.Header().Get("Vary")+", Accept, Accept-Encoding")
	if _, given := x.r.Header[durabilityHeader]; given {
		return opts, refuseHeader(durabilityHeader, "unsupported", "is for calls that write")
	}
	var ok bool
	if opts.mediaType, ok = rowformat.ChooseType(x.r.Header.Values("Accept"), ndjsonType, csvType); !ok {
		return opts, newProblem(codeNotAcceptable, "an export is "+ndjsonType+" or "+csvType)
	}
	return opts, opts.parseQuery(x.r.URL.RawQuery)
}

// parseQuery returns a problem that names every wrong parameter.
func (o *exportOptions) parseQuery(rawQuery string) error {
	var conditions []models.Filter
	faults, err := readQuery(rawQuery, func(name, value string) error {
		condition, err := o.read(name, value)
		conditions = append(conditions, condition)
		return err
	})
	if err != nil {
		return err
	}
	o.filter = models.And(conditions...).Normal()
	return refuseParameters(faults)
}

// read takes one parameter, and returns the condition on employees that it is,
// if it is one.
func (o *exportOptions) read(name, value string) (condition models.Filter, err error) {
	switch name {
	case "filter":
		return parseFilter(value)
	case "summary":
		o.end, err = parseBool(value)
		return condition, err
	default:
		return parseMatch(name, value)
	}
}

// exporter is an export while it runs.
type exporter struct {
	s    *server
	x    *exchange
	rows streamRows
	opts exportOptions
	conn *http.ResponseController
}

func (e *exporter) prepareHeader() {
	h := e.x.w.Header()
	contentType := e.opts.mediaType
	if contentType == csvType {
		contentType += "; charset=utf-8; header=present"
	}
	h.Set("Content-Type", contentType)
	if e.opts.encoding != rowformat.Identity {
		h.Set("Content-Encoding", e.opts.encoding)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Trailer", exportCompleteTrailer+", "+exportRowsTrailer)
}

// page reads rows, those behind a place or the first ones.
func (e *exporter) page(ctx context.Context, after models.Cursor) (models.EmployeePage, error) {
	ctx, cancel := context.WithTimeout(ctx, e.s.requestTimeout)
	defer cancel()
	return e.rows.List(ctx, models.EmployeeQuery{Filter: e.opts.filter, After: after, Limit: exportPageRows})
}

// readPages sends the pages behind a place to out. What fails because the road
// cannot serve for a while is tried again.
func (e *exporter) readPages(ctx context.Context, next models.Cursor, out chan<- []models.Employee) error {
	for next != nil {
		p := newPatience(e.s.streamPatience)
		page, err := e.page(ctx, next)
		for err != nil && mayServeLater(err) && p.wait(ctx) {
			page, err = e.page(ctx, next)
		}
		if err != nil {
			return err
		}
		next = page.Next
		select {
		case out <- page.Employees:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// run sends the first page and all that follow. One is read while another is
// sent. An export that cannot come to its end is cut off, so that nobody takes
// it for a whole one.
func (e *exporter) run(ctx context.Context, cancel context.CancelFunc, first models.EmployeePage) {
	pages := make(chan []models.Employee)
	failed := make(chan error, 1)
	go func() { // ends with the last page, or with cancel
		failed <- e.readPages(ctx, first.Next, pages)
		close(pages)
	}()
	w := newExportWriter(e)
	err := w.page(first.Employees)
	for running := err == nil; running; {
		select {
		case page, ok := <-pages:
			if running = ok; ok {
				if err = e.x.stillAllowed(); err == nil {
					err = w.page(page)
				}
				running = err == nil
			}
		case <-e.s.stopping:
			err, running = stopping(), false
		}
	}
	cancel()
	for range pages { // wait for its end
	}
	if readErr := <-failed; err == nil {
		err = readErr
	}
	e.s.streamMetrics.rows(e.x.road, "read", w.rows)
	if err = w.end(err); err != nil {
		e.note(err, w.rows)
		panic(http.ErrAbortHandler)
	}
	h := e.x.w.Header()
	h.Set(exportCompleteTrailer, "true")
	h.Set(exportRowsTrailer, strconv.FormatInt(w.rows, 10))
	setDeadline(e.conn.SetWriteDeadline, 0)
}

// note tells log and metrics of an export that was cut off.
func (e *exporter) note(err error, rows int64) {
	info := infoOf(e.x.r.Context())
	info.problem = toProblem(err).Code
	e.s.log.LogAttrs(e.x.ctx, slog.LevelWarn, "export ended early",
		slog.String("request_id", info.id), slog.String("backend", e.x.road), slog.Int64("rows", rows), slog.String("error", err.Error()))
}
