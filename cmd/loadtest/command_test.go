package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/api"
	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// ran is what a command did.
type ran struct {
	exit           int
	stdout, stderr string
}

func do(ctx context.Context, args ...string) ran {
	var stdout, stderr bytes.Buffer
	exit := command(ctx, args, process{getenv: func(string) string { return "" }, stdout: &stdout, stderr: &stderr})
	return ran{exit, stdout.String(), stderr.String()}
}

// gateway is the real API over one memstore, which both roads share.
func gateway(t *testing.T) (address string, rows *memstore.Store) {
	t.Helper()
	rows = &memstore.Store{}
	backends := store.NewRegistry("ndb")
	backends.Add("ndb", rows)
	backends.Add("sql", rows)
	server := httptest.NewServer(api.New(backends, api.Options{}))
	t.Cleanup(server.Close)
	return server.URL, rows
}

// allRows selects every row.
var allRows models.Filter

// short are flags of a run whose cells end by number, so that a slow machine does
// not matter.
var short = []string{"--threads=2", "--duration=10s", "--max-ops=150", "--warmup=0", "--repeats=1", "--rows=40"}

func readBack(t *testing.T, dir string) *loadtest.Report {
	t.Helper()
	r, err := readReport(filepath.Join(dir, reportFile))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun_AgainstAGateway_WritesEverything(t *testing.T) {
	address, rows := gateway(t)
	dir := t.TempDir()
	got := do(t.Context(), append([]string{
		"run", "--target", address, "--mode=article", "--mix=busy=select:5,update:3", "--ops=insert,select,update,delete,batch,busy", "--title", "A title", "--out", dir,
	}, short...)...)
	if got.exit != exitOK {
		t.Fatalf("got exit %d: %s", got.exit, got.stderr)
	}
	r := readBack(t, dir)
	// Six workloads by two roads, and two variants of the native one.
	if len(r.Cells) != 14 || r.EndedBy != loadtest.Complete || len(r.Verifications) != 4 || r.Title != "A title" || r.Target == nil || len(r.Command) == 0 {
		t.Errorf("got %d cells, ended by %q, %d verifications", len(r.Cells), r.EndedBy, len(r.Verifications))
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Ops == 0 || len(c.Errors) > 0 {
			t.Errorf("%s %s: got %d operations, errors %+v", c.Workload, c.Backend, c.Ops, c.Errors)
		}
	}
	for _, want := range []string{"Operations in a second", "insert ndb / sql", "update ndb, find first", "Latency, p99"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("got\n%s\nwant %q in it", got.stdout, want)
		}
	}
	for name, want := range map[string]string{cellsFile: "update,ndb,find first,2,", pageFile: "<title>A title</title>"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %v, want %q in it", name, err, want)
		}
	}
	if n, err := rows.Count(t.Context(), allRows); n != 0 || err != nil {
		t.Errorf("got %d rows left, %v", n, err)
	}
	if again := do(t.Context(), "report", filepath.Join(dir, reportFile)); again.exit != exitOK || again.stdout != got.stdout {
		t.Errorf("report: got exit %d and other tables: %s", again.exit, again.stderr)
	}
	if same := do(t.Context(), "compare", filepath.Join(dir, reportFile), filepath.Join(dir, reportFile)); same.exit != exitOK || !strings.Contains(same.stdout, "select ndb, 2 threads") {
		t.Errorf("compare: got exit %d: %s %s", same.exit, same.stdout, same.stderr)
	}
}

func TestBatch_AgainstAGateway(t *testing.T) {
	address, rows := gateway(t)
	dir := t.TempDir()
	got := do(t.Context(), "batch", "--target", address, "--sizes=10,200", "--runs=2", "--out", dir)
	r := readBack(t, dir)
	if got.exit != exitOK || len(r.Batches) != 2*2*2 || !strings.Contains(got.stdout, "NDB: sql, one transaction, 2 writers") {
		t.Errorf("got exit %d, %d cells: %s %s", got.exit, len(r.Batches), got.stdout, got.stderr)
	}
	for _, b := range r.Batches {
		if b.Error != "" || len(b.Runs) != b.Writers || len(b.Runs[0]) != 2 {
			t.Errorf("got %+v", b)
		}
	}
	if n, err := rows.Count(t.Context(), allRows); n != 0 || err != nil {
		t.Errorf("got %d rows left, %v", n, err)
	}
}

