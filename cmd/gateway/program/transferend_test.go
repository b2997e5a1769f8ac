package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// pagesOf gives so many pages and then fails.
type pagesOf struct {
	memstore.Store
	pages int
	last  int64 // ID
}

func (p *pagesOf) List(_ context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	if p.pages--; p.pages < 0 {
		return models.EmployeePage{}, errors.New("broken")
	}
	page := models.EmployeePage{Employees: make([]models.Employee, q.Limit)}
	for i := range page.Employees {
		p.last++
		page.Employees[i] = models.Employee{ID: p.last, Department: 1}
	}
	page.Next = models.Cursor{p.last}
	return page, nil
}

func TestExport_ThatIsCutOff_LeavesOnlyAPart(t *testing.T) {
	for name, want := range map[string]string{
		"a.ndjson": "internal: The gateway failed", "a.csv": "the answer ended early", "a.ndjson.zst": "the answer ended early",
	} {
		s := serveRows(t, &pagesOf{pages: 2})
		file := filepath.Join(t.TempDir(), name)
		r := runClient(t, nil, "export", file, "--target", s.public)
		r.want(t, exitFailure, "", want)
		r.want(t, exitFailure, "", "only the rows that came until then are in "+file+".part; the next export to "+file+" replaces it\n")
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v, want that it is not there", name, err)
		}
	}
}

func TestExport_ThatIsRefused_LeavesWhatWasThere(t *testing.T) {
	s := serveRows(t, &memstore.Store{})
	file := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(file+".part", []byte("id\r\n1\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runClient(t, nil, "export", file, "--target", s.public, "--filter", "salary = 1")
	r.want(t, exitFailure, "", "invalid_parameter")
	if text, err := os.ReadFile(file + ".part"); err != nil || string(text) != "id\r\n1\r\n" {
		t.Errorf("got %q, %v, want what was there", text, err)
	}
	r = runClient(t, nil, "export", filepath.Join(file, "b.csv"), "--target", s.public)
	r.want(t, exitFailure, "", "no such file")
}

// silentGateway is one that takes a request and says when, but nothing else. With
// begin it begins to answer.
func silentGateway(t *testing.T, begin bool) (url string, asked <-chan struct{}) {
	t.Helper()
	took := make(chan struct{}, 1)
	g := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if begin {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush() // an error means that the client has left
		}
		took <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body) // ends with the client
		<-r.Context().Done()
	}))
	t.Cleanup(g.Close)
	return g.URL, took
}

func TestExport_InterruptedBeforeTheFirstRow_LeavesNothing(t *testing.T) {
	for _, begun := range []bool{false, true} {
		url, asked := silentGateway(t, begun)
		dir := t.TempDir()
		ctx, interrupt := context.WithCancel(t.Context())
		go func() { // ends with the request
			<-asked
			interrupt()
		}()
		var stdout, stderr bytes.Buffer
		code := command(ctx, []string{"export", filepath.Join(dir, "a.csv"), "--target", url}, process{getenv: lookup(nil), stdout: &stdout, stderr: &stderr})
		if code != exitFailure || !strings.HasSuffix(stderr.String(), "a.csv: interrupted\n") {
			t.Errorf("answer begun %t: got exit code %d and %q", begun, code, stderr.String())
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 0 {
			t.Errorf("answer begun %t: got %v, %v, want no file", begun, left, err)
		}
	}
}

// tellingStore tells when rows are stored.
type tellingStore struct {
	memstore.Store
	stored chan int
}

func (s *tellingStore) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	results := s.Store.CreateEach(ctx, employees)
	s.stored <- len(employees)
	return results
}

func TestImport_GatewayStops_SaysHowToGoOn(t *testing.T) {
	rows := &tellingStore{stored: make(chan int, 100)}
	s := serveRows(t, rows)
	from, to := io.Pipe()
	defer to.Close()
	ended := make(chan result, 1)
	go func() { ended <- runClient(t, from, "import", "-", "--target", s.public) }() // ends with the gateway
	if _, err := io.WriteString(to, someRows(10)); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 10; {
		n += <-rows.stored
	}
	s.stop()
	r := <-ended
	r.want(t, exitFailure, "10 written", "stopping: The gateway is stopping")
	r.want(t, exitFailure, "", "--on-conflict=skip")
	if got := s.exitCode(t); got != exitOK {
		t.Errorf("exit code of the gateway: got %d", got)
	}
}

func TestImport_Interrupted_SaysHowToGoOn(t *testing.T) {
	rows := &tellingStore{stored: make(chan int, 100)}
	s := serveRows(t, rows)
	from, to := io.Pipe()
	defer to.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	code := make(chan int, 1)
	go func() { // ends with interrupt
		code <- command(ctx, []string{"import", "-", "--target", s.public}, process{
			getenv: lookup(nil), stdin: from, stdout: &stdout, stderr: &stderr, open: func(Config, *slog.Logger) ([]road, error) { return nil, nil },
		})
	}()
	if _, err := io.WriteString(to, someRows(10)); err != nil {
		t.Fatal(err)
	}
	<-rows.stored
	interrupt()
	if got := <-code; got != exitFailure || !strings.Contains(stderr.String(), "import -: interrupted\nrun it again with --on-conflict=skip") {
		t.Errorf("got exit code %d and %q", got, stderr.String())
	}
}

// TestImport_InterruptedWhileItsInputIsIdle has a process of its own: of standard
// input that is a pipe or a terminal, no read can be ended.
func TestImport_InterruptedWhileItsInputIsIdle_EndsAtOnce(t *testing.T) {
	url, asked := silentGateway(t, false)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "import", "-", "--target", url)
	cmd.Env = append(os.Environ(), asGatewayVariable+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != exitFailure || !strings.HasPrefix(stderr.String(), "gateway: import -: interrupted\n") {
		t.Errorf("got %v and %q, want exit code 1 and a word about it", err, stderr.String())
	}
}
