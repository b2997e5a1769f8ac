package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// issuer signs tokens with keys of several kinds.
type issuer struct {
	t    testing.TB
	keys map[string]any // private, by their IDs
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t, map[string]any{"rsa": rsaKey, "ec": ecKey, "ed": edKey}}
}

// jwks is the JWK Set of the public keys with these IDs, or of all.
func (i *issuer) jwks(ids ...string) []byte {
	i.t.Helper()
	var set jose.JSONWebKeySet
	for id, key := range i.keys {
		public := key.(crypto.Signer).Public()
		if len(ids) == 0 || strings.Contains(strings.Join(ids, " "), id) {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: public, KeyID: id, Use: "sig"})
		}
	}
	text, err := json.Marshal(set)
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

func (i *issuer) sign(algorithm jose.SignatureAlgorithm, id string, claims map[string]any) string {
	i.t.Helper()
	return i.signWith(algorithm, i.keys[id], id, claims)
}

func (i *issuer) signWith(algorithm jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	i.t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

func base64JSON(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func (i *issuer) open(clock *clock) *Tokens {
	i.t.Helper()
	path := filepath.Join(i.t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, i.jwks(), 0o600); err != nil {
		i.t.Fatal(err)
	}
	tokens, err := OpenTokens(TokensConfig{Source: path, Issuer: "https://issuer.example", Audience: "ndbgate", Now: clock.now})
	if err != nil {
		i.t.Fatal(err)
	}
	return tokens
}

func goodClaims(clock *clock, changes map[string]any) map[string]any {
	claims := map[string]any{
		"iss": "https://issuer.example", "aud": "ndbgate", "sub": "billing", "scope": "openid read ndbgate:write",
		"exp": clock.at.Add(time.Minute).Unix(), "nbf": clock.at.Add(-time.Minute).Unix(), "iat": clock.at.Add(-time.Minute).Unix(),
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

func TestTokens(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	tokens := issuer.open(clock)
	in := func(d time.Duration) int64 { return clock.at.Add(d).Unix() }
	const noToken = "it is no API key, and no token that is signed with RS256, ES256 or EdDSA"
	signed := func(changes map[string]any) string { return issuer.sign(jose.ES256, "ec", goodClaims(clock, changes)) }
	good := signed(nil)
	payload, err := json.Marshal(goodClaims(clock, nil))
	if err != nil {
		t.Fatal(err)
	}
	_, strange, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	publicRSA, err := x509.MarshalPKIXPublicKey(issuer.keys["rsa"].(*rsa.PrivateKey).Public())
	if err != nil {
		t.Fatal(err)
	}
	small := func(algorithm string) string { // signed with what is public, as if it were a shared secret
		text := base64JSON(`{"alg":"`+algorithm+`","kid":"rsa"}`) + "." + base64.RawURLEncoding.EncodeToString(payload)
		mac := hmac.New(sha256.New, publicRSA)
		mac.Write([]byte(text))
		return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	for _, c := range []struct {
		name, token string
		want        Scopes
		reason      string
	}{
		{"RS256", issuer.sign(jose.RS256, "rsa", goodClaims(clock, nil)), Read | Write, ""},
		{"ES256", good, Read | Write, ""},
		{"EdDSA", issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil)), Read | Write, ""},
		{"scp as a list", signed(map[string]any{"scope": nil, "scp": []string{"admin", "x"}}), Admin, ""},
		{"scp as words", signed(map[string]any{"scope": nil, "scp": "read admin"}), Read | Admin, ""},
		{"no scope at all", signed(map[string]any{"scope": nil}), 0, ""},
		{"scopes of others", signed(map[string]any{"scope": "READ other:read ndbgate:root readwrite"}), 0, ""},
		{"audience in a list", signed(map[string]any{"aud": []string{"x", "ndbgate"}}), Read | Write, ""},
		{"ended, but clocks differ", signed(map[string]any{"exp": in(-29 * time.Second)}), Read | Write, ""},
		{"begins later, but clocks differ", signed(map[string]any{"nbf": in(29 * time.Second), "iat": in(29 * time.Second)}), Read | Write, ""},
		{"without nbf and iat", signed(map[string]any{"nbf": nil, "iat": nil}), Read | Write, ""},

		{"ended", signed(map[string]any{"exp": in(-31 * time.Second)}), 0, "the token has expired"},
		{"without an end", signed(map[string]any{"exp": nil}), 0, "the token has no end (exp)"},
		{"not yet", signed(map[string]any{"nbf": in(31 * time.Second)}), 0, "the token is not valid yet"},
		{"made in the future", signed(map[string]any{"iat": in(time.Hour)}), 0, "the token is not valid yet"},
		{"other issuer", signed(map[string]any{"iss": "https://issuer.example/"}), 0, "the token is of another issuer"},
		{"no issuer", signed(map[string]any{"iss": nil}), 0, "the token is of another issuer"},
		{"other audience", signed(map[string]any{"aud": "else"}), 0, "the token is for another audience"},
		{"no audience", signed(map[string]any{"aud": nil}), 0, "the token is for another audience"},
		{"no subject", signed(map[string]any{"sub": nil}), 0, "the token must have a subject (sub) of 1 to 255 printable ASCII characters"},
		{"subject with a line end", signed(map[string]any{"sub": "a\nb"}), 0, "the token must have a subject (sub) of 1 to 255 printable ASCII characters"},
		{"claims of wrong types", signed(map[string]any{"scope": 7}), 0, "the claims of the token cannot be read"},
		{"end of a wrong type", signed(map[string]any{"exp": "tomorrow"}), 0, "the claims of the token cannot be read"},

		{"alg none", base64JSON(`{"alg":"none"}`) + "." + base64.RawURLEncoding.EncodeToString(payload) + ".", 0, noToken},
		{"alg None", base64JSON(`{"alg":"None","kid":"rsa"}`) + "." + base64.RawURLEncoding.EncodeToString(payload) + ".", 0, noToken},
		{"HS256 with the public key", small("HS256"), 0, noToken},
		{"RS256 with a keyed hash", small("RS256"), 0, "the signature of the token is not good"},
		{"PS256", issuer.sign(jose.PS256, "rsa", goodClaims(clock, nil)), 0, noToken},
		{"RS512", issuer.sign(jose.RS512, "rsa", goodClaims(clock, nil)), 0, noToken},
		{"unknown kid", issuer.signWith(jose.EdDSA, strange, "new", goodClaims(clock, nil)), 0, "the key that the token is signed with is not known"},
		{"kid of another algorithm", issuer.signWith(jose.EdDSA, strange, "ec", goodClaims(clock, nil)), 0, "the key that the token is signed with is not known"},
		{"no kid, and many keys", issuer.signWith(jose.EdDSA, issuer.keys["ed"], "", goodClaims(clock, nil)), 0, "the key that the token is signed with is not known"},
		{"other key of the same kid", issuer.signWith(jose.EdDSA, strange, "ed", goodClaims(clock, nil)), 0, "the signature of the token is not good"},
		{"claims changed", strings.Replace(good, ".", "."+base64JSON(`{"sub":"root"}`)+"_", 1), 0, "the signature of the token is not good"},
		{"signature cut off", good[:len(good)-4], 0, "the signature of the token is not good"},
		{"no signature", good[:strings.LastIndex(good, ".")+1], 0, "the signature of the token is not good"},
		{"two parts", good[:strings.LastIndex(good, ".")], 0, noToken},
		{"words", "hello", 0, noToken},
		{"huge", issuer.sign(jose.ES256, "ec", goodClaims(clock, map[string]any{"x": strings.Repeat("a", maxBearerBytes)})), 0, "it is longer than 8192 bytes"},
		{"API key", "ndbgate_x", 0, "API keys are not taken here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			grant, err := (&Gate{Tokens: tokens}).Bearer(t.Context(), c.token)
			if got := reasonOf(t, err); got != c.reason {
				t.Errorf("got the reason %q, want %q", got, c.reason)
			}
			if want := (Principal{KindToken, "billing", c.want}); err == nil && grant.Principal != want {
				t.Errorf("got %+v, want %+v", grant.Principal, want)
			}
		})
	}
}

func TestTokens_GrantEndsWithTheToken(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	grant, err := (&Gate{Tokens: issuer.open(clock)}).Bearer(t.Context(), issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil)))
	if err != nil || grant.Check() != nil {
		t.Fatal(err, grant.Check())
	}
	clock.at = clock.at.Add(time.Minute + clockSkew + time.Second)
	if got := reasonOf(t, grant.Check()); got != "the token has expired" {
		t.Errorf("got %q, want that it has expired", got)
	}
}

