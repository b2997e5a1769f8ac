package program

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate"
	"github.com/ndbgate/ndbgate/internal/docstest"
	"github.com/ndbgate/ndbgate/store/memstore"
)

type limitView struct {
	Name, Unit, Backend, Setting, Code string
	Value                              float64
}

// limitsOf asks a gateway over both roads for its limits.
func limitsOf(t *testing.T, args ...string) []limitView {
	t.Helper()
	s := serveInTest(t, opens(road{name: ndbName, backend: &memstore.Store{}}, road{name: sqlName, backend: &memstore.Store{}}), args...)
	status, body := mustGet(t, s.public+"/v1/limits")
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, body)
	}
	var list struct{ Limits []limitView }
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	return list.Limits
}

func TestLimits_NameSettingsThatAreThere(t *testing.T) {
	got, named := map[string]float64{}, map[string]bool{}
	for _, l := range limitsOf(t, "--rate-limit=100", "--max-connections=321", "--max-streams=7", "--max-items=1234", "--max-comparisons=5", "--max-in-flight=9") {
		got[l.Name] = l.Value
		named[l.Setting] = true
		if l.Setting != "" && findSetting(l.Setting) == nil {
			t.Errorf("%s: there is no setting %s", l.Name, l.Setting)
		}
	}
	for name, want := range map[string]float64{
		"client_rate": 100, "client_burst": 100, "connections": 321, "streams": 7, "items_in_work": 1234, "comparisons": 5, "in_flight": 9, "request_time": 10, "body_time": 17,
	} {
		if got[name] != want {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
	for _, setting := range settings {
		if setting.topic == limitsTopic && setting.name != "trusted-proxies" && !named[setting.name] {
			t.Errorf("no limit names the setting %s", setting.name)
		}
	}
}

// limitRow is a line of the table of names in openapi.yaml.
var limitRow = regexp.MustCompile("(?m)^ +\\| `([a-z_0-9]+)` \\| (.+) \\|$")

func TestDocs_Limits(t *testing.T) {
	what := map[string]string{}
	for _, row := range limitRow.FindAllStringSubmatch(string(ndbgate.OpenAPI), -1) {
		what[row[1]] = row[2]
	}
	var b strings.Builder
	b.WriteString("| limit | what | by default | setting | beyond |\n| --- | --- | --- | --- | --- |\n")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	for _, l := range limitsOf(t, "--rate-limit=100") {
		if what[l.Name] == "" {
			t.Errorf("openapi.yaml does not say what the limit %s is", l.Name)
		}
		value, setting := fmt.Sprintf("%.0f %s", l.Value, l.Unit), l.Setting
		switch l.Name {
		case "client_rate", "client_burst":
			value = "none"
		case "connections": // fewer where the process may not open so many files
			value = findSetting(l.Setting).fallback + " " + l.Unit
		}
		if setting != "" {
			setting = "--" + setting
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", strings.TrimSpace(l.Name+" "+l.Backend), docstest.Cell(what[l.Name]), value, code(setting), code(l.Code))
	}
	docstest.Part(t, 3, "limits.md", "limits", b.String())
}

func TestServe_RateLimit(t *testing.T) {
	s := serveInTest(t, opens(road{name: sqlName, backend: &memstore.Store{}}), "--rate-limit=1")
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if status, body := mustGet(t, s.public+"/v1/backends"); status != want {
			t.Errorf("got %d %s, want %d", status, body, want)
		}
	}
	if status, _ := mustGet(t, s.admin+"/readyz"); status != http.StatusOK {
		t.Errorf("readyz: got %d", status)
	}
}

func TestServe_OneConnectionTooMany_WaitsForTheEndOfAnother(t *testing.T) {
	s := serveInTest(t, opens(road{name: sqlName, backend: &memstore.Store{}}), "--max-connections=1")
	first, second := dial(t, s), dial(t, s)
	if err := askOnce(first); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(second, "GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_, metrics := mustGet(t, s.admin+"/metrics")
	for _, want := range []string{"\nndbgate_connections 1\n", "\nndbgate_connections_max 1\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	first.Close()
	if answer, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the second client: got %v, %v", answer, err)
	}
}

func dial(t *testing.T, s *serving) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.public, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestFittingConnections(t *testing.T) {
	cfg := Config{MaxConnections: 16384, SQLDSNs: []string{"a", "b"}, SQLMaxOpenConns: 64}
	for _, test := range []struct {
		descriptors uint64
		want        int
	}{{1 << 20, 16384}, {^uint64(0), 16384}, {1024, 640}, {10, 1}} {
		if got := cfg.fittingConnections(test.descriptors); got != test.want {
			t.Errorf("%d open files: got %d connections, want %d", test.descriptors, got, test.want)
		}
	}
}

func TestMaxInFlight_FollowsThePools(t *testing.T) {
	cfg := Config{NDBMaxTransactions: 10, SQLDSNs: []string{"a", "b"}, SQLMaxOpenConns: 5}
	if got := cfg.maxInFlight(); got[ndbName] != 80 || got[sqlName] != 80 {
		t.Errorf("got %v, want 80 for both", got)
	}
	cfg.MaxInFlight = 7
	if got := cfg.maxInFlight(); got[ndbName] != 7 || got[sqlName] != 7 {
		t.Errorf("got %v, want 7 for both", got)
	}
}