func TestCompare_Regression_ExitsWith1(t *testing.T) {
	write := func(tps float64) string {
		r := &loadtest.Report{Format: loadtest.Format, Kind: "run"}
		for repeat := range 4 {
			r.Cells = append(r.Cells, loadtest.Cell{Workload: "select", Backend: "ndb", Threads: 1, Repeat: repeat + 1, Throughput: tps + float64(repeat)})
		}
		name := filepath.Join(t.TempDir(), "r.json")
		if err := writeFile(name, func(w io.Writer) error { _, err := r.WriteTo(w); return err }); err != nil {
			t.Fatal(err)
		}
		return name
	}
	old, slow := write(1000), write(900)
	if got := do(t.Context(), "compare", old, slow); got.exit != exitFailure || !strings.Contains(got.stderr, "worse by 10.0 %: select ndb, 1 thread") {
		t.Errorf("got exit %d: %s", got.exit, got.stderr)
	}
	if got := do(t.Context(), "compare", "--max-regress=15%", old, slow); got.exit != exitOK {
		t.Errorf("got exit %d: %s", got.exit, got.stderr)
	}
	if got := do(t.Context(), "compare", slow, old); got.exit != exitOK {
		t.Errorf("got exit %d: %s", got.exit, got.stderr)
	}
}

func TestRun_WrongTarget_IsAClearError(t *testing.T) {
	address, _ := gateway(t)
	nothing := httptest.NewServer(http.NotFoundHandler())
	defer nothing.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, c := range []struct {
		name string
		args []string
		exit int
		want string
	}{
		{"nobody listens", []string{"--target", closed.URL}, exitFailure, "connection refused"},
		{"no gateway", []string{"--target", nothing.URL}, exitFailure, "status 404"},
		{"no such road", []string{"--target", address, "--backends=ndb,mongo"}, exitFailure, "has no backend mongo; it has ndb, sql"},
		{"no URL", []string{"--target", "127.0.0.1:1"}, exitFailure, "want a URL"},
		{"none", nil, exitUsage, "give one of --target URL, --direct and --null"},
		{"too many", []string{"--target", address, "--null"}, exitUsage, "give one of"},
		{"direct, other road", []string{"--direct", "--backends=mongo"}, exitUsage, "has the backends ndb and sql alone"},
		{"operation", []string{"--null", "--ops=jump"}, exitUsage, `"jump" is no operation`},
		{"mix", []string{"--null", "--mix=x"}, exitUsage, "want NAME=OP:WEIGHT"},
		{"threads", []string{"--null", "--threads=0"}, exitUsage, "threads: 0"},
		{"mode", []string{"--null", "--mode=x"}, exitUsage, "there is only article"},
		{"cpu", []string{"--null", "--cpu=x"}, exitUsage, "want NAME=pid:N"},
		{"scenario", []string{"--null", "--scenario=nowhere"}, exitUsage, "loadtest scenarios lists them"},
		{"unknown flag", []string{"--nul"}, exitUsage, "not defined: -nul"},
		{"argument", []string{"--null", "x"}, exitUsage, `argument "x"`},
	} {
		got := do(t.Context(), append([]string{"run", "--out", t.TempDir()}, c.args...)...)
		if got.exit != c.exit || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: got exit %d: %s; want exit %d and %q", c.name, got.exit, got.stderr, c.exit, c.want)
		}
	}
}

func TestRun_TargetDies_ReportsWhatWasMeasured(t *testing.T) {
	rows := &memstore.Store{}
	backends := store.NewRegistry("ndb")
	backends.Add("ndb", rows)
	var reads atomic.Int64
	handler := api.New(backends, api.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && reads.Add(1) > 3000 { // far more than come before the measurement
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	scenario := filepath.Join(t.TempDir(), "die.yaml")
	text := "ops: [select]\nduration: 1h\nwarmup: 0s\nthreads: [2]\nrows: 20\ngive-up: 300ms\nhooks:\n  - {name: fails, run: [sh, -c, 'echo no; exit 3']}\n"
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := do(t.Context(), "run", "--target", server.URL, "--backends=ndb", "--scenario", scenario, "--out", dir)
	if got.exit != exitFailure || !strings.Contains(got.stderr, "does not serve any more") {
		t.Fatalf("got exit %d: %s", got.exit, got.stderr)
	}
	r := readBack(t, dir)
	if len(r.Cells) != 1 || r.Cells[0].Ops == 0 || !strings.Contains(r.EndedBy, "does not serve any more") || len(r.Events) != 1 || r.Events[0].Error == "" {
		t.Errorf("got %d cells, ended by %q, events %+v", len(r.Cells), r.EndedBy, r.Events)
	}
	if !strings.Contains(got.stdout, "! not complete: the target does not serve any more") {
		t.Errorf("got\n%s", got.stdout)
	}
}

func TestRun_Interrupted_WritesTheReport(t *testing.T) {
	address, rows := gateway(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &cancelling{word: "[2/", cancel: cancel}
	exit := command(ctx, []string{"run", "--target", address, "--backends=ndb", "--ops=select", "--threads=1,2,4", "--repeats=50", "--duration=50ms", "--warmup=10ms", "--rows=20", "--out", dir},
		process{getenv: func(string) string { return "" }, stdout: &bytes.Buffer{}, stderr: out})
	r := readBack(t, dir)
	if exit != exitOK || r.EndedBy != "interrupted" || len(r.Cells) == 0 || len(r.Cells) > 3 {
		t.Errorf("got exit %d, %d cells, ended by %q", exit, len(r.Cells), r.EndedBy)
	}
	if n, err := rows.Count(t.Context(), allRows); n != 0 || err != nil {
		t.Errorf("got %d rows left, %v", n, err)
	}
}

// cancelling ends a context once a word was written.
type cancelling struct {
	bytes.Buffer
	word   string
	cancel func()
}

func (c *cancelling) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.word)) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

func TestRun_NoPlaceForTheReport_IsToldBefore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := do(t.Context(), "run", "--null", "--out", file); got.exit != exitFailure || !strings.Contains(got.stderr, "--out") {
		t.Errorf("got exit %d: %s", got.exit, got.stderr)
	}
}

