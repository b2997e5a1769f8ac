package page_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/page"
)

func draw(t *testing.T, r *loadtest.Report) string {
	t.Helper()
	var html bytes.Buffer
	if err := page.Write(&html, r); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

func TestWrite_NeedsNothingElse(t *testing.T) {
	html := draw(t, articleReport())
	for _, outside := range []string{"<script", "@import", "url(", "<link", "<img", "<iframe", " src=", " href="} {
		if strings.Contains(html, outside) {
			t.Errorf("got %q in the page", outside)
		}
	}
	if n := len(html); n > 2<<20 {
		t.Errorf("got %d bytes", n)
	}
}

func TestWrite_EveryOperationHasItsCharts(t *testing.T) {
	html := draw(t, articleReport())
	for _, kind := range []string{"throughput", "cpu", "efficiency", "p99", "distribution", "time"} {
		for _, op := range []string{"insert", "select", "update", "delete"} {
			if id := `id="` + kind + "-" + op + `"`; strings.Count(html, id) != 1 {
				t.Errorf("got %d of %s, want one", strings.Count(html, id), id)
			}
		}
	}
	for _, want := range []string{
		">knee<", "ndb does 1.82× what sql does at 64 threads", "ndb, find first",
		"12 operations failed", "row 7 is not there", "kill node 3", "ndb, find first / sql", "Processor time of each process", ">data node 3</th>", ">ops/CPU s</th>", "commit 0123456789abcdef", "Some Processor",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestWrite_EscapesWhatComesFromOutside(t *testing.T) {
	r := articleReport()
	const evil = `"><script>alert(1)</script>`
	r.Title, r.EndedBy, r.Tool.Version, r.Host.CPU = evil, evil, evil, evil
	r.Command = []string{evil}
	r.Notes = []string{evil}
	r.Settings.Backends = []string{evil, "sql"}
	r.Events[0].Name = evil
	for i := range r.Cells {
		if r.Cells[i].Backend == "ndb" {
			r.Cells[i].Backend = evil
		}
		if r.Cells[i].Workload == "insert" {
			r.Cells[i].Workload = evil
		}
	}
	if html := draw(t, r); strings.Contains(html, "<script") {
		t.Error("a name became a script")
	}
}

func TestWrite_BatchesHaveTheirCharts(t *testing.T) {
	html := draw(t, batchReport())
	for _, want := range []string{`id="rows-ndb--1-writer"`, `id="rows-innodb--2-writers"`, `id="time-ndb--2-writers"`, "MaxNoOfConcurrentOperations", "Not complete:"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestWrite_NothingKnown_StillIsAPage(t *testing.T) {
	for name, r := range map[string]*loadtest.Report{
		"nothing":                 {},
		"a cell without anything": {Cells: []loadtest.Cell{{Workload: "insert", Backend: "ndb", Threads: 1, HostCPU: -1, Seconds: 1}, {Workload: "insert", Backend: "ndb", Threads: 4, HostCPU: -1, Seconds: 1}}},
		"a batch that failed":     {Kind: "batch", Batches: []loadtest.Batch{{Backend: "ndb", Way: "one transaction", Engine: "NDB", Size: 100, Writers: 1, Error: "refused"}}},
	} {
		html := draw(t, r)
		if !strings.HasSuffix(strings.TrimSpace(html), "</html>") || regexp.MustCompile(`NaN|Inf`).MatchString(html) {
			t.Errorf("%s: got no whole page, or numbers that are none", name)
		}
	}
}
