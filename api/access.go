package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

const (
	authorizationHeader = "Authorization"
	authenticateHeader  = "WWW-Authenticate"
	bearerScheme        = "Bearer"
	bearerChallenge     = bearerScheme + ` realm="ndbgate"`
)

// anybody is the scope of what is free: the contract and the page that shows it, to
// which / leads.
const anybody access.Scopes = 0

// scopeOf is what a request needs. It looks at the path as the router does, so
// that no spelling of it needs less.
func scopeOf(method, path string) access.Scopes {
	switch {
	case path == "/", path == specPath, path == strings.TrimSuffix(docsPath, "/"), strings.HasPrefix(path, docsPath):
		return anybody
	case path == "/v1/cluster":
		return access.Admin
	case method == http.MethodGet, method == http.MethodHead, path == "/v1/employees:batchGet":
		return access.Read
	default:
		return access.Write
	}
}

// guard lets those requests pass whose callers may send them, and notes who they
// are.
func (s *server) guard(next http.Handler) http.Handler {
	if s.gate == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.admit(w, r); err != nil {
			s.finish(&exchange{w: w, r: r, ctx: r.Context(), begun: time.Now()}, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admit returns a problem where the request is not to pass. It takes the request's
// token: of the caller, or of the address where nobody knows who calls; see limitRate.
func (s *server) admit(w http.ResponseWriter, r *http.Request) error {
	need := scopeOf(r.Method, pathOf(r))
	if need == anybody {
		return nil
	}
	grant, err := identify(s.gate, r, s.origins)
	if err != nil {
		s.chargeToken(w, r)
		return err
	}
	info := infoOf(r.Context())
	info.grant, info.client = grant, grant.String()
	if err := s.takeToken(w, r); err != nil {
		return err
	}
	return checkScope(grant, need)
}

// identify finds out who sent a request. What stands in Authorization goes before
// the certificate of the connection, which counts for pages of the origins and of the
// gateway itself alone. An error is a problem.
func identify(gate *access.Gate, r *http.Request, origins []string) (*access.Grant, error) {
	value, err := onlyValue(r.Header, authorizationHeader)
	if err != nil {
		return nil, err
	}
	if value == "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		if err := checkCertificateOrigin(r, origins); err != nil {
			return nil, err
		}
		grant, err := gate.Certificate(r.TLS.PeerCertificates)
		return grant, accessProblem(err)
	}
	if value == "" {
		return nil, newProblem(codeNoCredentials, "send an API key or a token in the header Authorization, as in Authorization: Bearer KEY").
			withHeader(authenticateHeader, bearerChallenge)
	}
	scheme, secret, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, bearerScheme) {
		return nil, badCredentials("the scheme of Authorization must be " + bearerScheme)
	}
	grant, err := gate.Bearer(r.Context(), strings.Trim(secret, " "))
	return grant, accessProblem(err)
}

// accessProblem is nil where the error is.
func accessProblem(err error) error {
	var refused *access.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return badCredentials(refused.Reason)
	default:
		return newProblem(codeAccessUnavailable, "nothing was done: the keys of the token's issuer are not there yet").withHeader("Retry-After", retryAfterSeconds)
	}
}

func badCredentials(reason string) *problem {
	return newProblem(codeBadCredentials, reason).
		withHeader(authenticateHeader, fmt.Sprintf(`%s, error="invalid_token", error_description="%s"`, bearerChallenge, reason))
}

func checkScope(grant *access.Grant, need access.Scopes) error {
	if grant.Scopes.Has(need) {
		return nil
	}
	return newProblem(codeNoScope, fmt.Sprintf("the call needs the scope %s, and %s has %s", need, grant, grant.Scopes)).
		withHeader(authenticateHeader, fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, bearerChallenge, need))
}

// stillAllowed is for calls that may last longer than the right to send them. Its
// error is a problem.
func (x *exchange) stillAllowed() error {
	grant := infoOf(x.r.Context()).grant
	if grant == nil {
		return nil
	}
	return accessProblem(grant.Check())
}

// maySeeAll tells whether a request on the admin listener has the scope admin.
// Without a gate everybody has it.
func maySeeAll(gate *access.Gate, r *http.Request) bool {
	if gate == nil {
		return true
	}
	grant, err := identify(gate, r, nil)
	return err == nil && grant.Scopes.Has(access.Admin)
}

// adminGuard is guard for the admin listener: it wants the scope admin. Without a
// gate everybody may pass.
func adminGuard(gate *access.Gate, next http.Handler) http.Handler {
	if gate == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		grant, err := identify(gate, r, nil)
		if err == nil {
			err = checkScope(grant, access.Admin)
		}
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		plainProblem(w, toProblem(err))
	})
}

// plainProblem is a problem as the admin listener tells it: in a line of text.
func plainProblem(w http.ResponseWriter, p *problem) {
	for name, value := range p.headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, fmt.Sprintf("%s: %s", p.Code, p.Detail), p.Status)
}
