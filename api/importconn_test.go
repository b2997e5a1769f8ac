package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// openImport is an import whose body the test writes while it runs.
type openImport struct {
	t    *testing.T
	body *io.PipeWriter
	resp chan *http.Response
	fail chan error
}

func (b *streamBench) openImport(query string) *openImport {
	b.t.Helper()
	from, to := io.Pipe()
	o := &openImport{t: b.t, body: to, resp: make(chan *http.Response, 1), fail: make(chan error, 1)}
	r := b.request("POST", "/v1/employees:import"+query, from, "Content-Type: "+ndjsonType)
	go func() { // ends with the answer
		resp, err := b.server.Client().Do(r)
		if err != nil {
			o.fail <- err
			return
		}
		o.resp <- resp
	}()
	b.t.Cleanup(func() { _ = to.Close() }) // of a pipe it never fails
	return o
}

func (o *openImport) write(text string) {
	o.t.Helper()
	if _, err := io.WriteString(o.body, text); err != nil {
		o.t.Fatal(err)
	}
}

// answer waits until the answer begins.
func (o *openImport) answer() *http.Response {
	o.t.Helper()
	select {
	case resp := <-o.resp:
		o.t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	case err := <-o.fail:
		o.t.Fatal(err)
		return nil
	}
}

// end ends the body and returns the whole answer.
func (o *openImport) end() *importAnswer {
	o.t.Helper()
	if err := o.body.Close(); err != nil {
		o.t.Fatal(err)
	}
	return readImport(o.t, o.answer())
}

// A stream may last longer than a request, and tells of it meanwhile.
func TestImport_ProgressGoesOutWhileTheBodyComesIn(t *testing.T) {
	b := newStreamBench(t, Options{RequestTimeout: 50 * time.Millisecond})
	o := b.openImport("")
	o.write(rowsFrom(1, 100))
	lines := bufio.NewReader(o.answer().Body)
	o.write(rowsFrom(101, 100))
	var progress importLineView
	for progress.Written < 200 {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &progress); err != nil || progress.Type != "progress" || progress.Seconds < 0.9 {
			t.Fatalf("got %s, want progress", text)
		}
	}
	o.write(rowsFrom(201, 100))
	if err := o.body.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), `"complete":true,"rows":300,"written":300`) {
		t.Errorf("got %s, %v", rest, err)
	}
}

// dial opens a connection on which a test speaks HTTP by itself.
func (b *streamBench) dial() net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.server.Listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() }) // it may be closed already
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		b.t.Fatal(err)
	}
	return conn
}

const importHead = "POST /v1/employees:import?on_error=continue HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"

func readAnswer(t *testing.T, r *bufio.Reader) *importAnswer {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return readImport(t, resp)
}

// A client that reads nothing before it has sent everything is not waited for.
func TestImport_OfAClientThatReadsLate(t *testing.T) {
	b := newStreamBench(t, Options{})
	body := strings.Repeat("no JSON and a rather long line of it\n", 2*maxListedErrors) + rowsFrom(1, 1000)
	conn := b.dial()
	query := strings.Replace(importHead, "continue", "continue&max_errors=5000", 1)
	if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", query, len(body), body); err != nil {
		t.Fatal(err)
	}
	a := readAnswer(t, bufio.NewReader(conn))
	if s := a.summary(t); !s.Complete || s.Written != 1000 || s.Failed != 2*maxListedErrors || s.Unlisted != maxListedErrors {
		t.Errorf("got %+v", s)
	}
}

func TestImport_OfAClientThatClosesItsSendingSide(t *testing.T) {
	b := newStreamBench(t, Options{})
	conn := b.dial()
	body := rowsFrom(1, 2000)
	if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", importHead, len(body), body); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if s := readAnswer(t, bufio.NewReader(conn)).summary(t); !s.Complete || s.Written != 2000 {
		t.Errorf("got %+v", s)
	}
}

// What was sent of the last line is no line.
func TestImport_OfABodyThatEndsEarly(t *testing.T) {
	b := newStreamBench(t, Options{})
	conn := b.dial()
	body := rowsFrom(1, 2000) + `{"id":3000`
	if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", importHead, len(body)+1000, body); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	s := readAnswer(t, bufio.NewReader(conn)).summary(t)
	if s.Complete || s.Error.Code != "incomplete_body" || s.Written != 2000 || len(b.stored()) != 2000 {
		t.Errorf("got %+v", s)
	}
}

func TestImport_OfAClientThatAsksBeforeItSends(t *testing.T) {
	b := newStreamBench(t, Options{})
	conn := b.dial()
	body := rowsFrom(1, 20)
	if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", importHead, len(body)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("got %q, %v", line, err)
	}
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	if s := readAnswer(t, r).summary(t); !s.Complete || s.Written != 20 {
		t.Errorf("got %+v", s)
	}
}