func TestOutput_DirectoryTakesNoMore_ReportIsElsewhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	t.Setenv("TMPDIR", t.TempDir())
	out, err := newOutput(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err = out.write(&loadtest.Report{Format: loadtest.Format, EndedBy: loadtest.Complete})
	if err == nil || !strings.Contains(err.Error(), "it is in "+os.TempDir()) {
		t.Fatalf("got %v", err)
	}
	found, globErr := filepath.Glob(filepath.Join(os.TempDir(), "loadtest-*", reportFile))
	if globErr != nil || len(found) != 1 {
		t.Errorf("got %v", found)
	}
}

func TestRun_StdoutIsFull_ReportIsWrittenAllTheSame(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	dir := t.TempDir()
	var stderr bytes.Buffer
	exit := command(t.Context(), append([]string{"run", "--null", "--ops=select", "--out", dir}, short...), process{getenv: func(string) string { return "" }, stdout: full, stderr: &stderr})
	if exit != exitFailure || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("got exit %d: %s", exit, stderr.String())
	}
	if r := readBack(t, dir); len(r.Cells) != 2 {
		t.Errorf("got %d cells", len(r.Cells))
	}
}

func TestWriteFile_FailsHalfway_LeavesTheOldFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	if err := writeFile(name, func(w io.Writer) error { _, err := w.Write([]byte("old")); return err }); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	if err := writeFile(name, func(w io.Writer) error { _, _ = w.Write([]byte("ne")); return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	text, err := os.ReadFile(name)
	entries, dirErr := os.ReadDir(filepath.Dir(name))
	if err != nil || dirErr != nil || string(text) != "old" || len(entries) != 1 {
		t.Errorf("got %q, %d files", text, len(entries))
	}
}

func TestNull_MeasuresTheHarness(t *testing.T) {
	dir := t.TempDir()
	got := do(t.Context(), append([]string{"run", "--null", "--out", dir}, short...)...)
	if got.exit != exitOK {
		t.Fatalf("got exit %d: %s", got.exit, got.stderr)
	}
	for _, c := range readBack(t, dir).Cells {
		if c.Workload == "select" && c.Throughput < 5000 {
			t.Errorf("got %v in a second: the harness itself is slow", c.Throughput)
		}
	}
}

func TestShownCommand_HidesPasswords(t *testing.T) {
	for _, args := range [][]string{{"--sql-dsn", "u:secret@tcp(h)/d", "--direct"}, {"--sql-dsn=u:secret@tcp(h)/d"}, {"-sql-dsn", "secret"}} {
		if got := strings.Join(shownCommand("run", args), " "); strings.Contains(got, "secret") || !strings.Contains(got, "(hidden)") {
			t.Errorf("got %q", got)
		}
	}
}

func TestCommand_HelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"version"}, {"scenarios"}, {"run", "--help"}, {"batch", "-h"}, {"compare", "--help"}, {"report", "--help"}, {"null", "--help"}, {"help", "run"}} {
		if got := do(t.Context(), args...); got.exit != exitOK || got.stdout == "" || got.stderr != "" {
			t.Errorf("%v: got exit %d, %q, %q", args, got.exit, got.stdout, got.stderr)
		}
	}
	for _, args := range [][]string{nil, {"jump"}, {"help", "jump"}, {"completion"}, {"completion", "tcsh"}, {"report"}, {"compare", "x"}, {"null", "x"}, {"batch"}, {"batch", "--null"}, {"batch", "--direct", "--engines=x"}} {
		if got := do(t.Context(), args...); got.exit != exitUsage {
			t.Errorf("%v: got exit %d: %s", args, got.exit, got.stderr)
		}
	}
}

func TestReport_NoReport_IsAClearError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	text, err := json.Marshal(map[string]string{"format": "other"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := do(t.Context(), "report", name); got.exit != exitFailure || !strings.Contains(got.stderr, "no report of this program") {
		t.Errorf("got exit %d: %s", got.exit, got.stderr)
	}
}
