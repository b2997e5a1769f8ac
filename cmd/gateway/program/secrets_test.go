package program

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/access"
)

// TestServe_TellsNoSecret sends keys and tokens, good and bad, by every way that
// they may stray, and looks for them, and for the passwords of DSNs, in all that
// the gateway says.
func TestServe_TellsNoSecret(t *testing.T) {
	file, key := newKeyFile(t, "billing", access.Read)
	address := deadAddress(t)
	s := serveInTest(t, openRoads, "--api-keys="+file, "--log-level=debug", "--ndb-connectstring="+address,
		"--sql-dsn=root:"+password+"@tcp("+address+")/ndbtest?timeout=1s")
	const otherKey = "ndbgate_c2VjcmV0LXRoYXQtc29tZWJvZHktZWxzZS1oYXM"
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA"}`)) + ".c2VjcmV0LWNsYWltcw.c2VjcmV0LXNpZ25hdHVyZQ"
	var told strings.Builder
	for _, secret := range []string{key, otherKey, token} {
		calls := []string{"GET /v1/employees/1", "GET /v1/cluster", "POST /v1/employees", "GET /v1/employees?access_token=" + secret}
		if secret != token { // which looks as any path may
			calls = append(calls, "GET /v1/employees/"+secret)
		}
		for _, header := range []string{"Bearer " + secret, "Basic " + secret, secret, "Bearer " + secret + " x"} {
			for _, call := range calls {
				method, path, _ := strings.Cut(call, " ")
				r, err := http.NewRequestWithContext(t.Context(), method, s.public+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", header)
				r.Header.Set("X-Request-Id", "-"+strings.Repeat("!", 3))
				answer, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if err := answer.Header.Write(&told); err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
			}
			_, body := askWith(t, client, "GET", s.public+"/v1/backends", secret)
			told.WriteString(body)
		}
	}
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline"} {
		_, body := mustGet(t, s.admin+path)
		told.WriteString(body)
	}
	s.stop()
	if got := s.exitCode(t); got != exitOK {
		t.Errorf("exit code: got %d, want 0", got)
	}
	s.log.drain()
	all := told.String() + s.log.text()
	for name, secret := range map[string]string{
		"key": key, "key without its prefix": key[8:30], "other key": otherKey[8:30], "token": token, "claims": "c2VjcmV0LWNsYWltcw",
		"signature": "c2VjcmV0LXNpZ25hdHVyZQ", "password": password,
	} {
		if at := strings.Index(all, secret); at >= 0 {
			t.Errorf("the %s shows: ...%.200s", name, all[max(0, at-100):])
		}
	}
	for _, want := range []string{"credentials_invalid", "key:billing"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in it: the test looks in the wrong place", want)
		}
	}
}
