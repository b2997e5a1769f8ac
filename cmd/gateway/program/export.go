package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// exporting is one run of gateway export.
type exporting struct {
	transfer
	filter string

	p        process
	progress *progress
	got      int64  // bytes
	tail     []byte // the last of them
}

func newExporting(p process) *exporting {
	return &exporting{transfer: transfer{target: defaultTarget}, p: p, progress: newProgress(p.stderr)}
}

func (e *exporting) options() []option {
	return append(e.transfer.options(),
		word("filter", "only rows that match: an expression as in filter= of the API,\n                  such as 'city = \"Oslo\" AND department = 2' [all]", &e.filter))
}

func exportUsage() string {
	return `Usage: gateway export FILE [--FLAG=VALUE ...]

Writes the rows of a gateway that runs to a file, in the order of their ids: a
JSON object on each line and a last line that says that all is there, or CSV.
A FILE that ends with .gz or .zst is compressed, and - is standard output.

` + optionsUsage(newExporting(process{}).options()) + `
FILE is there once all of it is; until then it has the name FILE.part. Where an
export is cut off, FILE.part stays with what came; the next one replaces it.
Filters: the README, or /docs of the gateway. The API's city=Oslo is --filter
'city = "Oslo"' here; several such conditions have AND between them.
Exit codes: 0 all rows are there, 1 not, 2 wrong command line.
`
}

// exportFile runs gateway export.
func exportFile(ctx context.Context, args []string, p process) error {
	e := newExporting(p)
	rest, err := parseOptions(args, e.options())
	if errors.Is(err, errHelp) {
		_, err := io.WriteString(p.stdout, exportUsage())
		return err
	}
	if err == nil {
		err = e.takeFile("export", rest)
	}
	if err == nil {
		err = e.takeKey(p.getenv)
	}
	if err != nil {
		return err
	}
	e.warnOfClearKey(p.stderr)
	rows, err := e.export(ctx)
	e.progress.clear()
	if err != nil {
		return fmt.Errorf("export %s: %w", e.file, err)
	}
	if e.file != standardStream {
		_, err = fmt.Fprintf(p.stdout, "%s rows, %s\n", rows, size(e.got))
	}
	return err
}

// export asks for the rows, writes them, and returns how many there are. There is no
// file before an answer has begun, so that one which is refused leaves none and takes
// none away.
func (e *exporting) export(ctx context.Context) (rows string, err error) {
	answer, err := e.ask(ctx)
	if err != nil {
		return "", orInterrupted(ctx, err)
	}
	defer answer.Body.Close() // only read: its error tells nothing
	if e.file == standardStream {
		rows, err = e.receive(answer, e.p.stdout)
		return rows, orInterrupted(ctx, err)
	}
	part := e.file + ".part"
	file, err := os.Create(part)
	if err != nil {
		return "", err
	}
	rows, err = e.receive(answer, file)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	switch {
	case err == nil:
		return rows, os.Rename(part, e.file)
	case e.got == 0:
		return "", errors.Join(orInterrupted(ctx, err), os.Remove(part))
	default:
		return "", fmt.Errorf("%w\nonly the rows that came until then are in %s; the next export to %s replaces it", orInterrupted(ctx, err), part, e.file)
	}
}

// ask sends the request, and returns an answer that has begun. Its body must be
// closed.
func (e *exporting) ask(ctx context.Context) (*http.Response, error) {
	query := url.Values{}
	if e.filter != "" {
		query.Set("filter", e.filter)
	}
	r, err := e.request(ctx, http.MethodGet, "/v1/employees:export", query, nil)
	if err != nil {
		return nil, err
	}
	encoding := e.encoding()
	r.Header.Set("Accept", e.mediaType())
	r.Header.Set("Accept-Encoding", strings.TrimPrefix(encoding+", identity;q=0", ", "))
	if encoding == "" {
		r.Header.Set("Accept-Encoding", "identity")
	}
	answer, err := e.send(r)
	if err != nil {
		return nil, err
	}
	if got := answer.Header.Get("Content-Encoding"); got != encoding {
		return nil, errors.Join(fmt.Errorf("the answer is compressed as %q, not %q as was asked", got, encoding), answer.Body.Close())
	}
	return answer, nil
}

// receive writes the answer, and returns how many rows it has.
func (e *exporting) receive(answer *http.Response, w io.Writer) (rows string, err error) {
	if _, err := io.Copy(io.MultiWriter(w, shown{e}), answer.Body); err != nil {
		return "", e.explain(withoutURL(err))
	}
	if answer.Trailer.Get("X-Export-Complete") != "true" {
		return "", fmt.Errorf("%w: nothing says that all rows are there", errCutOff)
	}
	return answer.Trailer.Get("X-Export-Rows"), nil
}

// explain finds in the last line of NDJSON why an export has ended early.
func (e *exporting) explain(err error) error {
	var end struct {
		Complete *bool
		Error    *told
	}
	last := bytes.TrimSuffix(e.tail, []byte("\n"))
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	if json.Unmarshal(last, &end) == nil && end.Complete != nil && end.Error != nil {
		return errors.New(end.Error.String())
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutOff
	}
	return err
}

// tailBytes is enough for the last line of an export.
const tailBytes = 4 << 10

// shown counts what is written, shows it, and remembers its end.
type shown struct{ e *exporting }

func (s shown) Write(p []byte) (int, error) {
	e := s.e
	e.got += int64(len(p))
	e.tail = append(e.tail, p[max(len(p)-tailBytes, 0):]...)
	e.tail = append(e.tail[:0], e.tail[max(len(e.tail)-tailBytes, 0):]...)
	e.progress.draw(0, 0, size(e.got))
	return len(p), nil
}
