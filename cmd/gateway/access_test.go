package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
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

// ca signs certificates of tests.
type ca struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) *ca {
	t.Helper()
	c := &ca{t: t}
	c.cert, c.key = c.make("CA", true)
	return c
}

func (c *ca) make(name string, isCA bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		c.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: isCA, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, parentKey := template, key
	if !isCA {
		parent, parentKey = c.cert, c.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		c.t.Fatal(err)
	}
	return cert, key
}

func certPEM(cert *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// client trusts the CA, and shows a certificate of the name unless that is empty.
func (c *ca) client(name string) *http.Client {
	c.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(c.cert)
	config := &tls.Config{RootCAs: roots}
	if name != "" {
		cert, key := c.make(name, false)
		config.Certificates = []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	c.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
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
	r := runCommand(t, openRoads, "check", "--sql-tls-ca="+bad)
	if r.code != exitUsage || !strings.Contains(r.stderr, "sql-tls-ca") || !strings.Contains(r.stderr, "it has no certificate in PEM") {
		t.Errorf("got %d %q", r.code, r.stderr)
	}
}

// serveTLS serves with certificates of the CA, and takes those of its clients.
func serveTLS(t *testing.T, c *ca, args ...string) (s *serving, certFile, keyFile, caFile string) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile, caFile = filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "ca")
	cert, key := c.make("server", false)
	replace(t, certFile, certPEM(cert))
	replace(t, keyFile, keyPEM(t, key))
	replace(t, caFile, certPEM(c.cert))
	s = serveInTest(t, opens(rowsOnly()), append([]string{"--tls-cert=" + certFile, "--tls-key=" + keyFile, "--tls-client-ca=" + caFile}, args...)...)
	s.public = strings.Replace(s.public, "http:", "https:", 1)
	return s, certFile, keyFile, caFile
}

func TestServe_TLS_ClientCertificates(t *testing.T) {
	c, stranger := newCA(t), newCA(t)
	file, key := newKeyFile(t, "auditor", access.Read)
	s, _, _, _ := serveTLS(t, c, "--tls-client-scopes=write", "--api-keys="+file)
	for _, q := range []struct {
		name, method, certificate, key string
		status                         int
	}{
		{"certificate", "DELETE", "billing", "", 404},
		{"certificate without the scope", "GET", "billing", "", 403},
		{"key", "GET", "", key, 404},
		{"key before certificate", "GET", "billing", key, 404},
		{"nothing", "GET", "", "", 401},
	} {
		answer, body := askWith(t, c.client(q.certificate), q.method, s.public+"/v1/employees/1", q.key)
		if answer.StatusCode != q.status || answer.ProtoMajor != 2 || answer.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s: got %d by %s %s, want %d by HTTP/2", q.name, answer.StatusCode, answer.Proto, body, q.status)
		}
	}
	forged := c.client("")
	cert, certKey := stranger.make("billing", false)
	forged.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: certKey}}
	if _, err := forged.Get(s.public + "/v1/employees"); err == nil {
		t.Error("a certificate of another CA: got an answer")
	}
	old := c.client("")
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	if _, err := old.Get(s.public + "/openapi.yaml"); err == nil {
		t.Error("TLS 1.1: got an answer")
	}
	if answer, _ := askWith(t, client, "GET", s.admin+"/metrics", ""); answer.StatusCode != http.StatusOK {
		t.Errorf("metrics on loopback: got %d", answer.StatusCode)
	}
}

func TestServe_TLS_CertificatesChangeWhileItRuns(t *testing.T) {
	c, other := newCA(t), newCA(t)
	s, certFile, keyFile, caFile := serveTLS(t, c)
	serial := func(by *ca) string {
		answer, _ := askWith(t, by.client("x"), "GET", s.public+"/v1/employees", "")
		if answer.StatusCode != http.StatusOK {
			t.Errorf("got %d", answer.StatusCode)
		}
		return answer.TLS.PeerCertificates[0].SerialNumber.String()
	}
	first := serial(c)
	cert, key := other.make("server", false)
	replace(t, certFile, certPEM(cert)) // without its key: not loaded
	s.log.wait(t, "not loaded, and as it was before")
	if got := serial(c); got != first {
		t.Error("a certificate without its key is in use")
	}
	replace(t, caFile, certPEM(other.cert))
	replace(t, keyFile, keyPEM(t, key))
	s.log.wait(t, "loaded")
	if got := serial(other); got != cert.SerialNumber.String() {
		t.Error("the new certificate is not in use")
	}
}

func TestServe_TLS_StreamsByHTTP2(t *testing.T) {
	c := newCA(t)
	file, key := newKeyFile(t, "loader", access.Read|access.Write)
	s, _, _, _ := serveTLS(t, c, "--api-keys="+file)
	streams := c.client("")
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.public+"/v1/employees:import", strings.NewReader(someRows(2000)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	answer, err := streams.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.ProtoMajor != 2 || !bytes.Contains(body, []byte(`"complete":true,"rows":2000`)) {
		t.Errorf("import by %s: got %.300q, %v", answer.Proto, body, err)
	}
	_, exported := askWith(t, streams, "GET", s.public+"/v1/employees:export", key)
	if !strings.HasSuffix(exported, "{\"complete\":true,\"rows\":2000}\n") {
		t.Errorf("export: got an end of %q", exported[max(0, len(exported)-100):])
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
