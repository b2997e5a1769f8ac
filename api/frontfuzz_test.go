package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// front is the whole handler behind a real net/http server that is fed with bytes.
type front struct {
	contract *contract
	server   *http.Server
	conns    chan net.Conn
	closed   chan struct{}
	rows     *memstore.Store
	log      lockedBuffer
}

// lockedBuffer takes what requests log, also those that end late.
type lockedBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// take returns the text and forgets it.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return b.text.String()
}

func newFront(t testing.TB) *front {
	f := &front{contract: loadContract(t), conns: make(chan net.Conn), closed: make(chan struct{}), rows: &memstore.Store{}}
	backends := store.NewRegistry("sql")
	backends.Add("sql", f.rows)
	backends.Add("ndb", f.rows)
	backends.Add("down", store.Unavailable{Reason: "it is down"})
	router := New(backends, Options{Logger: slog.New(slog.NewJSONHandler(&f.log, nil)), RateLimit: 1_000_000, StreamPatience: time.Millisecond})
	f.server = &http.Server{
		Handler:        recordCalls(router),
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ConnContext:    func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, fedConnKey{}, c) },
		MaxHeaderBytes: MaxRequestHeadBytes,

		DisableGeneralOptionsHandler: true,
	}
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(f) }() // ends with Close
	t.Cleanup(func() {
		if err := f.server.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return f
}

// Accept, Close and Addr make the front the listener of its server.
func (f *front) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

func (f *front) Close() error   { close(f.closed); return nil }
func (f *front) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// fedConn is a connection whose client has sent all that it sends.
type fedConn struct {
	in    *bytes.Reader
	calls []fedCall     // by the goroutine of the connection
	done  chan struct{} // closed when all answers are in out
	once  sync.Once

	mu  sync.Mutex // guards out
	out bytes.Buffer
}

// fedCall is a request that came to the handler.
type fedCall struct{ method, route string }

type fedConnKey struct{}

func (c *fedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

func (c *fedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(p)
}

// CloseWrite is what net/http calls half a second before Close where it has not read
// all that the client sent.
func (c *fedConn) CloseWrite() error { return c.Close() }

func (c *fedConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// The rest makes it a net.Conn; deadlines cannot pass.
func (c *fedConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (c *fedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1024} }
func (c *fedConn) SetDeadline(time.Time) error      { return nil }
func (c *fedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *fedConn) SetWriteDeadline(time.Time) error { return nil }

// recordCalls notes in the connection what became of each request.
func recordCalls(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routing := chi.NewRouteContext()
		routing.Routes = router.(chi.Routes)
		defer func() {
			c := r.Context().Value(fedConnKey{}).(*fedConn)
			c.calls = append(c.calls, fedCall{r.Method, routing.RoutePattern()})
		}()
		router.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, routing)))
	})
}

// feed sends raw bytes as one client and checks all answers.
func (f *front) feed(t *testing.T, raw []byte) {
	contract := *f.contract
	contract.t = t
	*f.rows = memstore.Store{}
	ada := models.NewEmployee()
	ada.ID = 1
	if err := f.rows.Create(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	c, out := f.send(raw)

	log := f.log.take()
	if strings.Contains(log, `"msg":"panic"`) {
		t.Fatalf("log: %s", log)
	}
	answers := bufio.NewReader(bytes.NewReader(out))
	for i := 0; ; i++ {
		if _, err := answers.Peek(1); err == io.EOF {
			break
		}
		var call fedCall // of an answer that net/http gave itself
		if i < len(c.calls) {
			call = c.calls[i]
		}
		answer := nextAnswer(t, answers, call.method, out)
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatalf("answer %d: %v in %q", i, err, out)
		}
		checkFed(t, &contract, call, answer, body, log)
	}
}

// send sends raw bytes over a connection of their own, and returns all that came.
func (f *front) send(raw []byte) (c *fedConn, out []byte) {
	c = &fedConn{in: bytes.NewReader(raw), done: make(chan struct{})}
	f.conns <- c
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, bytes.Clone(c.out.Bytes())
}

