package access

import (
	"crypto/sha256"
	"crypto/x509"
	"time"
)

// Certificates takes client certificates. Whether a client has the key of its
// certificate is found out as a connection is opened; whether a CA that may do so
// has signed it, with every request again: connections outlive sets of CAs. It is
// safe for concurrent use.
type Certificates struct {
	Scopes Scopes // of every certificate
	// CAs gives the present ones: another pool after each change, and the same
	// one until then. Nil: what was verified as the connection was opened stays
	// good until the certificate ends.
	CAs func() *x509.CertPool
	Now func() time.Time // default: the system's clock

	verdicts verdictCache
}

// errNotSigned is the same for every chain: what is wrong with it is for the log.
var errNotSigned = refusedFor("no CA that may sign certificates of clients now has signed it, or one of its chain has expired",
	"the certificate is not good, or not any more")

// grant names the principal by the common name of the subject, or by all of it
// where it has none.
func (c *Certificates) grant(chain []*x509.Certificate) (*Grant, error) {
	cert := chain[0]
	name := cert.Subject.CommonName
	if name == "" {
		name = cert.Subject.String()
	}
	if !isName(name) {
		return nil, refused("the subject of the certificate must have a name of 1 to %d printable ASCII characters", maxNameBytes)
	}
	sum := fingerprint(chain)
	// A connection lives longer than what was true when it was opened.
	g := &Grant{Principal: Principal{KindCertificate, name, c.Scopes}, check: func() error {
		now := c.now()
		if now.After(cert.NotAfter) {
			return refused("the certificate has expired")
		}
		return c.checkSigned(chain, sum, now)
	}}
	return g, g.check()
}

// fingerprint is of all of a chain: with other certificates between it and a CA
// the same certificate may have another verdict.
func fingerprint(chain []*x509.Certificate) (sum [sha256.Size]byte) {
	if len(chain) == 1 {
		return sha256.Sum256(chain[0].Raw)
	}
	hash := sha256.New()
	for _, cert := range chain {
		hash.Write(cert.Raw) // DER says where it ends
	}
	hash.Sum(sum[:0])
	return sum
}

func (c *Certificates) checkSigned(chain []*x509.Certificate, sum [sha256.Size]byte, now time.Time) error {
	if c.CAs == nil {
		return nil
	}
	cas := c.CAs()
	v, known := c.verdicts.get(cas, sum)
	if !known || now.After(v.until) {
		v = judge(chain, cas, now)
		c.verdicts.put(cas, sum, v)
	}
	if !v.good {
		return errNotSigned
	}
	return nil
}

func (c *Certificates) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
