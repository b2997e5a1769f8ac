package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/ndbgate/ndbgate/api"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// described keeps the descriptions of all metrics.
type described struct {
	prometheus.Registerer
	labels map[string][]string // by name
}

var descFormat = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

func (d *described) MustRegister(collectors ...prometheus.Collector) {
	for _, c := range collectors {
		descs := make(chan *prometheus.Desc)
		go func() { // ends with the descriptions
			c.Describe(descs)
			close(descs)
		}()
		for desc := range descs {
			m := descFormat.FindStringSubmatch(desc.String())
			d.labels[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
		}
	}
}

func (d *described) Register(c prometheus.Collector) error {
	d.MustRegister(c)
	return nil
}

// ours returns the labels of the gateway's metrics, by name.
func ours(t *testing.T) map[string][]string {
	t.Helper()
	backends := store.NewRegistry("ndb")
	backends.Add("ndb", &memstore.Store{})
	d := &described{labels: map[string][]string{}}
	api.New(backends, api.Options{Metrics: d})
	d.MustRegister(api.NewPoolCollector(backends), api.NewClusterCollector(backends))
	for _, name := range ofTheProgram(t) {
		d.labels[name] = nil
	}
	for name, labels := range d.labels {
		if strings.HasSuffix(name, "_seconds") {
			d.labels[name+"_bucket"] = append(slices.Clone(labels), "le")
			d.labels[name+"_count"], d.labels[name+"_sum"] = labels, labels
		}
	}
	return d.labels
}

var programMetric = regexp.MustCompile(`Name: "(ndbgate_\w+)"`)

// ofTheProgram reads the names of the metrics that the program adds to those of its
// handlers, all without labels, in its source: they come with its listeners.
func ofTheProgram(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../cmd/gateway/program/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files of the program: %v", len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range programMetric.FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

var (
	metricName = regexp.MustCompile(`\bndbgate_\w+`)
	selector   = regexp.MustCompile(`(ndbgate_\w+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)`)
)

// wantKnown fails for metrics and labels of an expression that do not exist.
func wantKnown(t *testing.T, known map[string][]string, where, expr string) {
	t.Helper()
	for _, name := range metricName.FindAllString(expr, -1) {
		if _, ok := known[name]; !ok {
			t.Errorf("%s: the gateway has no metric %s", where, name)
		}
	}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		for _, label := range labelName.FindAllStringSubmatch(m[2], -1) {
			if label[1] != "instance" && !slices.Contains(known[m[1]], label[1]) {
				t.Errorf("%s: %s has no label %s, only %v", where, m[1], label[1], known[m[1]])
			}
		}
	}
}

// alertFile is what the format of Prometheus's rule files is here used of.
type alertFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert       string
			Expr        string
			For         string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func TestAlerts_AreOfMetricsThatExist(t *testing.T) {
	data, err := os.Open("prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	decoder := yaml.NewDecoder(data)
	decoder.KnownFields(true)
	var file alertFile
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	known, names := ours(t), map[string]bool{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			wantKnown(t, known, rule.Alert, rule.Expr)
			if names[rule.Alert] || rule.Alert == "" {
				t.Errorf("the name %q is there twice or empty", rule.Alert)
			}
			names[rule.Alert] = true
			if !slices.Contains([]string{"warning", "critical"}, rule.Labels["severity"]) {
				t.Errorf("%s: got severity %q", rule.Alert, rule.Labels["severity"])
			}
			if rule.Annotations["summary"] == "" || rule.Annotations["action"] == "" {
				t.Errorf("%s: it must say what is wrong and what to do", rule.Alert)
			}
		}
	}
	if len(names) < 8 {
		t.Errorf("got %d alerts", len(names))
	}
}

// dashboard is what is looked at of one of Grafana.
type dashboard struct {
	UID    string
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ RefID, Expr string }
	}
}

func TestDashboard_IsOfMetricsThatExist(t *testing.T) {
	data, err := os.ReadFile("grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board dashboard
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	known, ids, shown := ours(t), map[int]bool{}, map[string]bool{}
	for _, panel := range board.Panels {
		if ids[panel.ID] {
			t.Errorf("the ID %d is there twice", panel.ID)
		}
		ids[panel.ID] = true
		if panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("%s: it is wider than the board", panel.Title)
		}
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("%s: it shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			wantKnown(t, known, panel.Title, target.Expr)
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				shown[family(name)] = true
			}
		}
	}
	for name := range known {
		if name := family(name); !shown[name] && !slices.Contains(notShown, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// family is the name of the histogram that a series belongs to, or its own.
func family(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
}

// notShown are metrics for which the board has no room: others say more.
var notShown = []string{"ndbgate_pool_waits_total", "ndbgate_data_node_links", "ndbgate_comparison_duration_seconds", "ndbgate_assigned_id_conflicts_total"}
