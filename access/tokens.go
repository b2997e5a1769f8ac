package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// TokensConfig describes the tokens that are taken. The zero value of a field
// after the first three means its default.
type TokensConfig struct {
	Source   string // of the public keys as a JWK Set (RFC 7517): a file, an https URL, or an http URL of this host
	Issuer   string // iss of every token
	Audience string // one of aud of every token

	Client *http.Client     // asks the URL; default: one of its own
	Logger *slog.Logger     // told of refreshes that fail; default: none
	Now    func() time.Time // default: the system's clock
}

// Validate names the field that is wrong.
func (c *TokensConfig) Validate() error {
	switch {
	case c.Source == "":
		return errors.New("no source of keys")
	case c.Issuer == "":
		return errors.New("no issuer: tokens of anybody would do")
	case c.Audience == "":
		return errors.New("no audience: tokens for another service would do")
	case isURL(c.Source):
		return checkURL(c.Source)
	default:
		return nil
	}
}

const (
	// clockSkew is by how much the clocks of issuer and gateway may differ.
	clockSkew = 30 * time.Second
	// scopePrefix may stand before a scope in a token, where the issuer has one
	// list of scopes for many services.
	scopePrefix = "ndbgate:"
)

// algorithms are those that are taken: with public keys only, so that nobody can
// sign with what is public, and none that are weak.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}

// Tokens checks JSON Web Tokens (RFC 7519). It is safe for concurrent use.
type Tokens struct {
	issuer, audience string
	now              func() time.Time
	keys             keySource
	cache            tokenCache
}

// OpenTokens reads the public keys where they are a file, and leaves a URL to
// Run.
func OpenTokens(cfg TokensConfig) (*Tokens, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &Tokens{issuer: cfg.Issuer, audience: cfg.Audience, now: cfg.Now}
	if t.now == nil {
		t.now = time.Now
	}
	if isURL(cfg.Source) {
		t.keys = newRemoteKeys(cfg.Source, cfg.Client, cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)))
		return t, nil
	}
	file := &fileKeys{path: cfg.Source}
	t.keys = file
	return t, file.load()
}

// IsFile tells whether the public keys are in a file, and Load can be called.
func (t *Tokens) IsFile() bool {
	_, ok := t.keys.(*fileKeys)
	return ok
}

// Load reads the file of public keys again. Where that fails they stay as they
// were.
func (t *Tokens) Load() error {
	file, ok := t.keys.(*fileKeys)
	if !ok {
		return errors.New("the public keys are in no file")
	}
	return file.load()
}

// Run keeps the public keys fresh that a URL gives, until the context ends. With
// a file it returns at once.
func (t *Tokens) Run(ctx context.Context) {
	if remote, ok := t.keys.(*remoteKeys); ok {
		remote.run(ctx)
	}
}

// claims are those of a token that count here.
type claims struct {
	jwt.Claims
	Scope string    `json:"scope"` // of RFC 8693: words with spaces between them
	SCP   scopeList `json:"scp"`   // what some issuers have instead, as a list or as scope

	Confirmation json.RawMessage `json:"cnf"` // of RFC 7800; empty: who has the token may use it
}

type scopeList []string

func (l *scopeList) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(l))
	}
	var words string
	err := json.Unmarshal(text, &words)
	*l = strings.Fields(words)
	return err
}

func (c *claims) scopes() (scopes Scopes) {
	for _, word := range append(strings.Fields(c.Scope), c.SCP...) {
		scopes |= scopeOf(strings.TrimPrefix(word, scopePrefix)) // others are for other services
	}
	return scopes
}

// verify checks a token, or remembers that it was good. An error is a
// *RefusedError or ErrUnavailable.
func (t *Tokens) verify(ctx context.Context, raw string) (*Grant, error) {
	set := t.keys.current() // before the check: with a newer one it has to be done again
	if grant := t.cache.get(set, raw); grant != nil {
		return grant, grant.check()
	}
	grant, err := t.check(ctx, set, raw)
	if err == nil && set != nil {
		t.cache.put(set, raw, grant)
	}
	return grant, err
}

var errNoToken = refused("it is no API key, and no token that is signed with RS256, ES256 or EdDSA")

// check checks all of a token. The set is that of the keys before, and may be nil.
func (t *Tokens) check(ctx context.Context, set *keySet, raw string) (*Grant, error) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil || len(token.Headers) != 1 {
		return nil, errNoToken
	}
	if err := checkHeader(raw); err != nil {
		return nil, err
	}
	id, key := token.Headers[0].KeyID, verifyKey{algorithm: jose.SignatureAlgorithm(token.Headers[0].Algorithm)}
	if key.key, err = t.keys.find(ctx, id, key.algorithm); err != nil {
		return nil, err
	}
	var c claims
	switch err := token.Claims(key.key, &c); {
	case errors.Is(err, jose.ErrCryptoFailure):
		return nil, refused("the signature of the token is not good")
	case err != nil:
		return nil, refused("the claims of the token cannot be read")
	}
	if err := t.checkClaims(&c); err != nil {
		return nil, err
	}
	ends := c.Expiry.Time()
	return &Grant{Principal: Principal{KindToken, c.Subject, c.scopes()}, check: func() error {
		if t.now().Add(-clockSkew).After(ends) {
			return errExpired
		}
		// The set of before is the present one: then it gave the key.
		if now := t.keys.current(); now != set && !now.holds(id, key) {
			return errUnknownKey()
		}
		return nil
	}}, nil
}

var errExpired = refused("the token has expired")

func (t *Tokens) checkClaims(c *claims) error {
	err := c.ValidateWithLeeway(jwt.Expected{Issuer: t.issuer, AnyAudience: jwt.Audience{t.audience}, Time: t.now()}, clockSkew)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return errExpired
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return refused("the token is not valid yet")
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return refused("the token is of another issuer")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return refused("the token is for another audience")
	case err != nil:
		return refused("the claims of the token are not good")
	case len(c.Confirmation) > 0:
		return errBound
	case c.Expiry == nil:
		return refused("the token has no end (exp)")
	case !isName(c.Subject):
		return refused("the token must have a subject (sub) of 1 to %d printable ASCII characters", maxNameBytes)
	default:
		return nil
	}
}
