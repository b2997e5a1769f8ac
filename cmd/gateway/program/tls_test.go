package program

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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

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
	_, metrics := mustGet(t, s.admin+"/metrics")
	for _, want := range []string{"\nndbgate_files_not_loaded 0\n", "\nndbgate_tls_certificate_expiry_timestamp_seconds "} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
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
