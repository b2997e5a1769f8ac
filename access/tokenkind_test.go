package access

import (
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// signRaw signs a header as it is written, with the Ed25519 key.
func (i *issuer) signRaw(header string, claims map[string]any) string {
	i.t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	text := base64JSON(header) + "." + base64JSON(string(payload))
	return text + "." + base64JSON(string(ed25519.Sign(i.keys["ed"].(ed25519.PrivateKey), []byte(text))))
}

func TestTokens_OfOtherKinds_AreRefused(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	const generic = "the token is of a kind that is not taken here"
	for _, c := range []struct {
		name, header string // header: what stands behind alg and kid
		claims       map[string]any
		cause        string // empty: it is good
	}{
		{"no typ", ``, nil, ""},
		{"JWT", `,"typ":"JWT"`, nil, ""},
		{"jwt", `,"typ":"jwt"`, nil, ""},
		{"access token", `,"typ":"at+jwt"`, nil, ""},
		{"access token in capitals", `,"typ":"AT+JWT"`, nil, ""},
		{"access token in full", `,"typ":"application/at+jwt"`, nil, ""},
		{"JWT in full", `,"typ":"Application/JWT"`, nil, ""},
		{"member of another name", `,"Typ":"logout+jwt","Crit":["x"]`, nil, ""},
		{"logout token", `,"typ":"logout+jwt"`, nil, "the typ of the token"},
		{"proof of possession", `,"typ":"dpop+jwt"`, nil, "the typ of the token"},
		{"security event", `,"typ":"application/secevent+jwt"`, nil, "the typ of the token"},
		{"empty typ", `,"typ":""`, nil, "the typ of the token"},
		{"typ null", `,"typ":null`, nil, "the typ of the token"},
		{"typ of a wrong type", `,"typ":7`, nil, "the typ of the token"},
		{"typ with a parameter", `,"typ":"JWT; x=y"`, nil, "the typ of the token"},
		{"prefix alone", `,"typ":"application/"`, nil, "the typ of the token"},
		{"prefix twice", `,"typ":"application/application/jwt"`, nil, "the typ of the token"},
		{"crit", `,"crit":["exp"],"exp":1`, nil, "the header of the token has crit"},
		{"crit of what go-jose knows", `,"crit":["b64"],"b64":true`, nil, "the header of the token has crit"},
		{"empty crit", `,"crit":[]`, nil, "the header of the token has crit"},
		{"crit null", `,"crit":null`, nil, "the header of the token has crit"},
		{"bound to a key", ``, map[string]any{"cnf": map[string]any{"jkt": "secret-thumbprint"}}, "the token is bound to a key"},
		{"bound to a certificate", ``, map[string]any{"cnf": map[string]any{"x5t#S256": "secret-thumbprint"}}, "the token is bound to a key"},
		{"bound to nothing that is known", ``, map[string]any{"cnf": map[string]any{}}, "the token is bound to a key"},
		{"bound to no object", ``, map[string]any{"cnf": json.RawMessage("null")}, "the token is bound to a key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			gate := &Gate{Tokens: issuer.open(clock), Logger: slog.New(slog.NewTextHandler(&log, nil))}
			claims := goodClaims(clock, nil)
			for name, value := range c.claims {
				claims[name] = value
			}
			token := issuer.signRaw(`{"alg":"EdDSA","kid":"ed"`+c.header+`}`, claims)
			_, err := gate.Bearer(t.Context(), token)
			if got, want := reasonOf(t, err), map[bool]string{true: generic}[c.cause != ""]; got != want {
				t.Errorf("got the reason %q, want %q", got, want)
			}
			if got := log.String(); (c.cause == "") != (got == "") || !strings.Contains(got, c.cause) || strings.Contains(got, "secret") || strings.Contains(got, token) {
				t.Errorf("got the log %q, want one with %q, and no token", got, c.cause)
			}
		})
	}
}

func TestGate_TellsWhyCredentialsAreRefused_AndNotWhich(t *testing.T) {
	var log strings.Builder
	clock, issuer := newClock(), newIssuer(t)
	gate := &Gate{Tokens: issuer.open(clock), Keys: &Keys{now: clock.now}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	gate.Keys.table.Store(&keyTable{})
	secret, _ := mustKey(t, "billing", Read, clock.at)
	token := issuer.sign(jose.EdDSA, "ed", goodClaims(clock, map[string]any{"aud": "else"}))
	for credentials, want := range map[string]string{
		secret: "the API key is not known, or not any more",
		token:  "the token is for another audience",
		"":     "there is no key or token behind Bearer",
	} {
		log.Reset()
		if _, err := gate.Bearer(t.Context(), credentials); reasonOf(t, err) != want {
			t.Errorf("got %v, want %q", err, want)
		}
		got := log.String()
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, `reason="`+want+`"`) || credentials != "" && strings.Contains(got, credentials) {
			t.Errorf("got the log %q, want one line with %q", got, want)
		}
	}
}

// What was accepted with a key ends with it, also what began before.
func TestTokens_EndWithTheirKey(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	another := newIssuer(t)
	tokens := issuer.open(clock)
	gate := &Gate{Tokens: tokens}
	token := issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil))
	stream, err := gate.Bearer(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	const unknown, unsigned = "the key that the token is signed with is not known", "the signature of the token is not good"
	for _, c := range []struct {
		name            string
		set             []byte
		request, stream string
	}{
		{"the same keys, read again", issuer.jwks(), "", ""},
		{"its key alone", issuer.jwks("ed"), "", ""},
		{"without its key", issuer.jwks("rsa", "ec"), unknown, unknown},
		{"its key is back", issuer.jwks("ed", "ec"), "", ""},
		{"another key of the same ID", another.jwks("ed"), unsigned, unknown},
	} {
		if err := os.WriteFile(tokens.keys.(*fileKeys).path, c.set, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tokens.Load(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := gate.Bearer(t.Context(), token); reasonOf(t, err) != c.request {
				t.Errorf("%s: a request: got %v, want %q", c.name, err, c.request)
			}
			if got := reasonOf(t, stream.Check()); got != c.stream {
				t.Errorf("%s: a stream: got %q, want %q", c.name, got, c.stream)
			}
		}
	}
}
