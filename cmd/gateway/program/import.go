package program

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// errImportFailed says that import has told what is wrong.
var errImportFailed = errors.New("not every row of the import is stored")

// importing is one run of gateway import.
type importing struct {
	transfer
	onConflict string
	onError    string
	durability string
	maxErrors  string

	p        process
	progress *progress
	sent     atomic.Int64 // bytes of the file
	size     int64        // of the file; 0: not known
}

func newImporting(p process) *importing {
	return &importing{
		transfer: transfer{target: defaultTarget}, onConflict: onConflictFail, onError: "stop",
		p: p, progress: newProgress(p.stderr),
	}
}

const (
	defaultTarget  = "http://127.0.0.1:8080"
	onConflictFail = "fail"
)

func (m *importing) options() []option {
	return append(m.transfer.options(),
		choice("on-conflict", "rows whose id exists: fail, skip or replace [fail]", &m.onConflict, onConflictFail, "skip", "replace"),
		choice("on-error", "at a wrong line: stop or continue [stop]", &m.onError, "stop", "continue"),
		option{
			name: "max-errors", help: "wrong lines after which it stops all the same [1000]", want: "a whole number from 1 on",
			set: func(text string) error {
				if n, err := strconv.ParseUint(text, 10, 63); err != nil || n == 0 {
					return errWant
				}
				m.maxErrors = text
				return nil
			},
		},
		choice("durability", "wait until all is on disk: memory or disk [memory]", &m.durability, "memory", "disk"),
	)
}

func importUsage() string {
	return `Usage: gateway import FILE [--FLAG=VALUE ...]

Stores the rows of a file by a gateway that runs: a JSON object on each line, or
CSV whose first line names the columns. FILE may end with .gz or .zst, and - is
standard input. Every row must have an id.

` + optionsUsage(newImporting(process{}).options()) + `
Wrong lines are named on standard error. The first one ends the import, unless
--on-error=continue is given; what was stored before stays stored: mend the line
that is named, and run the import again with --on-conflict=skip, which passes
over the rows that are stored already. So can any import that ended early.
Exit codes: 0 every row is stored or skipped, 1 not, 2 wrong command line.
`
}

// importFile runs gateway import.
func importFile(ctx context.Context, args []string, p process) error {
	m := newImporting(p)
	rest, err := parseOptions(args, m.options())
	if errors.Is(err, errHelp) {
		_, err := io.WriteString(p.stdout, importUsage())
		return err
	}
	if err == nil {
		err = m.takeFile("import", rest)
	}
	if err == nil {
		err = m.takeKey(p.getenv)
	}
	if err == nil && m.maxErrors != "" && m.onError != "continue" {
		err = usageError("flag --max-errors needs --on-error=continue")
	}
	if err != nil {
		return err
	}
	m.warnOfClearKey(p.stderr)
	file, err := m.open(ctx)
	if err != nil {
		return err
	}
	defer file.Close() // only read: its error tells nothing
	ended, err := m.send(ctx, file)
	m.progress.clear()
	if _, refused := errors.AsType[refusedError](err); refused {
		return fmt.Errorf("import %s: %w", m.file, err)
	}
	if err != nil {
		return fmt.Errorf("import %s: %w\n%s", m.file, orInterrupted(ctx, err), m.again())
	}
	return m.conclude(ended)
}

// open opens the file, and finds out how long it is.
func (m *importing) open(ctx context.Context) (io.ReadCloser, error) {
	if m.file == standardStream {
		return interruptible(ctx, m.p.stdin), nil
	}
	file, err := os.Open(m.file)
	if err != nil {
		return nil, err
	}
	switch info, err := file.Stat(); {
	case err != nil:
		return nil, errors.Join(err, file.Close())
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("import %s: is a directory", m.file), file.Close())
	case info.Mode().IsRegular():
		m.size = info.Size()
	}
	return file, nil
}

// interruptible reads r until the context ends, even where r gives nothing.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	from, to := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = to.CloseWithError(ctx.Err()) }) // of a pipe it never fails
	go func() {                                                                 // ends with r, or with the process
		_, err := io.Copy(to, r)
		stop()
		_ = to.CloseWithError(err)
	}()
	return from
}