// nextAnswer reads the next final answer.
func nextAnswer(t *testing.T, answers *bufio.Reader, method string, out []byte) *http.Response {
	for {
		answer, err := http.ReadResponse(answers, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		if answer.StatusCode != http.StatusContinue {
			return answer
		}
	}
}

// checkFed checks one answer by the contract.
func checkFed(t *testing.T, c *contract, call fedCall, answer *http.Response, body []byte, log string) {
	status := answer.StatusCode
	switch {
	case call.method == "":
		// The request could not be read; see
		// TestUnreadableRequests_GetAnAnswerAndNothingElse.
		if status < 400 || status == http.StatusInternalServerError {
			t.Fatalf("unreadable request: got %d %s", status, body)
		}
		return
	case status == http.StatusInternalServerError:
		t.Fatalf("%v: got %d %s; log %s", call, status, body, log)
	case strings.HasPrefix(call.route, "/docs") || call.route == "/":
		if status >= 500 {
			t.Fatalf("%v: got %d %s", call, status, body)
		}
		return
	}
	method := strings.ToLower(call.method)
	if method == "head" {
		method = "get"
	}
	response := c.at("paths", call.route, method, "responses", strconv.Itoa(status))
	known := c.at("paths", call.route, method).exists()
	if known && !response.exists() {
		t.Fatalf("%v: openapi.yaml has no answer %d; body %s", call, status, body)
	}
	if !known && status < 400 {
		t.Fatalf("%v: got %d", call, status)
	}
	checkFedHeaders(t, response, call, answer.Header)
	if call.method == http.MethodHead || len(body) == 0 && status < 400 {
		return
	}
	schema := response.at("content", answer.Header.Get("Content-Type"), "schema")
	if !known {
		schema = c.at("components", "schemas", "Problem")
	}
	checkFedBody(t, call, schema, answer, body)
}

func checkFedHeaders(t *testing.T, response place, call fedCall, got http.Header) {
	if got.Get("X-Request-Id") == "" {
		t.Fatalf("%v: no X-Request-Id in %v", call, got)
	}
	for name, header := range response.at("headers").members() {
		values := got.Values(name)
		if len(values) == 0 {
			if header.at("required").value == true {
				t.Fatalf("%v: header %s is missing in %v", call, name, got)
			}
			continue
		}
		if err := header.at("schema").validateText(values[0]); err != nil || len(values) > 1 {
			t.Fatalf("%v: header %s: got %q: %v", call, name, values, err)
		}
	}
}

func checkFedBody(t *testing.T, call fedCall, schema place, answer *http.Response, body []byte) {
	mediaType := answer.Header.Get("Content-Type")
	if answer.StatusCode >= 400 && mediaType != "application/problem+json" {
		t.Fatalf("%v: got %d as %s: %s", call, answer.StatusCode, mediaType, body)
	}
	if !schema.exists() && !strings.HasPrefix(mediaType, csvType) {
		t.Fatalf("%v: openapi.yaml has no %s for %d", call, mediaType, answer.StatusCode)
	}
	if answer.Header.Get("Content-Encoding") != "" || !strings.HasSuffix(mediaType, "json") {
		return // compressed, CSV or YAML
	}
	lines := [][]byte{body}
	if mediaType == ndjsonType {
		lines, schema = bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n")), schema.at("x-line")
	}
	for _, line := range lines {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatalf("%v: %v in %q", call, err, line)
		}
		if err := schema.validate(value); err != nil {
			t.Fatalf("%v: %v in %s", call, err, line)
		}
	}
	if answer.StatusCode < 400 {
		return
	}
	var p problemView
	if err := json.Unmarshal(body, &p); err != nil || p.Status != answer.StatusCode || p.RequestID != answer.Header.Get("X-Request-Id") || codes[code(p.Code)].status != p.Status {
		t.Fatalf("%v: got %d with %s: %v", call, answer.StatusCode, body, err)
	}
}

// FuzzFrontBytes: whatever bytes a client sends, each answer is one of HTTP and, but
// for those that net/http gives itself, as openapi.yaml has it; none is a failure of
// the gateway.
func FuzzFrontBytes(f *testing.F) {
	for _, raw := range []string{
		"GET /v1/employees/1 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/employees?filter=city%20%3D%20%22a*%22&order_by=city%20desc&page_size=2&fields=id,city&count=true HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/employees?filter=in(id,1,2)%20AND%20NOT%20(started%3E2020-01-01%20OR%20first:*)&explain=true HTTP/1.1\r\nHost: x\r\nX-Backend: ndb\r\n\r\n",
		"HEAD /v1/employees/2 HTTP/1.0\r\nX-Backend: down\r\n\r\n",
		"POST /v1/employees HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"id\":2\r\n1\r\n}\r\n0\r\n\r\nGET /v1/limits HTTP/1.1\r\nHost: x\r\n\r\n",
		"PUT /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIf-Match: \"a\", W/\"b\"\r\nPrefer: return=minimal\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
		"PATCH /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/merge-patch+json;charset=utf-8\r\nX-Durability: memory\r\nContent-Length: 13\r\n\r\n{\"city\":null}DELETE /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n",
		"POST /v1/employees:batchCreate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 34\r\n\r\n{\"employees\":[{},{}],\"partial\":true}",
		"POST /v1/employees:batchGet HTTP/1.1\r\nHost: x\r\nX-Backend-Compare: ndb\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ids\":[1]}",
		"POST /v1/employees:import?on_conflict=skip&on_error=continue HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 17\r\n\r\nid,first\n3,a\n4,b\n",
		"GET /v1/employees:export?summary=true HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\nAccept-Encoding: gzip\r\n\r\n",
		"BREW /v1/employees/%31 HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\r\n\r\n",
		"GET /v1/employees?%ff=1 HTTP/1.1\r\nHost: x\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET http://y/v1/cluster HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n\r\n",
	} {
		f.Add([]byte(raw))
	}
	front := newFront(f)
	f.Fuzz(func(t *testing.T, raw []byte) { front.feed(t, raw) })
}

