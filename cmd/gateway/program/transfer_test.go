package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// runClient runs a command that talks to a gateway.
func runClient(t *testing.T, stdin io.Reader, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := command(t.Context(), args, process{getenv: lookup(nil), stdin: stdin, stdout: &stdout, stderr: &stderr})
	return result{code, stdout.String(), stderr.String()}
}

func (r *result) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stdout, stdout) || !strings.Contains(r.stderr, stderr) || stderr == "" && r.stderr != "" {
		t.Errorf("got exit code %d, %q on stdout and %q on stderr; want %d, %q and %q", r.code, r.stdout, r.stderr, code, stdout, stderr)
	}
}

func serveRows(t *testing.T, rows store.Backend) *serving {
	t.Helper()
	return serveInTest(t, opens(road{name: sqlName, backend: rows}))
}

func someRows(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"id":%d,"first":"F %d","city":""}`+"\n", i+1, i)
	}
	return text.String()
}

func TestTransfer_OutOfOneGatewayIntoAnother(t *testing.T) {
	const n = 3000
	from, to := serveRows(t, &memstore.Store{}), serveRows(t, &memstore.Store{})
	r := runClient(t, strings.NewReader(someRows(n)), "import", "-", "--target", from.public)
	r.want(t, exitOK, "3000 rows in ", "")
	want := runClient(t, nil, "export", "-", "--target", from.public)
	want.want(t, exitOK, `{"complete":true,"rows":3000}`, "")
	for _, name := range []string{"staff.ndjson", "staff.csv", "staff", "staff.ndjson.gz", "staff.csv.gz", "staff.jsonl.zst", "STAFF.CSV.ZST"} {
		file := filepath.Join(t.TempDir(), name)
		r = runClient(t, nil, "export", file, "--target="+from.public)
		r.want(t, exitOK, "3000 rows, ", "")
		r = runClient(t, nil, "import", "--target", to.public, file, "--on-conflict=replace", "--backend", "sql")
		r.want(t, exitOK, "3000 written, 0 skipped, 0 failed, 0 unknown", "")
		if got := runClient(t, nil, "export", "-", "--target", to.public); got.stdout != want.stdout {
			t.Errorf("%s: the rows differ", name)
		}
		if _, err := os.Stat(file + ".part"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s.part: got %v, want that it is gone", name, err)
		}
	}
}

func TestTransfer_FormatByFlag_AndFilter(t *testing.T) {
	s := serveRows(t, &memstore.Store{})
	r := runClient(t, strings.NewReader("id,first\r\n1,a\r\n2,b\r\n"), "import", "-", "--format=csv", "--target", s.public)
	r.want(t, exitOK, "2 written", "")
	r = runClient(t, nil, "export", "-", "--format", "csv", "--filter", `first = "b" AND id > 1`, "--target", s.public)
	r.want(t, exitOK, "id,first,last,city,started,ended,department\r\n2,b,,,,,1\r\n", "")
}

func TestImport_WrongLines(t *testing.T) {
	s := serveRows(t, &memstore.Store{})
	const text = `{"id":1}` + "\n" + `{"id":1}` + "\n" + `{"id":3,"first":7}` + "\n" + "{\n" + `{"id":4}` + "\n"
	r := runClient(t, strings.NewReader(text), "import", "-", "--target", s.public, "--on-error=continue", "--max-errors", "5")
	r.want(t, exitFailure, "5 rows in ", "line 3: invalid_body: The body does not have the right form: first must be a string or null\n")
	r.want(t, exitFailure, "2 written, 0 skipped, 3 failed, 0 unknown", "line 2: already_exists: ")
	r = runClient(t, strings.NewReader(text), "import", "-", "--target", s.public, "--on-conflict=skip")
	r.want(t, exitFailure, "2 skipped, 1 failed", "import - ended early at line 3; the 0 rows written until then stay stored\nmend line 3, then run it again to go on\n")
	r = runClient(t, strings.NewReader(someRows(1)), "import", "-", "--target", s.public)
	r.want(t, exitFailure, "", "import - ended early at line 1\nrun it again with --on-conflict=skip to pass over the rows whose id exists, or --on-conflict=replace to replace them\n")
	r = runClient(t, strings.NewReader(`{"id":8}`+"\n{\n"), "import", "-", "--target", s.public)
	r.want(t, exitFailure, "1 written", "import - ended early at line 2; the 1 rows written until then stay stored\n"+
		"mend line 2, then run it again with --on-conflict=skip to pass over the rows that are stored already\n")
	r = runClient(t, strings.NewReader("{\n{\n"), "import", "-", "--target", s.public, "--on-error=continue", "--max-errors=1")
	r.want(t, exitFailure, "", "mend the lines named above, or allow more with --max-errors, then run it again")
	r = runClient(t, strings.NewReader("id,first\n9,a\n10,\"b\n"), "import", "-", "--format=csv", "--target", s.public)
	r.want(t, exitFailure, "1 written", "line 3: the quote that opens a field is never closed; the 1 rows written until then stay stored\nmend the file, then run it again")
}

func TestTransfer_Refused(t *testing.T) {
	s := serveRows(t, store.Unavailable{Reason: "down"})
	nobody := httptest.NewServer(http.NotFoundHandler())
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	nobody.Close()
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"import", "-", "--target", s.public}, "import -: unavailable: The backend cannot serve now: nothing was done"},
		{[]string{"import", "-", "--target", s.public, "--backend", "x"}, "unknown_backend: There is no such backend: X-Backend must be one of: sql"},
		{[]string{"import", "-", "--target", s.public, "--durability=disk"}, "unavailable"},
		{[]string{"import", "-", "--target", nobody.URL}, "no gateway answers at " + nobody.URL + ": connect: connection refused; start one, or name another with --target"},
		{[]string{"import", "-", "--target", other.URL}, "is 404 Not Found, and none of a gateway; name the gateway with --target"},
		{[]string{"import", filepath.Join(dir, "none"), "--target", s.public}, "no such file"},
		{[]string{"import", dir, "--format=csv", "--target", s.public}, "is a directory"},
		{[]string{"export", "-", "--target", s.public}, "export -: unavailable"},
		{[]string{"export", filepath.Join(dir, "a.csv"), "--target", s.public}, "unavailable"},
		{[]string{"export", "-", "--target", s.public, "--filter", "salary = 1"}, "invalid_parameter: A parameter is wrong: filter at character 1"},
	} {
		r := runClient(t, strings.NewReader(someRows(10)), c.args...)
		r.want(t, exitFailure, "", c.want)
		if strings.Contains(r.stderr, "run it again") {
			t.Errorf("%v: got %q, want no advice to do the same again", c.args, r.stderr)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v, want no file of what was refused", left, err)
	}
}

func TestTransfer_WrongCommandLines(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"import"}, "import takes one file"},
		{[]string{"export", "a", "b"}, "export takes one file"},
		{[]string{"import", "a", "--on-conflict=ignore"}, `flag --on-conflict: "ignore": expected fail, skip or replace`},
		{[]string{"import", "a", "--on-eror=stop"}, `unknown flag "--on-eror"; did you mean --on-error?`},
		{[]string{"import", "a", "--max-errors=0", "--on-error=continue"}, "expected a whole number from 1 on"},
		{[]string{"import", "a", "--max-errors=5"}, "--max-errors needs --on-error=continue"},
		{[]string{"export", "a", "--target=localhost"}, "expected http://host:port"},
		{[]string{"export", "a", "--target=http://u:" + password + "@h"}, "expected http://host:port"},
		{[]string{"export", "a", "--format"}, "its value is missing"},
		{[]string{"export", "a.xlsx"}, `a file that ends with ".xlsx": name it .ndjson or .csv, or say what it is with --format=ndjson`},
		{[]string{"import", "a.json.gz"}, `a file that ends with ".json"`},
	} {
		r := runClient(t, strings.NewReader(""), c.args...)
		r.want(t, exitUsage, "", c.want)
		if strings.Contains(r.stderr, password) {
			t.Errorf("%v: the password is on stderr", c.args)
		}
	}
}

func TestProgress(t *testing.T) {
	for done, want := range map[int64]string{
		0: "[>                             ]   0%", 50: "[===============>              ]  50%", 100: "[==============================] 100%",
	} {
		if got := bar(done, 100); got != want {
			t.Errorf("%d: got %q, want %q", done, got, want)
		}
	}
	var b bytes.Buffer
	p := newProgress(&b)
	p.draw(1, 2, "words")
	p.clear()
	if b.Len() > 0 {
		t.Errorf("no terminal: got %q", b.String())
	}
	p.on = true
	p.draw(0, 0, "a long line")
	p.draw(0, 0, "too soon")
	p.drawn = time.Time{}
	p.draw(0, 0, "short")
	p.clear()
	p.clear()
	if got := b.String(); got != "\ra long line\rshort      \r     \r" {
		t.Errorf("got %q", got)
	}
}
