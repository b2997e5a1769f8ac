package target

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/models"
)

// HTTP is a road of a gateway. Its own client takes a fifth of the processor
// time of net/http's, because load and gateway often share a machine.
type HTTP struct {
	URL     *url.URL // of the gateway, without a path
	Backend string   // for X-Backend; empty: the gateway's default
	Key     string   // API key or token, which is never shown; empty: none
	Timeout time.Duration
	// Dial opens connections; nil: a TCP dialer, with TLS for https.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewHTTP checks the address of a gateway, as in http://127.0.0.1:8080.
func NewHTTP(address, backend string, timeout time.Duration) (*HTTP, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("target %q: want a URL such as http://127.0.0.1:8080", address)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil:
		return nil, fmt.Errorf("target %q: want scheme, host and port alone", address)
	}
	return &HTTP{URL: u, Backend: backend, Timeout: timeout}, nil
}

// Open returns a session with a connection of its own, which it opens with the
// first operation.
func (h *HTTP) Open(context.Context) (Session, error) { return h.newSession(), nil }

func (h *HTTP) newSession() *httpSession {
	s := &httpSession{conn: conn{dial: h.dial, timeout: h.Timeout}}
	s.head = append(s.head, " HTTP/1.1\r\nHost: "+h.URL.Host+"\r\n"...)
	if h.Backend != "" {
		s.head = append(s.head, "X-Backend: "+h.Backend+"\r\n"...)
	}
	if h.Key != "" {
		s.head = append(s.head, "Authorization: Bearer "+h.Key+"\r\n"...)
	}
	return s
}

// Close does nothing.
func (h *HTTP) Close() error { return nil }

func (h *HTTP) dial(ctx context.Context) (net.Conn, error) {
	address := h.URL.Host
	if h.URL.Port() == "" {
		address = net.JoinHostPort(h.URL.Hostname(), h.URL.Scheme)
	}
	dial := h.Dial
	if dial == nil && h.URL.Scheme == "https" {
		dial = (&tls.Dialer{}).DialContext
	}
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return dial(ctx, "tcp", address)
}

// httpSession writes requests and reads answers over one connection.
type httpSession struct {
	conn    conn
	head    []byte // of every request, after its path
	request []byte
	body    []byte
}

const employees = "/v1/employees"

func (s *httpSession) Insert(ctx context.Context, e *models.Employee) (err error) {
	// Only text that is no UTF-8 cannot be encoded, and the caller has none.
	if s.body, err = appendEmployee(s.body[:0], e); err != nil {
		return &Error{Protocol, err}
	}
	s.begin("POST", 0)
	s.endWithBody("application/json", true)
	return s.expect(ctx, 201)
}

func (s *httpSession) Select(ctx context.Context, id int64, e *models.Employee) error {
	s.begin("GET", id)
	s.end()
	if err := s.expect(ctx, 200); err != nil {
		return err
	}
	var got models.Employee
	if e == nil {
		e = &got
		if hasID(s.conn.answer.body, id) {
			return nil
		}
	}
	if err := json.Unmarshal(s.conn.answer.body, e); err != nil {
		return &Error{Protocol, fmt.Errorf("body %.80q: %w", s.conn.answer.body, err)}
	}
	if e.ID != id {
		return &Error{Protocol, fmt.Errorf("got the row %d, want %d", e.ID, id)}
	}
	return nil
}

// hasID looks at the beginning of an employee as the gateway writes it, and
// spares decoding the rest. False leaves the question open.
func hasID(body []byte, id int64) bool {
	var want [32]byte
	prefix := append(strconv.AppendInt(append(want[:0], `{"id":`...), id, 10), ',')
	return len(body) > len(prefix) && string(body[:len(prefix)]) == string(prefix)
}

