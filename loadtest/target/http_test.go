package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/models"
)

func name(s string) *string { return &s }

func employee(id int64) *models.Employee {
	d, err := models.ParseDate("2020-02-29")
	if err != nil {
		panic(err)
	}
	return &models.Employee{ID: id, First: name(`A"da`), Last: name("Løve"), City: name("Oslo"), Started: &d, Ended: &d, Department: 2}
}

// recorded is a server that keeps what came, and answers as NullGateway.
type recorded struct {
	NullGateway
	t        *testing.T
	requests []string
}

func (s *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	line := fmt.Sprintf("%s %s %s|%s|%s %s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Backend"), r.Header.Get("Content-Type"), r.Header.Get("Prefer"), body)
	s.requests = append(s.requests, strings.TrimSpace(line))
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.NullGateway.ServeHTTP(w, r)
}

func session(t *testing.T, address, backend string) Session {
	t.Helper()
	h, err := NewHTTP(address, backend, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestHTTP_SaysWhatTheContractWants(t *testing.T) {
	server := &recorded{t: t}
	web := httptest.NewServer(server)
	defer web.Close()
	s := session(t, web.URL, "ndb")
	ctx := t.Context()
	var read models.Employee
	_, listErr := s.List(ctx, "Løkken & co", 7)
	_, rowsErr := s.(Ranges).Rows(ctx, 5, 9, 10)
	for i, err := range []error{
		s.Insert(ctx, employee(7)), s.Select(ctx, 7, nil), s.Select(ctx, 7, &read), s.Update(ctx, 7, "F", "L"), s.Delete(ctx, 7), listErr, rowsErr,
		s.(Batches).InsertAll(ctx, []models.Employee{{ID: 1, Department: 1}, {ID: 2, First: name("x"), Department: 1}}), s.(Batches).DeleteAny(ctx, []int64{1, 2}),
	} {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if read.ID != 7 || *read.First != "F7" {
		t.Errorf("got %+v", read)
	}
	want := []string{
		`GET /v1/employees?city=L%C3%B8kken+%26+co&page_size=7 ndb||`,
		`GET /v1/employees?fields=id%2Cfirst%2Clast&filter=id+%3E%3D+5+AND+id+%3C%3D+9&page_size=10 ndb||`,
		`POST /v1/employees ndb|application/json|return=minimal {"id":7,"first":"A\"da","last":"Løve","city":"Oslo","started":"2020-02-29","ended":"2020-02-29","department":2}`,
		`GET /v1/employees/7 ndb||`,
		`GET /v1/employees/7 ndb||`,
		`PATCH /v1/employees/7 ndb|application/merge-patch+json|return=minimal {"first":"F","last":"L"}`,
		`DELETE /v1/employees/7 ndb||`,
		`POST /v1/employees:batchCreate ndb|application/json|return=minimal {"employees":[{"id":1,"department":1},{"id":2,"first":"x","department":1}]}`,
		`POST /v1/employees:batchDelete ndb|application/json|return=minimal {"partial":true,"ids":[1,2]}`,
	}
	for i := range max(len(want), len(server.requests)) {
		if i >= len(want) || i >= len(server.requests) || server.requests[i] != want[i] {
			t.Errorf("request %d: got %q, want %q", i, server.requests[i], want[i])
		}
	}
}

func TestHTTP_ErrorsHaveKinds(t *testing.T) {
	status, body := 0, ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer web.Close()
	s := session(t, web.URL, "")
	for _, c := range []struct {
		status int
		body   string
		kind   string
		down   bool
	}{
		{404, `{"code":"not_found","detail":"no employee"}`, NotFound, false},
		{409, `{"code":"already_exists"}`, Conflict, false},
		{503, `{"code":"unavailable","detail":"no road"}`, Unavailable, true},
		{504, `{"code":"outcome_unknown"}`, UnknownOutcome, false},
		{502, "<html>", "status_502", false},
		{200, "not JSON", Protocol, false},
		{200, `{"id":8,"first":null}`, Protocol, false},
	} {
		status, body = c.status, c.body
		err := s.Select(t.Context(), 7, nil)
		if Kind(err) != c.kind || IsDown(err) != c.down {
			t.Errorf("%d %s: got %v, want the kind %s", c.status, c.body, err, c.kind)
		}
	}
	status, body = 200, `{"first":null,"id":7}` // another order is fine
	if err := s.Select(t.Context(), 7, nil); err != nil {
		t.Error(err)
	}
}

// answering is a server that answers each connection with a text.
func answering(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() { // ends with the listener
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			reader := bufio.NewReader(c)
			for {
				line, err := reader.ReadString('\n')
				if err != nil || line == "\r\n" {
					break
				}
			}
			_, _ = io.WriteString(c, text)
			c.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

func TestHTTP_ReadsAllFormsOfAnswers(t *testing.T) {
	const row = `{"id":7,"x":1}`
	for name, text := range map[string]string{
		"length":         "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + row,
		"bare newlines":  "HTTP/1.1 200 OK\nContent-Length: 14\n\n" + row,
		"no reason":      "HTTP/1.1 200\r\ncontent-LENGTH:14\r\n\r\n" + row,
		"chunks":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\n{\"id\r\nA\r\n\":7,\"x\":1}\r\n0\r\nTrailer: x\r\n\r\n",
		"until the end":  "HTTP/1.0 200 OK\r\n\r\n" + row,
		"after continue": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + row,
		"close":          "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 14\r\n\r\n" + row,
	} {
		if err := session(t, answering(t, text), "").Select(t.Context(), 7, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHTTP_RefusesWhatIsNoAnswer(t *testing.T) {
	const whole = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + `{"id":7,"x":1}`
	for n := range len(whole) {
		if err := session(t, answering(t, whole[:n]), "").Select(t.Context(), 7, nil); err == nil {
			t.Errorf("the first %d bytes were taken for an answer", n)
		}
	}
	for name, text := range map[string]string{
		"SSH":             "SSH-2.0-OpenSSH\r\n",
		"no status":       "HTTP/1.1 OK\r\n\r\n",
		"long line":       "HTTP/1.1 200 " + strings.Repeat("x", 2*maxLine),
		"negative length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"huge length":     "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
		"coding":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"header":          "HTTP/1.1 200 OK\r\nx\r\n\r\n",
		"chunk length":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"chunk end":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}}\r\n",
	} {
		if err := session(t, answering(t, text), "").Select(t.Context(), 7, nil); Kind(err) != Protocol {
			t.Errorf("%s: got %v, want a protocol error", name, err)
		}
	}
}

func TestHTTP_ContextThatEndsAfterItsCall_HarmsNoOther(t *testing.T) {
	web := httptest.NewServer(&NullGateway{})
	defer web.Close()
	s := session(t, web.URL, "")
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Select(ctx, 7, nil)
		cancel()
		if err = errors.Join(err, s.Select(t.Context(), 7, nil)); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

func TestHTTP_ConnectsAgain(t *testing.T) {
	s := session(t, answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n"+`{"id":7,"x":1}`), "")
	lost := 0
	for range 6 { // the server closes after each answer, without saying so
		if err := s.Select(t.Context(), 7, nil); err != nil {
			if Kind(err) != Connection {
				t.Error(err)
			}
			lost++
		}
	}
	if lost > 3 {
		t.Errorf("%d of 6 calls failed: each should be on a new connection, or lose an old one", lost)
	}
}

func TestHTTP_NobodyListens_IsAConnectionError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	listener.Close()
	if err := session(t, address, "").Select(t.Context(), 7, nil); Kind(err) != Connection || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	if _, err := describe(t, address, nil); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}

func TestHTTP_SilentServer_EndsByTimeoutAndByContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &HTTP{URL: &url.URL{Scheme: "http", Host: "x"}, Timeout: 3 * time.Second, Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, server) }() // ends with the connection
			return client, nil
		}}
		s, err := h.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		began := time.Now()
		if err := s.Select(t.Context(), 7, nil); Kind(err) != Timeout || time.Since(began) != 3*time.Second {
			t.Errorf("got %v after %v, want a timeout after 3 s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		if err := s.Select(ctx, 7, nil); err == nil || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want the end of the context after 1 s", err, time.Since(began))
		}
		if err := s.Select(ctx, 7, nil); err == nil {
			t.Error("a context that has ended was not looked at")
		}
	})
}

func TestNewHTTP_RefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:8080", "ftp://x", "http://", "http://x/v1", "http://u:p@x", "http://x?y", "http://[::1"} {
		if _, err := NewHTTP(address, "", time.Second); err == nil {
			t.Errorf("%q: got no error", address)
		}
	}
	if _, err := NewHTTP("http://127.0.0.1:8080/", "ndb", time.Second); err != nil {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	backends := `{"backends":[{"name":"ndb","state":"up","nodes":[{"address":"127.0.0.1:1186"}]},{"name":"sql","state":"down","reason":"refused"}]}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/backends" {
			fmt.Fprint(w, backends)
			return
		}
		http.NotFound(w, r)
	}))
	defer web.Close()
	d, err := describe(t, web.URL, []string{"ndb"})
	if err != nil || d.Connectstring != "127.0.0.1:1186" || d.Cluster != nil {
		t.Errorf("got %+v, %v", d, err)
	}
	for _, c := range []struct{ backend, want string }{{"sql", "backend sql is down: refused"}, {"mongo", "has no backend mongo; it has ndb, sql"}} {
		if _, err := describe(t, web.URL, []string{c.backend}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.backend, err, c.want)
		}
	}
	backends = "hello"
	if _, err := describe(t, web.URL, nil); err == nil || !strings.Contains(err.Error(), "is no gateway") {
		t.Errorf("got %v", err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 404 x\nA: b\n\nrest"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := conn{reader: bufio.NewReaderSize(strings.NewReader(string(text)), maxLine)}
		err := c.readAnswer()
		if err == nil && (c.answer.status < 200 || len(c.answer.body) > len(text)) {
			t.Errorf("got status %d and %d bytes out of %d", c.answer.status, len(c.answer.body), len(text))
		}
		var wrong *protocolError
		if err != nil && !errors.As(err, &wrong) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
}

func describe(t *testing.T, address string, wanted []string) (*Description, error) {
	t.Helper()
	h, err := NewHTTP(address, "", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return h.Describe(t.Context(), wanted)
}
