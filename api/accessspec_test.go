package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ndbgate/ndbgate/access"
)

// gate is nil where an example needs no access control. An example of a problem
// with an issuer of tokens gets one that gives no keys.
func (s *sample) gate(t *testing.T) *access.Gate {
	t.Helper()
	switch s.problemCode() {
	case codeNoCredentials, codeBadCredentials:
		gate, _ := newGate(t, access.Read)
		return gate
	case codeNoScope:
		scopes, err := access.ParseScopes(s.request.Scopes)
		if err != nil {
			t.Fatal(err)
		}
		var gate *access.Gate
		gate, s.key = newGate(t, scopes)
		return gate
	case codeAccessUnavailable:
		s.key = tokenOfNobody
		return &access.Gate{Tokens: tokensWithoutKeys(t)}
	default:
		return nil
	}
}

// tokensWithoutKeys has an issuer that gives no keys.
func tokensWithoutKeys(t *testing.T) *access.Tokens {
	t.Helper()
	issuer := httptest.NewServer(http.NotFoundHandler())
	tokens, err := access.OpenTokens(access.TokensConfig{Source: issuer.URL, Issuer: "x", Audience: "y"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tokens.Run(ctx) }) // ends with cancel
	t.Cleanup(func() {
		cancel()
		running.Wait()
		issuer.Close()
	})
	return tokens
}

// tokenOfNobody has the form of a token, and a key that nobody knows.
const tokenOfNobody = "eyJhbGciOiJFZERTQSIsImtpZCI6IngifQ.e30." +
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// newGate makes a gate that takes one key, of the name example.
func newGate(t testing.TB, scopes access.Scopes) (gate *access.Gate, secret string) {
	t.Helper()
	secret, key, err := access.NewKey("example", scopes, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := access.OpenKeys(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &access.Gate{Keys: keys}, secret
}

// The contract names the scope of each call, and so every new call has one.
func TestContract_SecurityIsWhatTheGuardWants(t *testing.T) {
	c := loadContract(t)
	for path, item := range c.at("paths").members() {
		for method, operation := range item.members() {
			var named string
			for requirement := range operation.at("security").items() {
				for _, scopes := range requirement.members() {
					named = strings.Join(scopes.texts(), ",")
				}
			}
			want := scopeOf(strings.ToUpper(method), path).String()
			if named == "" {
				named = access.Scopes(anybody).String()
			}
			if named != want {
				t.Errorf("%s %s: got the scope %s in openapi.yaml, want %s", method, path, named, want)
			}
		}
	}
}

// Who adds a route that answers without a key has to say so here.
func TestGuard_EveryRouteNeedsAKeyButTheContractAndItsPage(t *testing.T) {
	free := []string{"/", "/docs", "/docs/*", "/openapi.yaml"}
	err := chi.Walk(newBench(t).router.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if isFree := scopeOf(method, route) == anybody; isFree != slices.Contains(free, route) {
			t.Errorf("%s %s: free: %t", method, route, isFree)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCORS_ExposesEveryHeaderOfTheContract(t *testing.T) {
	// What browsers show to every page, and what pages cannot have.
	others := []string{"Cache-Control", "Content-Encoding", "Content-Language", "Content-Type", "Vary", "X-Content-Type-Options"}
	c := loadContract(t)
	for _, s := range c.samples() {
		for name := range s.response.at("headers").names() {
			if !slices.Contains(others, name) && !slices.Contains(exposedHeaders, name) {
				t.Errorf("%s: %s is not exposed", s.name, name)
			}
		}
	}
}