func (s *httpSession) Update(ctx context.Context, id int64, first, last string) error {
	s.body = append(s.body[:0], `{"first":`...)
	s.body, _ = jsontext.AppendQuote(s.body, first) // as in Insert
	s.body = append(s.body, `,"last":`...)
	s.body, _ = jsontext.AppendQuote(s.body, last)
	s.body = append(s.body, '}')
	s.begin("PATCH", id)
	s.endWithBody("application/merge-patch+json", true)
	return s.expect(ctx, 204)
}

func (s *httpSession) Delete(ctx context.Context, id int64) error {
	s.begin("DELETE", id)
	s.end()
	return s.expect(ctx, 204)
}

func (s *httpSession) List(ctx context.Context, city string, limit int) (int, error) {
	s.request = append(s.request[:0], "GET "+employees+"?city="...)
	s.request = append(s.request, url.QueryEscape(city)...)
	s.request = append(s.request, "&page_size="...)
	s.request = strconv.AppendInt(s.request, int64(limit), 10)
	s.request = append(s.request, s.head...)
	s.end()
	if err := s.expect(ctx, 200); err != nil {
		return 0, err
	}
	page, err := s.decodePage()
	return len(page.Employees), err
}

func (s *httpSession) Close() { s.conn.close() }

// begin starts a request; 0 is the collection.
func (s *httpSession) begin(method string, id int64) {
	s.request = append(s.request[:0], method...)
	s.request = append(s.request, " "+employees...)
	if id != 0 {
		s.request = append(s.request, '/')
		s.request = strconv.AppendInt(s.request, id, 10)
	}
	s.request = append(s.request, s.head...)
}

func (s *httpSession) end() { s.request = append(s.request, "\r\n"...) }

func (s *httpSession) endWithBody(mediaType string, minimal bool) {
	s.request = append(s.request, "Content-Type: "...)
	s.request = append(s.request, mediaType...)
	if minimal {
		s.request = append(s.request, "\r\nPrefer: return=minimal"...)
	}
	s.request = append(s.request, "\r\nContent-Length: "...)
	s.request = strconv.AppendInt(s.request, int64(len(s.body)), 10)
	s.request = append(s.request, "\r\n\r\n"...)
	s.request = append(s.request, s.body...)
}

// expect sends the request and reads the answer, which must have the status.
func (s *httpSession) expect(ctx context.Context, status int) error {
	if err := s.conn.roundTrip(ctx, s.request); err != nil {
		return err
	}
	if s.conn.answer.status == status {
		return nil
	}
	return problem(s.conn.answer.status, s.conn.answer.body)
}

// problem is an answer that was not the one hoped for.
func problem(status int, body []byte) error {
	var p struct{ Code, Detail string }
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		return &Error{"status_" + strconv.Itoa(status), fmt.Errorf("the answer has status %d and body %.80q", status, body)}
	}
	return &Error{p.Code, fmt.Errorf("status %d: %s", status, p.Detail)}
}

var errNames = errors.New("a name cannot be written as JSON")

// appendEmployee appends an employee as JSON, without members that are null.
func appendEmployee(dst []byte, e *models.Employee) ([]byte, error) {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, e.ID, 10)
	for _, text := range []struct {
		name  string
		value *string
	}{{"first", e.First}, {"last", e.Last}, {"city", e.City}} {
		if text.value == nil {
			continue
		}
		dst = append(dst, `,"`+text.name+`":`...)
		var err error
		if dst, err = jsontext.AppendQuote(dst, *text.value); err != nil {
			return dst, fmt.Errorf("%w: %w", errNames, err)
		}
	}
	for _, date := range []struct {
		name  string
		value *models.Date
	}{{"started", e.Started}, {"ended", e.Ended}} {
		if date.value == nil {
			continue
		}
		dst = append(dst, `,"`+date.name+`":"`...)
		dst, _ = date.value.AppendText(dst) // never fails
		dst = append(dst, '"')
	}
	if e.Department != 0 {
		dst = append(dst, `,"department":`...)
		dst = strconv.AppendInt(dst, int64(e.Department), 10)
	}
	return append(dst, '}'), nil
}
