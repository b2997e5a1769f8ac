package access

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"
)

func TestCertificates(t *testing.T) {
	clock := newClock()
	gate := &Gate{Certificates: &Certificates{Scopes: Read, Now: clock.now}}
	for name, c := range map[string]struct {
		subject pkix.Name
		ends    time.Time
		want    string
		reason  string
	}{
		"common name":    {pkix.Name{CommonName: "Billing Service", Organization: []string{"X"}}, clock.at.Add(1), "certificate:Billing Service", ""},
		"no common name": {pkix.Name{Organization: []string{"X"}}, clock.at.Add(1), "certificate:O=X", ""},
		"no name":        {pkix.Name{}, clock.at.Add(1), "", "the subject of the certificate must have a name of 1 to 255 printable ASCII characters"},
		"line end":       {pkix.Name{CommonName: "a\nb"}, clock.at.Add(1), "", "the subject of the certificate must have a name of 1 to 255 printable ASCII characters"},
		"ended":          {pkix.Name{CommonName: "a"}, clock.at.Add(-1), "", "the certificate has expired"},
	} {
		grant, err := gate.Certificate([]*x509.Certificate{{Subject: c.subject, NotAfter: c.ends}})
		if got := reasonOf(t, err); got != c.reason {
			t.Errorf("%s: got the reason %q, want %q", name, got, c.reason)
		}
		if err == nil && (grant.String() != c.want || grant.Scopes != Read) {
			t.Errorf("%s: got %s with %s, want %s", name, grant, grant.Scopes, c.want)
		}
	}
	if _, err := (&Gate{}).Certificate([]*x509.Certificate{{}}); reasonOf(t, err) == "" {
		t.Error("without certificates: got no error")
	}
}
