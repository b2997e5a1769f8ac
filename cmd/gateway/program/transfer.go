package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// transfer is what import and export have in common: a file here, and a gateway
// that runs somewhere.
type transfer struct {
	target  string
	backend string
	keyFile string
	key     string // API key or token, which is never shown; empty: none
	format  string // one of the constants below
	file    string // "-" is standard input or output
}

const (
	formatNDJSON = "ndjson"
	formatCSV    = "csv"
)

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
		word("key-file", "file with the API key [the key in GATEWAY_API_KEY, if any]", &t.keyFile),
		word("backend", "road to the rows, ndb or sql [the gateway's default]", &t.backend),
		choice("format", "ndjson or csv [by the end of FILE; ndjson where it has none]", &t.format, formatNDJSON, formatCSV),
	}
}

// warnOfClearKey tells that the key is for all to see on its way. The gateway is not
// asked: by then it would be too late.
func (t *transfer) warnOfClearKey(stderr io.Writer) {
	if u, err := url.Parse(t.target); err == nil && t.key != "" && u.Scheme == "http" && !onLoopback(net.JoinHostPort(u.Hostname(), u.Port())) {
		fmt.Fprintln(stderr, "gateway: warning: the key goes over http in the clear; name the gateway with https, unless the way to it is safe in itself")
	}
}

var errKeyInTheClear = errors.New("it leads from https to http, where the key would go in the clear")

// checkRedirect is as http.Client's, which would take the key along to the same host.
func (t *transfer) checkRedirect(next *http.Request, before []*http.Request) error {
	const most = 10 // as net/http has it
	switch {
	case len(before) >= most:
		return fmt.Errorf("it was the redirect number %d", most)
	case t.key != "" && next.URL.Scheme != "https" && before[len(before)-1].URL.Scheme == "https":
		return errKeyInTheClear
	default:
		return nil
	}
}

// maxKeyBytes is the longest key or token that a gateway takes.
const maxKeyBytes = 8 << 10

// takeKey finds the key. It comes by no flag: others on this host see those. Its
// errors quote nothing of it.
func (t *transfer) takeKey(getenv func(string) (string, bool)) error {
	from := "environment GATEWAY_API_KEY"
	t.key, _ = getenv("GATEWAY_API_KEY")
	if t.keyFile != "" {
		from = "flag --key-file: " + t.keyFile
		text, err := os.ReadFile(t.keyFile)
		if err != nil {
			return usageError("flag --key-file: " + err.Error())
		}
		t.key = strings.TrimSpace(string(text))
		if t.key == "" {
			return usageError(from + ": expected one key or token and nothing else")
		}
	}
	if len(t.key) > maxKeyBytes || strings.ContainsFunc(t.key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usageError(from + ": expected one key or token and nothing else")
	}
	return nil
}

// takeFile takes the one argument that is no flag, and finds out its format.
func (t *transfer) takeFile(command string, rest []string) error {
	if len(rest) != 1 || rest[0] == "" {
		return usageError(fmt.Sprintf("%s takes one file, or - for a standard stream; see gateway %s --help", command, command))
	}
	t.file = rest[0]
	if t.format != "" {
		return nil
	}
	switch ending := t.formatEnding(); ending {
	case ".csv":
		t.format = formatCSV
	case ".ndjson", ".jsonl", "":
		t.format = formatNDJSON
	default:
		return usageError(fmt.Sprintf("%s: a file that ends with %s: name it .ndjson or .csv, or say what it is with --format=ndjson or --format=csv",
			command, quoteHarmless(ending)))
	}
	return nil
}

// formatEnding is .csv of staff.csv.gz, in lower case.
func (t *transfer) formatEnding() string {
	name := t.file
	if t.encoding() != "" {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	return strings.ToLower(filepath.Ext(name))
}

func (t *transfer) mediaType() string {
	if t.format == formatCSV {
		return "text/csv"
	}
	return "application/x-ndjson"
}

// encoding follows from the name of the file, as in staff.csv.gz; it is empty where
// the file is not compressed.
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
	if t.key != "" {
		r.Header.Set("Authorization", "Bearer "+t.key)
	}
	if t.backend != "" {
		r.Header.Set("X-Backend", t.backend)
	}
	return r, nil
}

// refusalTimeout is how long an import waits for a refusal before it sends the file.
const refusalTimeout = 10 * time.Second

// send sends a request, and returns an answer that is not refused. Its body must
// be closed.
func (t *transfer) send(r *http.Request) (*http.Response, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true  // there is but one request
	transport.DisableCompression = true // the file says what is wanted
	transport.ExpectContinueTimeout = refusalTimeout
	answer, err := (&http.Client{Transport: transport, CheckRedirect: t.checkRedirect}).Do(r)
	if err != nil {
		return nil, t.unsent(err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close() // only read: its error tells nothing
		return nil, t.refusal(answer)
	}
	return answer, nil
}