// A client that is gone ends the import soon: closing the server waits for it.
func TestImport_OfAClientThatLeaves(t *testing.T) {
	began := make(chan struct{})
	var once atomic.Bool
	b, m := newMoodyBench(t, func(*models.Employee) error {
		if once.CompareAndSwap(false, true) {
			close(began)
		}
		return nil
	}, Options{})
	conn := b.dial()
	if _, err := fmt.Fprintf(conn, "%sContent-Length: 1000000000\r\n\r\n%s{\"id\":9", importHead, rowsFrom(1, 100)); err != nil {
		t.Fatal(err)
	}
	<-began
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	b.server.Close()
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the import ended after %v", took)
	}
	all, err := m.List(t.Context(), models.EmployeeQuery{Limit: 1000})
	if err != nil || len(all.Employees) != 100 {
		t.Errorf("got %d rows, %v; want those of whole lines", len(all.Employees), err)
	}
}

func TestImport_OfAClientThatStalls(t *testing.T) {
	b := newStreamBench(t, Options{StreamIdle: 50 * time.Millisecond})
	if resp := b.openImport("").answer(); resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("nothing was sent: got %d", resp.StatusCode)
	}
	b = newStreamBench(t, Options{StreamIdle: 2 * chunkDelay})
	o := b.openImport("")
	o.write(rowsFrom(1, 10))
	if s := readImport(t, o.answer()).summary(t); s.Complete || s.Error.Code != "body_timeout" || s.Written != 10 {
		t.Errorf("got %+v", s)
	}
}

func TestStreams_AreBounded(t *testing.T) {
	began := make(chan struct{}, 10)
	b, _ := newMoodyBench(t, func(*models.Employee) error { began <- struct{}{}; return nil }, Options{MaxStreams: 1})
	o := b.openImport("")
	o.write(rowsFrom(1, 1))
	<-began
	if a := b.importText("", rowsFrom(2, 1)); a.status != 503 || a.problem.Code != "too_many_streams" || a.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", a.status, a.text)
	}
	resp, err := b.server.Client().Do(b.request("GET", "/v1/employees:export", nil))
	if err != nil || resp.StatusCode != 503 {
		t.Errorf("export: got %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	if s := o.end().summary(t); !s.Complete {
		t.Errorf("got %+v", s)
	}
	if s := b.importText("", rowsFrom(3, 1)).summary(t); !s.Complete {
		t.Errorf("afterwards: got %+v", s)
	}
}

func TestImport_EndsWhenTheGatewayStops(t *testing.T) {
	began := make(chan struct{}, 1000)
	b, _ := newMoodyBench(t, func(*models.Employee) error { began <- struct{}{}; return nil }, Options{})
	o := b.openImport("")
	o.write(rowsFrom(1, 100))
	for range 100 {
		<-began
	}
	close(b.stop)
	if s := readImport(t, o.answer()).summary(t); s.Complete || s.Error.Code != "stopping" || s.Written != 100 {
		t.Errorf("got %+v", s)
	}
	if a := b.importText("", rowsFrom(200, 1)); a.status != 503 || a.problem.Code != "stopping" {
		t.Errorf("got %d %s", a.status, a.text)
	}
}

// sinkStore takes every row and keeps none.
type sinkStore struct {
	memstore.Store
	peak atomic.Uint64 // bytes of the heap in use
	n    atomic.Int64
}

func (s *sinkStore) CreateEach(_ context.Context, employees []models.Employee) []store.ItemResult {
	if s.n.Add(1)%16 == 0 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		s.peak.Store(max(s.peak.Load(), stats.HeapInuse))
	}
	return make([]store.ItemResult, len(employees))
}

// made is a body that is made while it is read.
type made struct {
	next func() string // empty: the end
	text string
}

func (m *made) Read(p []byte) (int, error) {
	if m.text == "" {
		if m.text = m.next(); m.text == "" {
			return 0, io.EOF
		}
	}
	n := copy(p, m.text)
	m.text = m.text[n:]
	return n, nil
}

func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse
}

func TestImport_TakesLittleMemoryHoweverLongItIs(t *testing.T) {
	const n, most = 50_000, 16 << 20
	padding := strings.Repeat(" ", 600)
	for name, line := range map[string]func(i int) string{
		"rows":           func(i int) string { return padding + fullRow(i) },
		"too long lines": func(i int) string { return strings.Repeat("x", 1000) + strings.Repeat("\n", 1-min(1, i%100)) },
	} {
		before := heapInUse()
		sink := &sinkStore{}
		b := newStreamBenchOver(t, sink, &sink.Store, Options{})
		i := 0
		body := &made{next: func() string {
			if i++; i > n {
				return ""
			}
			return line(i)
		}}
		s := b.importBody("?on_error=continue&max_errors=1000000", body).summary(t)
		if !s.Complete || s.Rows < n/100 {
			t.Errorf("%s: got %+v", name, s)
		}
		if peak := sink.peak.Load(); peak > before+most {
			t.Errorf("%s: got %d MiB in use, %d before", name, peak>>20, before>>20)
		}
	}
}
