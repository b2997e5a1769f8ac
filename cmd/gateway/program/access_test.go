package program

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// newKeyFile makes a file with one key.
func newKeyFile(t *testing.T, name string, scopes access.Scopes) (file, secret string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "keys")
	secret = addKey(t, file, name, scopes)
	return file, secret
}

func addKey(t *testing.T, file, name string, scopes access.Scopes) (secret string) {
	t.Helper()
	secret, key, err := access.NewKey(name, scopes, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	replace(t, file, string(old)+key.String()+"\n")
	return secret
}

// replace changes a file in one step.
func replace(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".next", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".next", file); err != nil {
		t.Fatal(err)
	}
}

// askWith sends a request and returns the answer with its body read.
func askWith(t *testing.T, client *http.Client, method, url, key string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func rowsOnly() road { return road{name: sqlName, backend: &memstore.Store{}} }

func TestServe_KeysChangeWhileItRuns(t *testing.T) {
	file, old := newKeyFile(t, "billing", access.Read)
	s := serveInTest(t, opens(rowsOnly()), "--api-keys="+file)
	status := func(key string) int {
		answer, _ := askWith(t, client, "GET", s.public+"/v1/employees", key)
		return answer.StatusCode
	}
	if got := status(old); got != http.StatusOK {
		t.Errorf("the key: got %d", got)
	}
	newer := addKey(t, file, "billing", access.Read)
	s.log.wait(t, "loaded")
	if a, b := status(old), status(newer); a != http.StatusOK || b != http.StatusOK {
		t.Errorf("both keys: got %d and %d", a, b)
	}
	replace(t, file, "no key at all\n")
	if line := s.log.wait(t, "not loaded, and as it was before"); line["level"] != "ERROR" {
		t.Errorf("got %v, want an error", line)
	}
	if got := status(newer); got != http.StatusOK {
		t.Errorf("while the file is broken: got %d", got)
	}
	if _, metrics := mustGet(t, s.admin+"/metrics"); !strings.Contains(metrics, "\nndbgate_files_not_loaded 1\n") {
		t.Error("no metric of the broken file")
	}
	replace(t, file, "")
	s.log.wait(t, "loaded")
	if got := status(newer); got != http.StatusUnauthorized {
		t.Errorf("without any key: got %d", got)
	}
}

func TestServe_Hangup_ReadsFilesAgain(t *testing.T) {
	file, _ := newKeyFile(t, "billing", access.Read)
	signals := make(chan os.Signal)
	s := serveWith(t, process{open: opens(rowsOnly()), signals: func() <-chan os.Signal { return signals }}, "--api-keys="+file)
	signals <- os.Interrupt
	if line := s.log.wait(t, "loaded"); line["what"] != "API keys" {
		t.Errorf("got %v, want the API keys", line)
	}
}

func TestServe_FilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	replace(t, bad, "bad\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--api-keys=/nowhere/x"}, `wrong setting: api-keys "/nowhere/x" (flag --api-keys): no such file or directory`},
		{[]string{"--api-keys=" + bad}, `(flag --api-keys): line 1: expected NAME SCOPES`},
		{[]string{"--jwt-jwks=" + bad, "--jwt-issuer=a", "--jwt-audience=b"}, `(flag --jwt-jwks): it is no JWK Set`},
		{[]string{"--tls-cert=" + bad, "--tls-key=" + bad}, `(flag --tls-cert): tls: `},
	} {
		r := runCommand(t, opens(rowsOnly()), append([]string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--default-backend=sql"}, c.args...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: got %d %q, want something with %q", c.args, r.code, r.stderr, c.want)
		}
	}
	r := runCommand(t, opens(rowsOnly()), "check", "--default-backend=sql", "--api-keys="+bad)
	if r.code != exitUsage || !strings.Contains(r.stderr, "(flag --api-keys): line 1") {
		t.Errorf("check: got %d %q", r.code, r.stderr)
	}
	r = runCommand(t, openRoads, "check", "--sql-tls-ca="+bad)
	if r.code != exitUsage || !strings.Contains(r.stderr, "sql-tls-ca") || !strings.Contains(r.stderr, "it has no certificate in PEM") {
		t.Errorf("got %d %q", r.code, r.stderr)
	}
}

func TestTransfer_Key(t *testing.T) {
	file, key := newKeyFile(t, "loader", access.Read|access.Write)
	s := serveInTest(t, opens(rowsOnly()), "--api-keys="+file)
	keyFile := filepath.Join(t.TempDir(), "key")
	replace(t, keyFile, key+"\n")
	wrong := filepath.Join(t.TempDir(), "wrong")
	replace(t, wrong, "secret one\nsecret two\n")
	empty := filepath.Join(t.TempDir(), "empty")
	replace(t, empty, "\n")
	for _, q := range []struct {
		name string
		args []string
		env  map[string]string
		code int
		want string
	}{
		{"none", nil, nil, exitFailure, "credentials_missing"},
		{"file", []string{"--key-file=" + keyFile}, nil, exitOK, ""},
		{"environment", nil, map[string]string{"GATEWAY_API_KEY": key}, exitOK, ""},
		{"file before environment", []string{"--key-file=" + keyFile}, map[string]string{"GATEWAY_API_KEY": "x"}, exitOK, ""},
		{"unknown", nil, map[string]string{"GATEWAY_API_KEY": "ndbgate_x"}, exitFailure, "credentials_invalid"},
		{"no file", []string{"--key-file=/nowhere/x"}, nil, exitUsage, "no such file"},
		{"two lines", []string{"--key-file=" + wrong}, nil, exitUsage, "expected one key or token and nothing else"},
		{"empty file", []string{"--key-file=" + empty}, map[string]string{"GATEWAY_API_KEY": key}, exitUsage, "expected one key or token"},
		{"a header in the environment", nil, map[string]string{"GATEWAY_API_KEY": "secret\r\nX-Other: y"}, exitUsage, "environment GATEWAY_API_KEY: expected one key or token"},
	} {
		for _, line := range [][]string{{"import", "-", "--on-conflict=skip"}, {"export", "-"}} {
			var stdout, stderr bytes.Buffer
			code := command(t.Context(), slices.Concat(line, []string{"--target=" + s.public}, q.args), process{
				getenv: lookup(q.env), stdin: strings.NewReader(`{"id":1}`), stdout: &stdout, stderr: &stderr,
			})
			if code != q.code || !strings.Contains(stderr.String(), q.want) {
				t.Errorf("%s, %s: got %d %q, want %d and %q", line[0], q.name, code, stderr.String(), q.code, q.want)
			}
			if out := stdout.String() + stderr.String(); strings.Contains(out, key) || strings.Contains(out, "secret") {
				t.Errorf("%s, %s: the key shows in %q", line[0], q.name, out)
			}
		}
	}
}
