package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// streamed is the last line of an import.
type streamed struct {
	Type                                    string
	Complete                                bool
	Rows, Written, Skipped, Failed, Unknown int64
	Error                                   struct{ Code string }
}

// stream sends a request without a time limit and returns the answer.
func (g *gateway) stream(method, path string, body io.Reader, headers ...string) (*http.Response, error) {
	r, err := http.NewRequest(method, g.url+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Backend", g.road)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}).Do(r)
}

func (g *gateway) importRows(query string, body io.Reader, headers ...string) streamed {
	g.t.Helper()
	resp, err := g.stream("POST", "/v1/employees:import"+query, body, append([]string{"Content-Type: application/x-ndjson"}, headers...)...)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	return lastLine(g.t, resp)
}

func lastLine(t testing.TB, resp *http.Response) streamed {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	var end streamed
	if err := json.Unmarshal(lines[len(lines)-1], &end); err != nil || resp.StatusCode != http.StatusOK || end.Type != "summary" {
		t.Fatalf("got %d %.1000s, %v", resp.StatusCode, text, err)
	}
	return end
}

// ours selects the rows of these tests.
const ours = "filter=id%20%3E%3D%207000000000%20AND%20id%20%3C%3D%207001000000"

func (g *gateway) exportRows(headers ...string) string {
	g.t.Helper()
	resp, err := g.stream("GET", "/v1/employees:export?"+ours, nil, headers...)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Trailer.Get("X-Export-Complete") != "true" {
		g.t.Fatalf("got %d %.1000s, %v", resp.StatusCode, text, err)
	}
	return string(text)
}

// streamRow is row i of a body, as an export has it.
func streamRow(i int) string {
	first, ended := fmt.Sprintf(`"Zoë \"%d\""`, i), "null"
	switch i % 5 {
	case 0:
		first = "null"
	case 1:
		first, ended = `""`, `"2020-02-29"`
	}
	return fmt.Sprintf(`{"id":%d,"first":%s,"last":"Last, %d","city":"Tromsø","started":"2001-02-03","ended":%s,"department":%d}`+"\n", firstID+i, first, i, ended, 1+i%9)
}

func streamRows(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(streamRow(i))
	}
	return text.String()
}

