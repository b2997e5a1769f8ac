package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// serveShort starts a real server whose requests may take 200 ms.
func serveShort(t *testing.T) *httptest.Server {
	t.Helper()
	backends := store.NewRegistry("sql")
	backends.Add("sql", &memstore.Store{})
	server := httptest.NewServer(New(backends, Options{RequestTimeout: 200 * time.Millisecond}))
	t.Cleanup(server.Close)
	return server
}

// talk sends raw bytes over one connection; then, with halfClose, it ends its
// sending side. It returns the statuses and bodies of all answers.
func talk(t *testing.T, server *httptest.Server, raw string, answers int, halfClose bool) []string {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	if halfClose {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for r := bufio.NewReader(conn); len(got) < answers; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", len(got)+1, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s", resp.StatusCode, body))
	}
	return got
}

func TestHalfClosedClient_GetsItsAnswer(t *testing.T) {
	server := serveShort(t)
	const get = "GET /v1/employees/1 HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, got := range talk(t, server, get+get+get, 3, true) {
		if !strings.HasPrefix(got, "404 ") || !strings.Contains(got, "not_found") {
			t.Errorf("got %s", got)
		}
	}
	cut := "PUT /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
	if got := talk(t, server, cut, 1, true)[0]; !strings.Contains(got, "malformed_json") {
		t.Errorf("body cut off: got %s", got)
	}
}

func TestSlowBody_Is408AtTheDeadline(t *testing.T) {
	server := serveShort(t)
	for name, raw := range map[string]string{
		"announced": "PUT /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
		"chunked":   "PUT /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
	} {
		if got := talk(t, server, raw, 1, false)[0]; !strings.HasPrefix(got, "408 ") || !strings.Contains(got, "body_timeout") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestUnreadBody_DoesNotHoldTheAnswerBack(t *testing.T) {
	server := serveShort(t)
	for _, head := range []string{"GET /v1/employees/1", "POST /nothing", "DELETE /v1/employees/1"} {
		got := talk(t, server, head+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", 1, false)[0]
		if !strings.HasPrefix(got, "404 ") {
			t.Errorf("%s: got %s", head, got)
		}
	}
}

func TestDeadlineOfABody_DoesNotOutliveItsRequest(t *testing.T) {
	server := serveShort(t)
	const put = "PUT /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	begun := time.Now()
	for n := 0; time.Since(begun) < 500*time.Millisecond; n++ { // longer than a deadline
		if _, err := io.WriteString(conn, put); err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", n, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("answer %d: got %d, %v", n, resp.StatusCode, err)
		}
	}
}
