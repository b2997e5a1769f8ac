package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// transfer is what import and export have in common: a file here, and a gateway
// that runs somewhere.
type transfer struct {
	target  string
	backend string
	format  string // ndjson or csv; empty: by the name of the file
	file    string // "-" is standard input or output
}

// standardStream is the name of standard input and output.
const standardStream = "-"

func (t *transfer) options() []option {
	return []option{
		{
			name: "target", help: "gateway to talk to [http://127.0.0.1:8080]", want: "http://host:port",
			set: func(text string) error {
				u, err := url.Parse(text)
				if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
					return errWant
				}
				t.target = strings.TrimSuffix(text, "/")
				return nil
			},
		},
		word("backend", "road to the rows, ndb or sql [the gateway's default]", &t.backend),
		choice("format", "ndjson or csv [by the name of the file, else ndjson]", &t.format, "ndjson", "csv"),
	}
}

// takeFile takes the one argument that is no flag.
func (t *transfer) takeFile(command string, rest []string) error {
	if len(rest) != 1 || rest[0] == "" {
		return usageError(fmt.Sprintf("%s takes one file, or - for a standard stream; see gateway %s --help", command, command))
	}
	t.file = rest[0]
	return nil
}

// mediaType and encoding follow from the name of the file, as in staff.csv.gz.
func (t *transfer) mediaType() string {
	name := strings.TrimSuffix(strings.TrimSuffix(t.file, ".gz"), ".zst")
	if t.format == "csv" || t.format == "" && strings.EqualFold(filepath.Ext(name), ".csv") {
		return "text/csv"
	}
	return "application/x-ndjson"
}

// encoding is empty where the file is not compressed.
func (t *transfer) encoding() string {
	switch strings.ToLower(filepath.Ext(t.file)) {
	case ".gz":
		return "gzip"
	case ".zst":
		return "zstd"
	default:
		return ""
	}
}

func (t *transfer) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	address := t.target + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "ndbgate/"+thisBuild().version)
	if t.backend != "" {
		r.Header.Set("X-Backend", t.backend)
	}
	return r, nil
}

// connectTimeout is how long a gateway may take to accept a connection.
const connectTimeout = 10 * time.Second

// send sends a request, and returns an answer that is not refused. Its body must
// be closed.
func (t *transfer) send(r *http.Request) (*http.Response, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true  // there is but one request
	transport.DisableCompression = true // the file says what is wanted
	transport.ExpectContinueTimeout = connectTimeout
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return nil, withoutURL(err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close() // only read: its error tells nothing
		return nil, refusal(answer)
	}
	return answer, nil
}

// withoutURL spares the message the request that the user has written.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// told is a problem as the gateway tells it.
type told struct {
	Title  string
	Detail string
	Code   string
	Errors []struct {
		Pointer, Parameter, Header, Detail string
	}
}

func (p *told) String() string {
	text := p.Code + ": " + p.Title
	if len(p.Errors) == 0 && p.Detail != "" {
		return text + ": " + p.Detail
	}
	for i, e := range p.Errors {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		text += separator + strings.TrimSpace(strings.TrimPrefix(e.Pointer+e.Parameter+e.Header, "/")+" "+e.Detail)
	}
	return text
}

// maxRefusalBytes bounds what is read of an answer that is none of a gateway.
const maxRefusalBytes = 64 << 10

func refusal(answer *http.Response) error {
	var p told
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusalBytes))
	if err != nil || json.Unmarshal(text, &p) != nil || p.Code == "" {
		return fmt.Errorf("the answer is %s, and none of a gateway", answer.Status)
	}
	return errors.New(p.String())
}