// What one road has imported the other one exports, to the byte.
func TestStreams_OutOfOneRoadIntoTheOther(t *testing.T) {
	const n = 12_345
	dsns := cluster(t)
	db := openTable(t, dsns)
	g := serve(t, dsns)
	rows := streamRows(n)
	want := rows + fmt.Sprintf(`{"complete":true,"rows":%d}`+"\n", n)
	count := func() (rows int) {
		if err := db.QueryRow("SELECT COUNT(*) FROM employee WHERE id BETWEEN ? AND ?", firstID, firstID+1_000_000).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for i, road := range roads {
		to, from := g.on(road), g.on(roads[1-i])
		if _, err := db.Exec("DELETE FROM employee WHERE id BETWEEN ? AND ?", firstID, firstID+1_000_000); err != nil {
			t.Fatal(err)
		}
		half := streamRows(n / 2)
		if s := to.importRows("", strings.NewReader(half)); !s.Complete || s.Written != n/2 || count() != n/2 {
			t.Fatalf("%s: got %+v and %d rows", road, s, count())
		}
		if s := to.importRows("?on_conflict=skip", strings.NewReader(want)); !s.Complete || s.Skipped != n/2 || s.Written != n-n/2 || count() != n {
			t.Errorf("%s: the rest: got %+v and %d rows", road, s, count())
		}
		plain := from.exportRows("Accept-Encoding: identity")
		if plain != want || to.exportRows("Accept-Encoding: identity") != want {
			t.Errorf("%s: the export differs from what was imported", road)
		}
		csv := from.exportRows("Accept: text/csv", "Accept-Encoding: zstd")
		if s := to.importRows("?on_conflict=replace", strings.NewReader(csv), "Content-Type: text/csv", "Content-Encoding: zstd"); !s.Complete || s.Written != n || count() != n {
			t.Errorf("%s: CSV: got %+v and %d rows", road, s, count())
		}
		if from.exportRows("Accept-Encoding: identity") != want {
			t.Errorf("%s: the export differs from what was imported as CSV", road)
		}
		if s := to.importRows("?on_error=continue&max_errors=100000", strings.NewReader(rows)); !s.Complete || s.Failed != n || s.Written != 0 {
			t.Errorf("%s: all are there: got %+v", road, s)
		}
	}
}

func TestStreams_ByTheCommandLine(t *testing.T) {
	dsns := cluster(t)
	db := openTable(t, dsns)
	onEachRoad(t, serve(t, dsns), func(t *testing.T, g *gateway) {
		if _, err := db.Exec("DELETE FROM employee WHERE id BETWEEN ? AND ?", firstID, firstID+1_000_000); err != nil {
			t.Fatal(err)
		}
		const n = 2000
		file := filepath.Join(t.TempDir(), "in.ndjson")
		if err := os.WriteFile(file, []byte(streamRows(n)), 0o600); err != nil {
			t.Fatal(err)
		}
		output, err := command(nil, "import", file, "--target", g.url, "--backend", g.road).CombinedOutput()
		if err != nil || !strings.Contains(string(output), "2000 written, 0 skipped, 0 failed, 0 unknown") {
			t.Errorf("import: got %v and %s", err, output)
		}
		out := filepath.Join(t.TempDir(), "out.csv.gz")
		filter := fmt.Sprintf("id >= %d AND id < %d", firstID, firstID+1000)
		output, err = command(nil, "export", out, "--target", g.url, "--backend", g.road, "--filter", filter).CombinedOutput()
		if err != nil || !strings.Contains(string(output), "1000 rows, ") {
			t.Errorf("export: got %v and %s", err, output)
		}
		output, err = command(nil, "import", out, "--target", g.url, "--backend", g.road, "--on-conflict=skip").CombinedOutput()
		if err != nil || !strings.Contains(string(output), "1000 skipped") {
			t.Errorf("import of the export: got %v and %s", err, output)
		}
	})
}

// A gateway that is told to stop in the middle of an import ends well, and the
// counts of the last line are those of the database.
func TestImport_GatewayStops(t *testing.T) {
	dsns := cluster(t)
	for _, road := range roads {
		t.Run(road, func(t *testing.T) {
			db := openTable(t, dsns)
			g := serve(t, dsns).on(road)
			g.t = t
			from, to := io.Pipe()
			go func() { // ends with the pipe
				for i := 0; ; i++ {
					if _, err := io.WriteString(to, streamRow(i)); err != nil {
						return
					}
				}
			}()
			count := func() (rows int64) {
				if err := db.QueryRow("SELECT COUNT(*) FROM employee WHERE id BETWEEN ? AND ?", firstID, firstID+1_000_000).Scan(&rows); err != nil {
					t.Fatal(err)
				}
				return rows
			}
			ended := make(chan streamed, 1)
			go func() { // ends with the gateway
				defer close(ended)
				resp, err := g.stream("POST", "/v1/employees:import", from, "Content-Type: application/x-ndjson")
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				ended <- lastLine(t, resp)
			}()
			await(t, "rows are stored", waitLimit, func() (bool, string) {
				rows := count()
				return rows > 0, fmt.Sprint(rows, " rows")
			})
			if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s := <-ended
			_ = from.Close() // of a pipe it never fails
			if err := <-g.ended; err != nil {
				t.Errorf("the gateway ended with %v", err)
			}
			if rows := count(); s.Complete || s.Error.Code != "stopping" || s.Written != rows || s.Failed+s.Unknown > 0 {
				t.Errorf("got %+v, and %d rows are stored", s, rows)
			}
		})
	}
}
