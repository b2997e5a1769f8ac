package program

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A connection that is open is no way around a CA that was taken away.
func TestServe_TLS_ClientCATakenAway_EndsOpenConnections(t *testing.T) {
	c, other := newCA(t), newCA(t)
	s, _, _, caFile := serveTLS(t, c)
	client := c.client("billing")
	status := func() int {
		t.Helper()
		answer, body := askWith(t, client, "GET", s.public+"/v1/employees", "")
		if answer.StatusCode != http.StatusOK && !strings.Contains(body, `"code":"credentials_invalid"`) {
			t.Errorf("got %s", body)
		}
		return answer.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Fatalf("got %d", got)
	}
	for _, step := range []struct {
		name, cas string
		want      int
	}{
		{"another CA beside it", certPEM(other.cert) + certPEM(c.cert), http.StatusOK},
		{"another CA", certPEM(other.cert), http.StatusUnauthorized}, // a new connection would have no answer
		{"the CA is back", certPEM(c.cert), http.StatusOK},
	} {
		replace(t, caFile, step.cas)
		s.log.wait(t, "loaded")
		if got := status(); got != step.want {
			t.Errorf("%s: got %d, want %d", step.name, got, step.want)
		}
	}
	if !strings.Contains(s.log.text(), "no CA that may sign certificates of clients now has signed it") {
		t.Errorf("the log does not tell why:\n%s", s.log.text())
	}
}

func TestServe_NamedPipe_IsNoFileOfCertificates(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--tls-cert=" + pipe, "--tls-key=" + pipe}, {"--api-keys=" + pipe}} {
		r := runCommand(t, opens(rowsOnly()), append([]string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--default-backend=sql"}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, "it is a named pipe, not a regular file") {
			t.Errorf("%v: got %d %q", args, r.code, r.stderr)
		}
	}
}
