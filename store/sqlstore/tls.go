package sqlstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// TLSMode is how connections to SQL nodes are secured. The names are those of
// MySQL's clients (--ssl-mode), but for the first.
type TLSMode string

// The modes.
const (
	TLSAuto           TLSMode = "auto"            // off on loopback and over sockets of this host, else as verify-identity
	TLSOff            TLSMode = "off"             // plain
	TLSPreferred      TLSMode = "preferred"       // TLS where the server has it, of whatever server; keeps out who only listens
	TLSVerifyCA       TLSMode = "verify-ca"       // TLS, of a server whose certificate one of the CAs has signed
	TLSVerifyIdentity TLSMode = "verify-identity" // the same, and the certificate is for the host of the DSN
)

// TLSModes lists them.
func TLSModes() []TLSMode {
	return []TLSMode{TLSAuto, TLSOff, TLSPreferred, TLSVerifyCA, TLSVerifyIdentity}
}

func (c *Config) validateTLS() error {
	if c.TLS != "" && !slices.Contains(TLSModes(), c.TLS) {
		return fmt.Errorf("TLS mode %q: must be one of %v", c.TLS, TLSModes())
	}
	return nil
}

// secure sets the TLS of a DSN that says nothing of it by its parameter tls.
func secure(c *mysql.Config, cfg *Config) {
	if c.TLSConfig != "" {
		return
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		host = c.Addr
	}
	mode := cfg.TLS
	if mode == "" || mode == TLSAuto {
		mode = TLSVerifyIdentity
		if c.Net == "unix" || isLoopback(host) {
			mode = TLSOff
		}
	}
	c.TLS, c.AllowFallbackToPlaintext = nil, false
	switch mode {
	case TLSPreferred:
		c.TLS = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
		c.AllowFallbackToPlaintext = true
	case TLSVerifyCA:
		c.TLS = &tls.Config{
			InsecureSkipVerify: true, // what follows verifies all but the name
			VerifyConnection:   verifyChain(cfg.CAs), MinVersion: tls.VersionTLS12,
		}
	case TLSVerifyIdentity:
		c.TLS = &tls.Config{RootCAs: cfg.CAs, ServerName: host, MinVersion: tls.VersionTLS12}
	}
}

// verifyChain is for servers whose certificates have no names, as those are that
// mysqld makes for itself. CAs nil are those of the system.
func verifyChain(cas *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("the server has no certificate")
		}
		between := x509.NewCertPool()
		for _, cert := range s.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: cas, Intermediates: between})
		return err
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