func TestTokens_ThatWereGood_EndWithTheirTimeAndTheirKey(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	tokens := issuer.open(clock)
	token := issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil))
	for range 2 {
		if _, err := tokens.verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	begun := clock.at
	clock.at = begun.Add(time.Minute + clockSkew + time.Second)
	if _, err := tokens.verify(t.Context(), token); reasonOf(t, err) != "the token has expired" {
		t.Errorf("after its end: got %v", err)
	}
	clock.at = begun
	if err := os.WriteFile(tokens.keys.(*fileKeys).path, issuer.jwks("rsa"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Load(); err != nil {
		t.Fatal(err)
	}
	other := issuer.sign(jose.RS256, "rsa", goodClaims(clock, nil))
	if _, err := tokens.verify(t.Context(), other); err != nil {
		t.Error(err)
	}
	if _, err := tokens.verify(t.Context(), token); reasonOf(t, err) != "the key that the token is signed with is not known" {
		t.Errorf("without its key: got %v", err)
	}
}

func TestTokenCache_IsBounded(t *testing.T) {
	var c tokenCache
	set := &keySet{}
	for i := range 3 * maxCachedTokens {
		c.put(set, strconv.Itoa(i), &Grant{})
		if len(c.grants) > maxCachedTokens {
			t.Fatalf("got %d tokens", len(c.grants))
		}
	}
	if c.get(set, strconv.Itoa(3*maxCachedTokens-1)) == nil || c.get(&keySet{}, strconv.Itoa(3*maxCachedTokens-1)) != nil {
		t.Error("the last token is not known, or known with other keys")
	}
}

func TestTokens_OneKeyNeedsNoID(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	tokens := issuer.open(clock)
	if err := os.WriteFile(tokens.keys.(*fileKeys).path, issuer.jwks("ed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Load(); err != nil {
		t.Fatal(err)
	}
	token := issuer.signWith(jose.EdDSA, issuer.keys["ed"], "", goodClaims(clock, nil))
	if _, err := tokens.verify(t.Context(), token); err != nil {
		t.Error(err)
	}
}

func TestParseKeySet(t *testing.T) {
	issuer := newIssuer(t)
	weak := &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 1023, 1), E: 65537}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk := func(k jose.JSONWebKey) string {
		text, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	public := issuer.keys["rsa"].(*rsa.PrivateKey).Public()
	good := jwk(jose.JSONWebKey{Key: public, KeyID: "a", Algorithm: "RS256"})
	for name, c := range map[string]struct {
		text string
		keys int // 0: an error
	}{
		"good":              {`{"keys":[` + good + `],"more":1}`, 1},
		"beside others":     {`{"keys":[{"kty":"XX"},7,` + good + `,{"kty":"oct","k":"c2VjcmV0"}]}`, 1},
		"for encryption":    {`{"keys":[` + jwk(jose.JSONWebKey{Key: public, Use: "enc"}) + `]}`, 0},
		"for RS512":         {`{"keys":[` + jwk(jose.JSONWebKey{Key: public, Algorithm: "RS512"}) + `]}`, 0},
		"1024 bits":         {`{"keys":[` + jwk(jose.JSONWebKey{Key: weak}) + `]}`, 0},
		"P-384":             {`{"keys":[` + jwk(jose.JSONWebKey{Key: p384.Public()}) + `]}`, 0},
		"private":           {`{"keys":[` + jwk(jose.JSONWebKey{Key: issuer.keys["ed"]}) + `]}`, 0},
		"shared secret":     {`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`, 0},
		"none":              {`{"keys":[]}`, 0},
		"no set":            {`[]`, 0},
		"no JSON":           {`-----BEGIN PUBLIC KEY-----`, 0},
		"too many":          {`{"keys":[` + strings.Repeat(good+",", maxKeySetKeys) + good + `]}`, 0},
		"the same ID twice": {`{"keys":[` + good + `,` + good + `]}`, 1},
	} {
		set, err := parseKeySet([]byte(c.text))
		if len(set) != c.keys || (err == nil) != (c.keys > 0) {
			t.Errorf("%s: got %d IDs and %v, want %d", name, len(set), err, c.keys)
		}
	}
}

func TestTokensConfig_Validate(t *testing.T) {
	for source, ok := range map[string]bool{
		"/etc/jwks.json": true, "https://issuer.example/keys": true, "http://127.0.0.1:80/keys": true, "http://localhost/k": true, "http://[::1]/k": true,
		"": false, "http://issuer.example/keys": false, "https://u:p@issuer.example": false, "https://": false, "https://a/#b": false, "http://127.0.0.1.example/": false,
	} {
		c := TokensConfig{Source: source, Issuer: "a", Audience: "b"}
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("%q: got %v, want fine: %t", source, err, ok)
		}
	}
	for _, c := range []TokensConfig{{Source: "x", Issuer: "a"}, {Source: "x", Audience: "a"}} {
		if c.Validate() == nil {
			t.Errorf("%+v: got no error", c)
		}
	}
	if _, err := OpenTokens(TokensConfig{Source: "/nowhere/x", Issuer: "a", Audience: "b"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file is not there", err)
	}
}

func FuzzTokens(f *testing.F) {
	clock, issuer := newClock(), newIssuer(f)
	tokens := issuer.open(clock)
	f.Add(issuer.sign(jose.EdDSA, "ed", map[string]any{"sub": "x"}))
	f.Add("e30.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		if grant, err := tokens.verify(t.Context(), token); err == nil {
			t.Errorf("got %v of %q", grant.Principal, token)
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	clock, issuer := newClock(), newIssuer(b)
	gate := &Gate{Tokens: issuer.open(clock)}
	for id, algorithm := range map[string]jose.SignatureAlgorithm{"rsa": jose.RS256, "ec": jose.ES256, "ed": jose.EdDSA} {
		token := issuer.sign(algorithm, id, goodClaims(clock, nil))
		b.Run(string(algorithm), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := gate.Tokens.check(b.Context(), gate.Tokens.keys.current(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(string(algorithm)+" again", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := gate.Bearer(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
