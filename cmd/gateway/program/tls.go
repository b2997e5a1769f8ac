package program

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

// serverTLS is the TLS of the listeners, as its files say now. Connections that
// are open keep the certificate that they were opened with; those of clients are
// looked at again with each request (access.Certificates).
type serverTLS struct {
	certFile, keyFile string
	caFile            string // of CAs whose clients may call; empty: none
	current           atomic.Pointer[tls.Config]
}

func (t *serverTLS) files() []string {
	if t.caFile == "" {
		return []string{t.certFile, t.keyFile}
	}
	return []string{t.certFile, t.keyFile, t.caFile}
}

// load reads the files again. Where that fails all stays as it was.
func (t *serverTLS) load() error {
	cert, err := readKeyPair(t.certFile, t.keyFile)
	if err != nil {
		return err
	}
	c := newServerTLS()
	c.Certificates = []tls.Certificate{cert}
	if t.caFile != "" {
		if c.ClientCAs, err = readCAs(t.caFile); err != nil {
			return err
		}
		// Not required: there may be keys and tokens too, and what is free.
		c.ClientAuth = tls.VerifyClientCertIfGiven
		// A ticket would let a client in whose CA is there no more.
		c.SessionTicketsDisabled = true
	}
	t.current.Store(c)
	return nil
}

// ends is when the certificate of the server ends.
func (t *serverTLS) ends() time.Time { return t.current.Load().Certificates[0].Leaf.NotAfter }

// clientCAs is another pool after each load.
func (t *serverTLS) clientCAs() *x509.CertPool { return t.current.Load().ClientCAs }

// config is for a server.
func (t *serverTLS) config() *tls.Config {
	c := newServerTLS()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return t.current.Load(), nil }
	return c
}

func newServerTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

func readKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := readPEM(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// readPEM names the file in its error: one setting stands for several files.
func readPEM(file string) ([]byte, error) {
	text, err := access.ReadFile(file, access.MaxCertificateBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}

var errNoCA = errors.New("it has no certificate in PEM")

func readCAs(file string) (*x509.CertPool, error) {
	text, err := readPEM(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errNoCA
	}
	return pool, nil
}
