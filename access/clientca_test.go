package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"
)

// signer is a CA of tests, of the top or between, or a client with its chain.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign makes a certificate; without a signer it is one of itself. A key that is
// nil is a new one.
func (s *signer) sign(t testing.TB, name string, isCA bool, key *ecdsa.PrivateKey, begins, ends time.Time) *signer {
	t.Helper()
	if key == nil {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: begins, NotAfter: ends,
		IsCA: isCA, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	by, byKey := template, key
	if s != nil {
		by, byKey = s.cert, s.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), byKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{cert, key}
}

func poolOf(signers ...*signer) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, s := range signers {
		pool.AddCert(s.cert)
	}
	return pool
}

func chainOf(signers ...*signer) (chain []*x509.Certificate) {
	for _, s := range signers {
		chain = append(chain, s.cert)
	}
	return chain
}

// notGood is all that a client learns.
const notGood = "the certificate is not good, or not any more"

func TestCertificates_EndWithTheirCA(t *testing.T) {
	clock := newClock()
	begins, ends := clock.at.Add(-time.Hour), clock.at.Add(time.Hour)
	var none *signer
	root := none.sign(t, "root", true, nil, begins, ends)
	other := none.sign(t, "other", true, nil, begins, ends)
	renewed := none.sign(t, "root", true, root.key, begins, ends.Add(time.Hour))
	ended := none.sign(t, "root", true, root.key, begins, clock.at.Add(-time.Second))
	between := root.sign(t, "between", true, nil, begins, ends)
	direct := chainOf(root.sign(t, "billing", false, nil, begins, ends))
	longer := chainOf(between.sign(t, "payroll", false, nil, begins, ends), between)
	for _, c := range []struct {
		name  string
		chain []*x509.Certificate
		cas   *x509.CertPool
		good  bool
	}{
		{name: "the same CA, read again", chain: direct, cas: poolOf(root), good: true},
		{name: "the CA beside another", chain: direct, cas: poolOf(other, root), good: true},
		{name: "the CA with a new certificate of its key", chain: direct, cas: poolOf(renewed), good: true},
		{name: "the CA with an old certificate of its key", chain: direct, cas: poolOf(ended)},
		{name: "another CA", chain: direct, cas: poolOf(other)},
		{name: "no CA", chain: direct, cas: poolOf()},
		{name: "no set at all", chain: direct, cas: nil},
		{name: "the CA above one between", chain: longer, cas: poolOf(root), good: true},
		{name: "the one between alone", chain: longer, cas: poolOf(between), good: true},
		{name: "another CA than above", chain: longer, cas: poolOf(other)},
		{name: "the one between is not shown", chain: longer[:1], cas: poolOf(root)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			present := poolOf(root, between)
			gate := &Gate{
				Certificates: &Certificates{Scopes: Read, Now: clock.now, CAs: func() *x509.CertPool { return present }},
				Logger:       slog.New(slog.NewTextHandler(&log, nil)),
			}
			open, err := gate.Certificate(c.chain)
			if err != nil || open.Check() != nil || log.Len() > 0 {
				t.Fatalf("before the change: got %v and the log %q", err, &log)
			}
			present = c.cas
			_, err = gate.Certificate(c.chain)
			for what, err := range map[string]error{"a request": err, "the same again": open.Check(), "a stream": open.Check()} {
				if got, want := reasonOf(t, err), map[bool]string{true: "", false: notGood}[c.good]; got != want {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
			if got := strings.Count(log.String(), `reason="no CA that may sign certificates of clients now has signed it`); got != map[bool]int{true: 0, false: 3}[c.good] {
				t.Errorf("got the log\n%s", &log)
			}
			present = poolOf(root, between)
			if err := open.Check(); err != nil {
				t.Errorf("the CA is back: got %v", err)
			}
		})
	}
}

func TestCertificates_VerdictsEndWithTime(t *testing.T) {
	clock := newClock()
	begun := clock.at
	var none *signer
	root := none.sign(t, "root", true, nil, begun.Add(-time.Hour), begun.Add(time.Hour))
	later := none.sign(t, "root", true, root.key, begun.Add(2*time.Hour), begun.Add(3*time.Hour))
	chain := chainOf(root.sign(t, "billing", false, nil, begun.Add(-time.Hour), begun.Add(4*time.Hour)))
	cas := poolOf(root, later)
	gate := &Gate{Certificates: &Certificates{Now: clock.now, CAs: func() *x509.CertPool { return cas }}}
	for _, c := range []struct {
		at   time.Duration
		want string
	}{
		{0, ""},
		{time.Hour, ""},
		{time.Hour + time.Second, notGood},
		{2*time.Hour - time.Second, notGood},
		{2*time.Hour + refusedAgain, ""}, // another look
		{3 * time.Hour, ""},
		{3*time.Hour + time.Second, notGood},
		{4*time.Hour + time.Second, "the certificate has expired"},
	} {
		clock.at = begun.Add(c.at)
		_, err := gate.Certificate(chain)
		if got := reasonOf(t, err); got != c.want {
			t.Errorf("after %v: got %q, want %q", c.at, got, c.want)
		}
	}
}

func TestVerdictCache_IsBounded_AndOfOneSet(t *testing.T) {
	var c verdictCache
	cas, at := x509.NewCertPool(), [sha256.Size]byte{}
	for i := range uint64(3 * maxVerdicts) {
		binary.LittleEndian.PutUint64(at[:], i)
		c.put(cas, at, verdict{good: true})
		if len(c.verdicts) > maxVerdicts {
			t.Fatalf("got %d verdicts", len(c.verdicts))
		}
	}
	if v, known := c.get(cas, at); !known || !v.good {
		t.Error("the last verdict is not known")
	}
	if _, known := c.get(x509.NewCertPool(), at); known {
		t.Error("the last verdict is known with other CAs")
	}
	c.put(nil, at, verdict{})
	if v, known := c.get(nil, at); !known || v.good || len(c.verdicts) != 1 {
		t.Errorf("with no CAs: got %v, %t and %d verdicts", v, known, len(c.verdicts))
	}
}

func BenchmarkCertificates(b *testing.B) {
	begins, ends := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	var none *signer
	root := none.sign(b, "root", true, nil, begins, ends)
	between := root.sign(b, "between", true, nil, begins, ends)
	for name, chain := range map[string][]*x509.Certificate{
		"direct":          chainOf(root.sign(b, "billing", false, nil, begins, ends)),
		"one between":     chainOf(between.sign(b, "billing", false, nil, begins, ends), between),
		"without looking": chainOf(root.sign(b, "billing", false, nil, begins, ends)),
	} {
		cas := poolOf(root)
		gate := &Gate{Certificates: &Certificates{CAs: func() *x509.CertPool { return cas }}}
		if name == "without looking" {
			gate.Certificates.CAs = nil
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := gate.Certificate(chain); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", anew", func(b *testing.B) {
			for b.Loop() {
				cas = poolOf(root)
				if _, err := gate.Certificate(chain); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
