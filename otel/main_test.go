package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// asGateway in the environment makes the test binary be the program.
const asGateway = "TEST_AS_GATEWAY"

func TestMain(m *testing.M) {
	if os.Getenv(asGateway) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what comes at once where all is well.
const patience = 20 * time.Second

// employeeTable is the table as deploy/schema.sql has it.
const employeeTable = `CREATE TABLE ndbtest.employee (
	id BIGINT NOT NULL PRIMARY KEY,
	first VARCHAR(64) DEFAULT NULL,
	last VARCHAR(64) DEFAULT NULL,
	municipality VARCHAR(64) DEFAULT NULL,
	started DATE DEFAULT NULL,
	ended DATE DEFAULT NULL,
	department INT NOT NULL DEFAULT 1,
	KEY idx_municipality (municipality)
) ENGINE=NDBCLUSTER DEFAULT CHARSET=utf8mb3`

// gateway is the program as a process of its own.
type gateway struct {
	url string
	cmd *exec.Cmd
	log *log
}

// serve starts the program over a cluster in this process, with these variables,
// and returns once its native road serves.
func serve(t *testing.T, env ...string) *gateway {
	t.Helper()
	cluster := ndbtest.Run(t)
	cluster.MustCreateTable(employeeTable)
	g := &gateway{cmd: exec.Command(os.Args[0], "serve")}
	g.cmd.Env = append(os.Environ(), asGateway+"=1", "GATEWAY_LISTEN=127.0.0.1:0", "GATEWAY_ADMIN_LISTEN=127.0.0.1:0",
		"GATEWAY_SQL_DSN=", "GATEWAY_NDB_CONNECTSTRING="+cluster.Connectstring())
	g.cmd.Env = append(g.cmd.Env, env...)
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.log = readLog(stderr)
	t.Cleanup(func() { g.end(t) })
	line := g.log.wait(t, "listening")
	g.url = "http://" + line["address"].(string)
	waitReady(t, "http://"+line["admin_address"].(string)+"/readyz")
	return g
}

// client keeps no connections, which would live longer than the test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}

// waitReady asks until the native road serves.
func waitReady(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: got %s", url, response.Status)
		}
	}
}

// end stops the program, if it runs, and checks that it ends well.
func (g *gateway) end(t *testing.T) {
	t.Helper()
	if g.cmd.ProcessState != nil {
		return
	}
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	g.log.drain()
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("the gateway: %v; its log:\n%s", err, g.log.text())
	}
}

// ask sends a request, with a traceparent unless that is empty.
func (g *gateway) ask(t *testing.T, method, path, body, traceparent string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if traceparent != "" {
		r.Header.Set("Traceparent", traceparent)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: got %s", method, path, response.Status)
	}
}

func TestGateway_RequestOfATrace_SpansReachTheCollector(t *testing.T) {
	collector, spans := collect(t)
	g := serve(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")
	g.ask(t, http.MethodPut, "/v1/employees/7", `{"first":"Ada"}`, parent+"00") // not sampled
	g.ask(t, http.MethodGet, "/v1/employees/7", "", parent+"01")
	g.end(t) // long before the batch of spans would be sent by itself

	byName := map[string]sentSpan{}
	for range len(spans) {
		span := <-spans
		byName[span.Name] = span
	}
	if len(byName) != 2 {
		t.Fatalf("got spans %v, want 2", byName)
	}
	request, call := byName["GET /v1/employees/{id}"], byName["ndb read"]
	remote, _ := hex.DecodeString(parent[3:35] + parent[36:52])
	if got := append(bytes.Clone(request.TraceId), request.ParentSpanId...); !bytes.Equal(got, remote) || request.Kind != otlp.Span_SPAN_KIND_SERVER {
		t.Errorf("got the request %v, want it below %s", request.Span, parent)
	}
	if !bytes.Equal(call.TraceId, request.TraceId) || !bytes.Equal(call.ParentSpanId, request.SpanId) || call.Kind != otlp.Span_SPAN_KIND_CLIENT ||
		call.StartTimeUnixNano < request.StartTimeUnixNano || call.EndTimeUnixNano > request.EndTimeUnixNano {
		t.Errorf("got the call %v, want it within %v", call.Span, request.Span)
	}
	checkValues(t, request.attrs, map[string]any{"http.response.status_code": int64(200), "ndbgate.backend": "ndb", "http.route": "/v1/employees/{id}"})
	checkValues(t, call.attrs, map[string]any{"ndb.round_trips": int64(1), "ndb.retries": int64(0), "db.system.name": "ndb", "db.collection.name": "employee"})
	checkValues(t, request.service, map[string]any{"service.name": "ndbgate", "service.version": "dev", "deployment.environment.name": "test"})
	if node, _ := call.attrs["ndb.coordinator_node"].(int64); node < 2 || node > 3 {
		t.Errorf("got coordinator %v, want one of the two data nodes", call.attrs["ndb.coordinator_node"])
	}
	if want := `"trace_id":"` + parent[3:35] + `"`; strings.Count(g.log.text(), want) != 2 {
		t.Errorf("got the log\n%s\nwant %s in it for both requests", g.log.text(), want)
	}
}

func checkValues(t *testing.T, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: got %v, want %v", name, got[name], value)
		}
	}
}

func TestGateway_CollectorHangs_RequestsGoOnAndTheEndIsBounded(t *testing.T) {
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(release) })
	g := serve(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+hanging.URL, "OTEL_BSP_MAX_QUEUE_SIZE=2", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1")
	for i := range 50 {
		g.ask(t, http.MethodPut, fmt.Sprintf("/v1/employees/%d", i+1), `{"first":"Ada"}`, "")
	}
	begun := time.Now()
	g.end(t)
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("the end took %v", took)
	}
	if !strings.Contains(g.log.text(), `"msg":"the last spans were lost"`) {
		t.Errorf("nobody says that spans were lost:\n%s", g.log.text())
	}
}

func TestGateway_NoCollector_ServesAndSaysItOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there
	g := serve(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+l.Addr().String(), "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1")
	g.ask(t, http.MethodPut, "/v1/employees/1", `{"first":"Ada"}`, "")
	g.log.wait(t, "spans are lost")
	for range 20 {
		g.ask(t, http.MethodGet, "/v1/employees/1", "", "")
	}
	g.end(t)
	if got := strings.Count(g.log.text(), `"msg":"spans are lost"`); got != 1 {
		t.Errorf("it was said %d times, want 1:\n%s", got, g.log.text())
	}
}
