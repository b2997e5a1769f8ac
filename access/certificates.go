package access

import (
	"crypto/x509"
	"time"
)

// Certificates takes client certificates. Which of them are good is decided as a
// connection is opened: those that a CA of the gateway's choice has signed.
type Certificates struct {
	Scopes Scopes // of every certificate
	Now    func() time.Time
}

// grant names the principal by the common name of the subject, or by all of it
// where it has none.
func (c *Certificates) grant(cert *x509.Certificate) (*Grant, error) {
	name := cert.Subject.CommonName
	if name == "" {
		name = cert.Subject.String()
	}
	if !isName(name) {
		return nil, refused("the subject of the certificate must have a name of 1 to %d printable ASCII characters", maxNameBytes)
	}
	// A connection lives longer than what was true when it was opened.
	ends := cert.NotAfter
	g := &Grant{Principal: Principal{KindCertificate, name, c.Scopes}, check: func() error {
		if c.now().After(ends) {
			return refused("the certificate has expired")
		}
		return nil
	}}
	return g, g.Check()
}

func (c *Certificates) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
