package api

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store/memstore"
)

// What is no request of HTTP gets an answer of net/http, which is no problem, and
// never comes to the handler.
func TestUnreadableRequests_GetAnAnswerAndNothingElse(t *testing.T) {
	const get, host = "GET /v1/employees HTTP/1.1\r\n", "Host: x\r\n"
	f := newFront(t)
	for _, c := range []struct {
		name, raw string
		status    int
	}{
		{"no HTTP", "hello\r\n\r\n", 400},
		{"no path", "GET HTTP/1.1\r\n" + host + "\r\n", 400},
		{"path without a slash", "GET v1/employees HTTP/1.1\r\n" + host + "\r\n", 400},
		{"wrong escape in the path", "GET /v1/employees/%zz HTTP/1.1\r\n" + host + "\r\n", 400},
		{"space in the path", "GET /v1/employees /1 HTTP/1.1\r\n" + host + "\r\n", 400},
		{"method that is no word", "G(T / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"unknown version", "GET / HTTP/3.0\r\n" + host + "\r\n", 505},
		{"version that is none", "GET / HTTP/x\r\n" + host + "\r\n", 400},
		{"no host", get + "\r\n", 400},
		{"two hosts", get + host + host + "\r\n", 400},
		{"host that is none", get + "Host: a b\r\n\r\n", 400},
		{"space before the colon", get + host + "X-Backend : ndb\r\n\r\n", 400},
		{"header without a colon", get + host + "X-Backend\r\n\r\n", 400},
		{"NUL in a header", get + host + "X-Backend: n\x00db\r\n\r\n", 400},
		{"name that is no token", get + host + "X(Backend): ndb\r\n\r\n", 400},
		{"two lengths", get + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
		{"negative length", get + host + "Content-Length: -1\r\n\r\n", 400},
		{"length that is no number", get + host + "Content-Length: ten\r\n\r\n", 400},
		{"unknown transfer encoding", get + host + "Transfer-Encoding: gzip\r\n\r\n", 501},
		{"headers far too large", get + host + "X-A: " + strings.Repeat("a", 2*MaxRequestHeadBytes) + "\r\n\r\n", 431},
		{"line far too long", "GET /" + strings.Repeat("a", 2*MaxRequestHeadBytes) + " HTTP/1.1\r\n" + host + "\r\n", 431},
		{"unknown expectation", get + host + "Expect: much\r\n\r\n", 417},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, out := f.send([]byte(c.raw))
			answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), nil)
			if err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != c.status || !answer.Close {
				t.Errorf("got %d %q, %v; want %d and the end of the connection", answer.StatusCode, body, err, c.status)
			}
			if len(conn.calls) > 0 {
				t.Errorf("the handler got %v", conn.calls)
			}
		})
	}
}

// A request whose length is told twice must not hide another one.
func TestSmuggledRequest_IsNotDone(t *testing.T) {
	f := newFront(t)
	*f.rows = memstore.Store{}
	const hidden = "PUT /v1/employees/7 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	for _, raw := range []string{
		"POST /v1/employees:batchGet HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 200\r\n\r\n" + hidden,
		"POST /v1/employees:batchGet HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden,
		"POST /v1/employees:batchGet HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" + hidden,
		"GET /v1/employees HTTP/1.1\r\nHost: x\r\nContent-Length: +96\r\n\r\n" + hidden,
	} {
		if _, out := f.send([]byte(raw)); bytes.Count(out, []byte("HTTP/1.1 ")) != 1 {
			t.Errorf("%q: got %q, want one answer", raw, out)
		}
	}
	if _, err := f.rows.Get(t.Context(), 7); err == nil {
		t.Error("the hidden request was done")
	}
}
