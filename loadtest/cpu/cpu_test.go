package cpu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"mysqld 51=pid:42", "mysqld=name:mysqld", "gateway=http://127.0.0.1:9090/metrics", "x=https://h/metrics"} {
		s, err := Parse(text)
		name, _, _ := strings.Cut(text, "=")
		if err != nil || s.Name() != name {
			t.Errorf("%s: got %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "x", "=pid:1", "x=", "x=pid:", "x=pid:0", "x=pid:-3", "x=pid:y", "x=name:", "x=file:///etc", "x=1"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, s)
		}
	}
}

func TestRoleOf(t *testing.T) {
	for name, want := range map[string]Role{"data node 2": Data, "mysqld 51": SQL, "mysqld (4711)": SQL, "gateway": Gateway, "generator": Generator, "redis": None} {
		if got := RoleOf(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if !Data.IsDatabase() || !SQL.IsDatabase() || Gateway.IsDatabase() || Generator.IsDatabase() {
		t.Error("data nodes and mysqlds are the database, and no others")
	}
}

func TestMetrics_ReadsTheProcessTime(t *testing.T) {
	text := "# HELP x\nprocess_cpu_seconds_total_other 9\nprocess_cpu_seconds_total 12.5\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	defer server.Close()
	m := &metrics{name: "gateway", url: server.URL}
	if got, err := m.Seconds(t.Context()); got != 12.5 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	text = "nothing\n"
	if _, err := m.Seconds(t.Context()); !errors.Is(err, errNoMetric) {
		t.Errorf("got %v", err)
	}
}

// scripted gives one reading after the other; a negative one is an error.
type scripted struct {
	readings []float64
}

func (s *scripted) Name() string { return "mysqld" }

func (s *scripted) Seconds(context.Context) (float64, error) {
	now := s.readings[0]
	s.readings = s.readings[1:]
	if now < 0 {
		return 0, errors.New("gone")
	}
	return now, nil
}

func TestMeter_TellsDifferences_OverRestarts(t *testing.T) {
	m := NewMeter([]Source{&scripted{[]float64{10, 12.5, 1, -1, 4, 6}}})
	m.Read(t.Context())
	for i, want := range []struct {
		seconds float64
		known   bool
	}{{2.5, true}, {1, true}, {0, false}, {0, false}, {2, true}} {
		uses, _ := m.Read(t.Context())
		if uses[0].Seconds != want.seconds || (uses[0].Err == nil) != want.known {
			t.Errorf("reading %d: got %+v, want %+v", i, uses[0], want)
		}
	}
}