// fedPaths, fedMethods and fedHeaders are what FuzzFrontRequest puts together.
var (
	fedMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
	fedPaths   = []string{
		"/v1/employees", "/v1/employees/1", "/v1/employees/", "/v1/employees:batchGet", "/v1/employees:batchCreate", "/v1/employees:batchUpdate",
		"/v1/employees:batchDelete", "/v1/employees:import", "/v1/employees:export", "/v1/backends", "/v1/cluster", "/v1/limits", "/openapi.yaml", "/docs/", "/",
	}
	fedHeaders = []string{
		"Content-Type: application/json", "Content-Type: application/x-ndjson", "Content-Type: text/csv", "X-Backend: ndb", "X-Backend: ", "X-Backend-Compare: ndb",
		"X-Durability: ", "Idempotency-Key: ", "If-Match: ", "If-None-Match: ", "Prefer: ", "Accept: ", "Accept-Encoding: ", "Content-Encoding: ", "X-Request-Id: ", "Range: ",
	}
)

// FuzzFrontRequest is FuzzFrontBytes with requests that can be read, which get
// further: a value stands behind each chosen header that has none.
func FuzzFrontRequest(f *testing.F) {
	for _, seed := range []struct {
		method, path byte
		tail         string
		headers      uint16
		value, body  string
	}{
		{0, 0, "?filter=city%3Da&page_size=1&count=true", 1 << 4, "sql", ""},
		{1, 0, "", 1<<0 | 1<<7, "key", `{"first":"Ada","started":"2020-01-02"}`},
		{2, 1, "", 1<<0 | 1<<8, `"x"`, `{"id":1,"department":2}`},
		{3, 1, "", 1<<0 | 1<<10, "return=minimal", `{"city":null}`},
		{4, 2, "7", 1 << 6, "memory", ""},
		{1, 3, "", 1<<0 | 1<<5, "", `{"ids":[1,9],"partial":true}`},
		{1, 4, "", 1 << 0, "", `{"employees":[{"id":5},{"first":"B"}],"chunk":1}`},
		{1, 5, "", 1 << 0, "", `{"updates":[{"id":1,"last":"C"}]}`},
		{1, 6, "", 1 << 0, "", `{"ids":[1]}`},
		{1, 7, "?on_error=continue&max_errors=1", 1 << 1, "", "{\"id\":8}\n{\"id\":8}\n\n{"},
		{1, 7, "?on_conflict=replace", 1<<2 | 1<<13, "identity", "id,first\n1,\"a\"\n"},
		{0, 8, "?filter=id%3E0", 1<<11 | 1<<12, "text/csv, gzip", ""},
		{0, 12, "", 1 << 9, "*", ""},
	} {
		f.Add(seed.method, seed.path, seed.tail, seed.headers, seed.value, []byte(seed.body))
	}
	front := newFront(f)
	f.Fuzz(func(t *testing.T, method, path byte, tail string, headers uint16, value string, body []byte) {
		var raw bytes.Buffer
		target := fedPaths[int(path)%len(fedPaths)] + strings.NewReplacer(" ", "%20", "\r", "%0D", "\n", "%0A").Replace(tail)
		fmt.Fprintf(&raw, "%s %s HTTP/1.1\r\nHost: x\r\n", fedMethods[int(method)%len(fedMethods)], target)
		for i, header := range fedHeaders {
			if headers&(1<<i) == 0 {
				continue
			}
			if strings.HasSuffix(header, " ") {
				header += strings.NewReplacer("\r", "", "\n", "").Replace(value)
			}
			raw.WriteString(header + "\r\n")
		}
		fmt.Fprintf(&raw, "Content-Length: %d\r\n\r\n%s", len(body), body)
		front.feed(t, raw.Bytes())
	})
}
