package api

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

// Two clients that happen to send one key each have an answer of their own.
func TestIdempotencyKey_OfEachClient(t *testing.T) {
	gate, _ := newGate(t, access.Read)
	gate.Certificates = &access.Certificates{Scopes: access.Write}
	b := newGuardedBench(t, Options{Access: gate})
	long := strings.Repeat("n", 100)
	locations := map[string]string{}
	for _, name := range []string{"billing", "payroll", long, long + "m"} {
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
		for _, want := range []string{"", "true"} {
			r := httptest.NewRequest(http.MethodPost, "/v1/employees", strings.NewReader(`{"first":"Ada"}`))
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", "1")
			w := httptest.NewRecorder()
			b.router.ServeHTTP(w, r)
			location := w.Header().Get("Location")
			if w.Code != http.StatusCreated || w.Header().Get("Idempotency-Replayed") != want {
				t.Errorf("%.10s: got %d, replayed %q, want %q", name, w.Code, w.Header().Get("Idempotency-Replayed"), want)
			}
			if other, known := locations[location]; known && other != name {
				t.Errorf("%.10s got the answer of %.10s", name, other)
			}
			locations[location] = name
		}
	}
	if len(locations) != 4 {
		t.Errorf("got %d employees, want one of each client", len(locations))
	}
}
