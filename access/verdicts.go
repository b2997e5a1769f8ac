package access

import (
	"crypto/sha256"
	"crypto/x509"
	"sync"
	"time"
)

const (
	// maxVerdicts bounds the cache; each takes some 100 bytes.
	maxVerdicts = 4096
	// refusedAgain is how long a chain stays refused without another look: a CA
	// of the set may be one that begins later.
	refusedAgain = time.Minute
)

// verdict tells whether a chain of certificates leads to a CA.
type verdict struct {
	good  bool
	until time.Time // after it the chain has to be looked at again
}

// judge does what TLS does as a connection is opened. It takes some 100 µs.
func judge(chain []*x509.Certificate, cas *x509.CertPool, now time.Time) verdict {
	v := verdict{until: now.Add(refusedAgain)}
	if cas == nil { // crypto/x509 would take the CAs of the system
		return v
	}
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	found, err := chain[0].Verify(x509.VerifyOptions{
		Roots: cas, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return v
	}
	v = verdict{good: true}
	for _, way := range found {
		ends := way[0].NotAfter
		for _, cert := range way[1:] {
			if cert.NotAfter.Before(ends) {
				ends = cert.NotAfter
			}
		}
		if ends.After(v.until) {
			v.until = ends
		}
	}
	return v
}

// verdictCache remembers verdicts of one set of CAs. It is safe for concurrent use.
type verdictCache struct {
	mu       sync.Mutex // guards all
	cas      *x509.CertPool
	verdicts map[[sha256.Size]byte]verdict
}

func (c *verdictCache) get(cas *x509.CertPool, sum [sha256.Size]byte) (v verdict, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cas != cas {
		return verdict{}, false
	}
	v, known = c.verdicts[sum]
	return v, known
}

// put forgets all others where there are too many, or where the CAs are others.
func (c *verdictCache) put(cas *x509.CertPool, sum [sha256.Size]byte, v verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cas != cas || c.verdicts == nil || len(c.verdicts) >= maxVerdicts {
		c.cas, c.verdicts = cas, map[[sha256.Size]byte]verdict{}
	}
	c.verdicts[sum] = v
}