// counting counts the bytes of a file while they are sent.
type counting struct {
	io.Reader
	n *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// importLine is a line of the answer.
type importLine struct {
	Type                                    string
	Complete                                bool
	Rows, Written, Skipped, Failed, Unknown int64
	Unlisted                                int64
	Seconds                                 float64
	Durability                              string
	Line                                    int
	Error                                   *told
}

var errCutOff = errors.New("the answer ended early")

// send sends the file, shows what the gateway tells, and returns the last line.
func (m *importing) send(ctx context.Context, file io.Reader) (importLine, error) {
	query := url.Values{"on_conflict": {m.onConflict}, "on_error": {m.onError}}
	if m.maxErrors != "" {
		query.Set("max_errors", m.maxErrors)
	}
	r, err := m.request(ctx, http.MethodPost, "/v1/employees:import", query, counting{file, &m.sent})
	if err != nil {
		return importLine{}, err
	}
	r.ContentLength = -1
	if m.size > 0 {
		r.ContentLength = m.size
	}
	r.Header.Set("Content-Type", m.mediaType())
	r.Header.Set("Expect", "100-continue") // a refusal comes before the file is sent
	if encoding := m.encoding(); encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	if m.durability != "" {
		r.Header.Set("X-Durability", m.durability)
	}
	answer, err := m.transfer.send(r)
	if err != nil {
		return importLine{}, err
	}
	defer answer.Body.Close() // only read: its error tells nothing
	return m.follow(answer.Body)
}

func (m *importing) follow(body io.Reader) (importLine, error) {
	for lines := bufio.NewReader(body); ; {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return importLine{}, fmt.Errorf("%w: %w", errCutOff, withoutURL(err))
		}
		var line importLine
		if err := json.Unmarshal(text, &line); err != nil {
			return importLine{}, fmt.Errorf("the answer has a line that cannot be read: %w", err)
		}
		switch line.Type {
		case "progress":
			m.progress.draw(m.sent.Load(), m.size, fmt.Sprintf("%d rows, %d wrong, %s", line.Rows, line.Failed+line.Unknown, m.progress.rate(line.Rows)))
		case "line_error":
			m.progress.clear()
			fmt.Fprintf(m.p.stderr, "line %d: %s\n", line.Line, line.Error)
		case "summary":
			return line, nil
		} // others may be added
	}
}

// conclude tells how an import has ended.
func (m *importing) conclude(end importLine) error {
	took := time.Duration(end.Seconds * float64(time.Second))
	fmt.Fprintf(m.p.stdout, "%d rows in %.1f s, %s: %d written, %d skipped, %d failed, %d unknown\n",
		end.Rows, end.Seconds, perSecond(end.Rows, took), end.Written, end.Skipped, end.Failed, end.Unknown)
	if end.Unlisted > 0 {
		fmt.Fprintf(m.p.stderr, "%d more wrong lines are not listed\n", end.Unlisted)
	}
	if !end.Complete {
		fmt.Fprintln(m.p.stderr, m.endedEarly(end))
		return errImportFailed
	}
	if end.Failed+end.Unknown > 0 {
		return errImportFailed
	}
	return nil
}

// Codes of problems after which there is something special to do.
const (
	codeAlreadyExists = "already_exists"
	codeTooManyErrors = "too_many_errors"
	codeNotDurableYet = "not_durable_yet"
)

// endedEarly says why an import has ended before its last line, and what to do.
func (m *importing) endedEarly(end importLine) string {
	why := cmp.Or(end.Error, &told{Code: "unknown", Title: "The gateway does not say why"})
	text := "import " + m.file + " ended early"
	if end.Line > 0 {
		text += fmt.Sprintf(" at line %d", end.Line)
	}
	if end.Line == 0 || why.Code == codeTooManyErrors { // else the line was named before
		text += ": " + why.String()
	}
	mend := "mend the file"
	switch {
	case why.Code == codeNotDurableYet: // all is stored
		return text
	case why.Code == codeAlreadyExists && m.onConflict == onConflictFail:
		return text + "\nrun it again with --on-conflict=skip to pass over the rows whose id exists, or --on-conflict=replace to replace them"
	case end.Error == nil || why.mayPass():
		return text + "\n" + m.again()
	case why.Code == codeTooManyErrors:
		mend = "mend the lines named above, or allow more with --max-errors"
	case end.Line > 0:
		mend = fmt.Sprintf("mend line %d", end.Line)
	}
	return fmt.Sprintf("%s; the %d rows written until then stay stored\n%s, then %s", text, end.Written, mend, m.again())
}

// again tells how to go on.
func (m *importing) again() string {
	if m.onConflict == onConflictFail {
		return "run it again with --on-conflict=skip to pass over the rows that are stored already"
	}
	return "run it again to go on"
}
