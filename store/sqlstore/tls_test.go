package sqlstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// signedBy makes a certificate; of the parent nil a CA.
func signedBy(t *testing.T, parent *tls.Certificate, names ...string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: parent == nil, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signer, signerKey := template, any(key)
	if parent != nil {
		signer, signerKey = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func TestSecure_ByAddressAndMode(t *testing.T) {
	const (
		plain    = "plain"
		fallback = "TLS, or plain"
		chain    = "TLS by chain"
		identity = "TLS by identity"
	)
	for _, c := range []struct {
		dsn  string
		mode TLSMode
		want string
	}{
		{"u@tcp(127.0.0.1:3306)/d", "", plain},
		{"u@tcp([::1]:3306)/d", TLSAuto, plain},
		{"u@tcp(localhost)/d", TLSAuto, plain},
		{"u@unix(/run/mysqld.sock)/d", TLSAuto, plain},
		{"u@tcp(db:3306)/d", "", identity},
		{"u@tcp(10.0.0.1:3306)/d", TLSAuto, identity},
		{"u@tcp(localhost.example:3306)/d", TLSAuto, identity},
		{"u@tcp(127.0.0.1:3306)/d", TLSVerifyIdentity, identity},
		{"u@tcp(db:3306)/d", TLSOff, plain},
		{"u@tcp(db:3306)/d", TLSPreferred, fallback},
		{"u@tcp(db:3306)/d", TLSVerifyCA, chain},
		// What a DSN says goes before.
		{"u@tcp(db:3306)/d?tls=false", TLSVerifyIdentity, plain},
		{"u@tcp(db:3306)/d?tls=preferred", TLSVerifyIdentity, fallback},
		{"u@tcp(127.0.0.1:3306)/d?tls=true", TLSOff, identity},
		{"u@tcp(db:3306)/d?allowFallbackToPlaintext=true", "", identity},
	} {
		got, err := parseDSN(c.dsn, &Config{TLS: c.mode})
		if err != nil {
			t.Fatal(err)
		}
		if shown := describeTLS(got); shown != c.want {
			t.Errorf("%s with %q: got %s, want %s", c.dsn, c.mode, shown, c.want)
		}
	}
	if err := (&Config{DSNs: []string{"u@tcp(db)/d"}, TLS: "required"}).Validate(); err == nil {
		t.Error("an unknown mode: got no error")
	}
}

func describeTLS(c *mysql.Config) string {
	switch {
	case c.TLS == nil:
		return "plain"
	case c.AllowFallbackToPlaintext:
		return "TLS, or plain"
	case c.TLS.VerifyConnection != nil:
		return "TLS by chain"
	case !c.TLS.InsecureSkipVerify && c.TLS.ServerName != "":
		return "TLS by identity"
	default:
		return "TLS of anybody"
	}
}

func TestSecure_WhichServersAreTrusted(t *testing.T) {
	ca, otherCA := signedBy(t, nil), signedBy(t, nil)
	cas := x509.NewCertPool()
	cas.AddCert(ca.Leaf)
	for name, c := range map[string]struct {
		server              *tls.Certificate
		byCA, byID, anybody bool
	}{
		"named":         {signedBy(t, ca, "db"), true, true, true},
		"other name":    {signedBy(t, ca, "else"), true, false, true},
		"without names": {signedBy(t, ca), true, false, true},
		"other CA":      {signedBy(t, otherCA, "db"), false, false, true},
	} {
		for mode, want := range map[TLSMode]bool{TLSVerifyCA: c.byCA, TLSVerifyIdentity: c.byID, TLSPreferred: c.anybody} {
			parsed, err := parseDSN("u@tcp(db:3306)/d", &Config{TLS: mode, CAs: cas})
			if err != nil {
				t.Fatal(err)
			}
			near, far := net.Pipe()
			ended := make(chan struct{})
			go func() { // ends with the handshake of the client
				defer close(ended)
				_ = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{*c.server}}).Handshake() // the client's error counts
			}()
			err = tls.Client(near, parsed.TLS).Handshake()
			near.Close()
			<-ended
			far.Close()
			if (err == nil) != want {
				t.Errorf("%s by %s: got %v, want that it is trusted: %t", name, mode, err, want)
			}
		}
	}
}
