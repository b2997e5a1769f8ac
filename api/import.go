package api

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/store"
)

// What an import does with a row whose id exists.
const (
	onConflictFail    = "fail" // a wrong line
	onConflictSkip    = "skip"
	onConflictReplace = "replace"
)

// What an import does after a wrong line.
const (
	onErrorStop     = "stop"
	onErrorContinue = "continue"
)

const (
	defaultMaxErrors = 1000
	maxMaxErrors     = 1_000_000_000
)

// importOptions are what a request asks of an import.
type importOptions struct {
	mediaType  string
	encoding   string // of the body
	onConflict string
	goOn       bool          // after a wrong line
	maxErrors  int64         // wrong lines after which it ends all the same
	disk       store.Durable // waits until all is on disk; nil: nobody asked
	durability string        // as it was asked for; empty: not
}

// importEmployees stores the rows of a body of any length while it comes, and
// tells of it in lines of JSON; see importer.
func (s *server) importEmployees(x *exchange, rows streamRows) error {
	opts, err := s.parseImport(x, rows)
	if err != nil {
		return err
	}
	conn := http.NewResponseController(x.w)
	// An answer may begin while the body comes. HTTP/2 always does so.
	_ = conn.EnableFullDuplex()
	m := newImporter(s, x, rows, conn, opts)
	s.finish(x, m.run())
	m.linger()
	return nil
}

func (s *server) parseImport(x *exchange, rows streamRows) (importOptions, error) {
	opts := importOptions{onConflict: onConflictFail, maxErrors: defaultMaxErrors}
	var err error
	if opts.mediaType, opts.encoding, err = streamBody(x.r); err != nil {
		return opts, err
	}
	if opts.durability, opts.disk, err = importDurability(x, rows); err != nil {
		return opts, err
	}
	return opts, opts.parseQuery(x.r.URL.RawQuery)
}

// streamBody finds out how the body is to be read.
func streamBody(r *http.Request) (mediaType, encoding string, err error) {
	refuse := func(detail string) (string, string, error) {
		return "", "", newProblem(codeUnsupportedMediaType, detail).
			withHeader("Accept-Post", ndjsonType+", "+csvType).withHeader("Accept-Encoding", rowformat.Gzip+", "+rowformat.Zstd)
	}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || len(r.Header.Values("Content-Type")) > 1 || mediaType != ndjsonType && mediaType != csvType {
		return refuse("Content-Type must be " + ndjsonType + " or " + csvType)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refuse("the charset of the body must be utf-8")
	}
	if header, ok := params["header"]; ok && mediaType == csvType && header != "present" {
		return refuse("CSV must begin with a line that names the columns")
	}
	switch encoding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ",")); encoding {
	case "", rowformat.Identity:
		return mediaType, rowformat.Identity, nil
	case rowformat.Gzip, rowformat.Zstd:
		return mediaType, encoding, nil
	default:
		return refuse("Content-Encoding must be " + rowformat.Gzip + " or " + rowformat.Zstd)
	}
}

// importDurability reads X-Durability. An import waits once, at its end.
func importDurability(x *exchange, rows streamRows) (string, store.Durable, error) {
	if _, given := x.r.Header[durabilityHeader]; !given {
		return "", nil, nil
	}
	// Beside the answer to single writes, which is not for an import.
	probe := *x
	probe.store = rows
	if err := chooseDurability(&probe); err != nil {
		return "", nil, err
	}
	chosen := probe.store.(*durableStore)
	if chosen.disk == nil {
		return inMemory, nil, nil
	}
	return onDisk, chosen.disk, nil
}

// parseQuery returns a problem that names every wrong parameter.
func (o *importOptions) parseQuery(rawQuery string) error {
	limited := false
	faults, err := readQuery(rawQuery, func(name, value string) error {
		limited = limited || name == "max_errors"
		return o.set(name, value)
	})
	if err != nil {
		return err
	}
	if limited && !o.goOn && len(faults) == 0 {
		faults = append(faults, faultOf("max_errors", errText("needs on_error="+onErrorContinue)))
	}
	return refuseParameters(faults)
}

func (o *importOptions) set(name, value string) error {
	switch name {
	case "on_conflict":
		if !slices.Contains([]string{onConflictFail, onConflictSkip, onConflictReplace}, value) {
			return errText("must be fail, skip or replace")
		}
		o.onConflict = value
	case "on_error":
		if value != onErrorStop && value != onErrorContinue {
			return errText("must be stop or continue")
		}
		o.goOn = value == onErrorContinue
	case "max_errors":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 || n > maxMaxErrors || strconv.FormatInt(n, 10) != value {
			return errText(fmt.Sprintf("must be an integer from 1 to %d", maxMaxErrors))
		}
		o.maxErrors = n
	default:
		return errText("is not a parameter of this call")
	}
	return nil
}
