package program

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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

func TestServe_NoKey(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "keys")
	replace(t, empty, "# none yet\n")
	for _, listen := range []string{"listen", "admin-listen"} {
		args := []string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--default-backend=sql", "--" + listen + "=0.0.0.0:0", "--api-keys=" + empty}
		r := runCommand(t, opens(rowsOnly()), args...)
		if r.code != exitUsage || !strings.Contains(r.stderr, "(flag --api-keys): it has no key, so that nobody could call; gateway keys new makes one") {
			t.Errorf("%s off loopback: got %d %q", listen, r.code, r.stderr)
		}
	}
	s := serveInTest(t, opens(rowsOnly()), "--api-keys="+empty)
	if !strings.Contains(s.log.text(), `"level":"WARN","msg":"nobody can call before there is an API key"`) {
		t.Errorf("on loopback: no warning in\n%s", s.log.text())
	}
}

func TestGuard_WarnsOfKeysInTheClear(t *testing.T) {
	file, _ := newKeyFile(t, "billing", access.Read)
	for _, c := range []struct {
		args []string
		want []string // parts of lines
	}{
		{[]string{"--api-keys=" + file}, nil},
		{[]string{"--api-keys=" + file, "--listen=:1"}, []string{`"level":"WARN","msg":"keys and tokens come in the clear, unless something in front of the gateway takes TLS","listen":":1"`}},
		{[]string{"--api-keys=" + file, "--admin-listen=:2"}, []string{`"level":"WARN","msg":"keys and tokens come in the clear, unless something in front of the gateway takes TLS","admin_listen":":2"`}},
		{[]string{"--insecure", "--listen=:1"}, []string{`"msg":"everybody who reaches the gateway may read and write all rows","listen":":1"`}},
		{[]string{"--insecure", "--admin-listen=:2"}, []string{`"msg":"everybody who reaches the admin listener may see metrics and profiles, and change the log level","admin_listen":":2"`}},
		{[]string{"--insecure"}, nil},
	} {
		cfg, err := Load(c.args, lookup(nil))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		if _, err := openGuard(&cfg, slog.New(slog.NewJSONHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), `"level":"WARN"`); got != len(c.want) {
			t.Errorf("%v: got %d warnings, want %d:\n%s", c.args, got, len(c.want), log.String())
		}
		for _, want := range c.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%v: got %s, want something with %s", c.args, log.String(), want)
			}
		}
	}
}

// Both listeners on loopback answer pages of this host alone, unless something says
// who may call.
func TestServe_OtherHost_IsRefusedWhereNobodyAsks(t *testing.T) {
	file, key := newKeyFile(t, "billing", access.Read)
	for _, c := range []struct {
		args          []string
		public, admin int
	}{
		{nil, http.StatusMisdirectedRequest, http.StatusMisdirectedRequest},
		{[]string{"--insecure"}, http.StatusOK, http.StatusOK},
		{[]string{"--api-keys=" + file}, http.StatusOK, http.StatusMisdirectedRequest}, // nobody is asked there, on loopback
	} {
		s := serveInTest(t, opens(rowsOnly()), c.args...)
		for url, want := range map[string]int{s.public + "/v1/employees": c.public, s.admin + "/metrics": c.admin} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "rebound.example"
			r.Header.Set("Authorization", "Bearer "+key)
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%v, %s: got %d, want %d", c.args, url, answer.StatusCode, want)
			}
		}
	}
}

func TestTransfer_WarnsOfAKeyInTheClear(t *testing.T) {
	for _, c := range []struct {
		target, key string
		warns       bool
	}{
		{"http://gateway.example", "k", true},
		{"http://10.0.0.1:8080", "k", true},
		{"http://gateway.example", "", false},
		{"https://gateway.example", "k", false},
		{"http://127.0.0.1:8080", "k", false},
		{"http://[::1]", "k", false},
		{"http://localhost", "k", false},
	} {
		var stderr bytes.Buffer
		tr := transfer{target: c.target, key: c.key}
		tr.warnOfClearKey(&stderr)
		if warns := strings.Contains(stderr.String(), "in the clear"); warns != c.warns || strings.Count(stderr.String(), "\n") > 1 {
			t.Errorf("%s with the key %q: got %q, want a warning: %t", c.target, c.key, stderr.String(), c.warns)
		}
	}
}

// net/http would take the key along to the same host.
func TestTransfer_RedirectToHTTP_IsNotFollowedWithAKey(t *testing.T) {
	at := func(target string) *http.Request { return httptest.NewRequest("GET", target, nil) }
	for _, c := range []struct {
		key, from, to string
		ok            bool
	}{
		{"k", "https://a.example/x", "http://a.example/x", false},
		{"k", "https://a.example/x", "https://a.example/y", true},
		{"k", "http://a.example/x", "https://a.example/x", true},
		{"k", "http://127.0.0.1/x", "http://127.0.0.1/y", true},
		{"", "https://a.example/x", "http://a.example/x", true},
	} {
		tr := transfer{key: c.key}
		if err := tr.checkRedirect(at(c.to), []*http.Request{at(c.from)}); (err == nil) != c.ok {
			t.Errorf("%s to %s with the key %q: got %v", c.from, c.to, c.key, err)
		}
	}
	tr := transfer{}
	if err := tr.checkRedirect(at("/"), slices.Repeat([]*http.Request{at("/")}, 10)); err == nil {
		t.Error("redirects without end are followed")
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
