// Package access tells who calls: by API keys, tokens (JWT) and client
// certificates. It knows no HTTP handler and no store.
package access

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Scopes are rights, as a set. No right includes another one: who may scrape
// metrics need not be able to read people's data.
type Scopes uint8

// The scopes.
const (
	Read  Scopes = 1 << iota // rows and what the gateway is made of
	Write                    // rows
	Admin                    // the cluster's nodes, metrics, profiles
)

var scopeNames = []struct {
	scope Scopes
	name  string
}{{Read, "read"}, {Write, "write"}, {Admin, "admin"}}

// Has tells whether all of the other scopes are in the set.
func (s Scopes) Has(other Scopes) bool { return s&other == other }

// String is as in "read,write", and "none" of the empty set.
func (s Scopes) String() string {
	var names []string
	for _, n := range scopeNames {
		if s.Has(n.scope) {
			names = append(names, n.name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ",")
}

var errScopes = errors.New("must be read, write and admin, or some of them, with commas between them")

// ParseScopes reads what String gives, in any order; at least one scope must be
// there. Its error quotes nothing.
func ParseScopes(text string) (Scopes, error) {
	var scopes Scopes
	for name := range strings.SplitSeq(text, ",") {
		scope := scopeOf(name)
		if scope == 0 {
			return 0, errScopes
		}
		scopes |= scope
	}
	return scopes, nil
}

// scopeOf is 0 where there is no such scope.
func scopeOf(name string) Scopes {
	for _, n := range scopeNames {
		if n.name == name {
			return n.scope
		}
	}
	return 0
}

// Kind is how a principal has shown who it is.
type Kind string

// The kinds.
const (
	KindKey         Kind = "key"
	KindToken       Kind = "token"
	KindCertificate Kind = "certificate"
)

// Principal is who calls.
type Principal struct {
	Kind   Kind
	Name   string // of the key, the subject of the token or of the certificate: 1 to 255 printable ASCII characters
	Scopes Scopes
}

// String is as in "key:billing". A token with the subject billing is somebody
// else.
func (p Principal) String() string { return string(p.Kind) + ":" + p.Name }

// Grant is a principal for as long as it may call. It is safe for concurrent
// use.
type Grant struct {
	Principal
	check func() error
	gate  *Gate // whose log is told of the end
}

// Check tells whether the principal may still call. What ends that is the end of
// a key, token or certificate, and a key, a public key of tokens, or a CA that is
// there no more. Its error is a *RefusedError.
func (g *Grant) Check() error {
	err := g.check()
	g.gate.tell(err)
	return err
}

// RefusedError says that credentials are not good. It has no secrets.
type RefusedError struct {
	Reason string // may be told to whoever sent them
	Cause  string // for the log alone; empty: the reason says it all
}

func (e *RefusedError) Error() string { return "the credentials are refused: " + e.Reason }

func refused(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// refusedFor has a cause that is not for whoever sent the credentials.
func refusedFor(cause, reason string) error { return &RefusedError{Reason: reason, Cause: cause} }

// ErrUnavailable says that credentials cannot be checked now, and may be good.
var ErrUnavailable = errors.New("access cannot be checked")

// Gate checks credentials of all kinds that are configured. It is safe for
// concurrent use.
type Gate struct {
	Keys         *Keys         // nil: no API keys
	Tokens       *Tokens       // nil: no tokens
	Certificates *Certificates // nil: no client certificates
	Logger       *slog.Logger  // told why credentials are refused; nil: none
}

// maxBearerBytes is the longest key or token. A token with some claims has one
// to two thousand; to check a longer one costs more than it is worth.
const maxBearerBytes = 8 << 10

// Bearer checks what stands behind "Bearer " in a request. An error is a
// *RefusedError or ErrUnavailable.
func (g *Gate) Bearer(ctx context.Context, secret string) (*Grant, error) {
	return g.handOut(g.bearer(ctx, secret))
}

func (g *Gate) bearer(ctx context.Context, secret string) (*Grant, error) {
	switch {
	case secret == "":
		return nil, refused("there is no key or token behind Bearer")
	case len(secret) > maxBearerBytes:
		return nil, refused("it is longer than %d bytes", maxBearerBytes)
	case strings.HasPrefix(secret, keyPrefix):
		if g.Keys == nil {
			return nil, refused("API keys are not taken here")
		}
		return g.Keys.find(secret)
	case g.Tokens == nil:
		return nil, refused("it is no API key")
	default:
		grant, err := g.Tokens.verify(ctx, secret)
		if err != nil {
			return nil, err
		}
		own := *grant // the other one is everybody's
		return &own, nil
	}
}

// Certificate takes the chain that a client showed as the connection was opened,
// and that was verified then: its own certificate first. Its error is a
// *RefusedError.
func (g *Gate) Certificate(chain []*x509.Certificate) (*Grant, error) {
	if g.Certificates == nil {
		return g.handOut(nil, refused("client certificates are not taken here"))
	}
	return g.handOut(g.Certificates.grant(chain))
}

func (g *Gate) handOut(grant *Grant, err error) (*Grant, error) {
	if err != nil {
		g.tell(err)
		return nil, err
	}
	grant.gate = g
	return grant, nil
}

// tell logs why credentials are refused, and nothing where they are not.
func (g *Gate) tell(err error) {
	if refused, ok := errors.AsType[*RefusedError](err); ok && g.Logger != nil {
		g.Logger.Info("credentials are refused", "reason", cmp.Or(refused.Cause, refused.Reason))
	}
}

// maxNameBytes is the longest name of a principal: one that fits into a log line.
const maxNameBytes = 255

// isName tells whether a name is fit for logs: printable ASCII.
func isName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' })
}
