package page_test

import (
	"bytes"
	_ "embed"
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/page"
)

//go:embed testdata/checks.js
var checks string

// TestPage_InABrowser looks at pages as people do: nothing sticks out, overlaps
// or is too small or too pale to read, on a laptop, a phone and paper, in light
// and dark. PAGE_SCREENSHOTS names a directory for pictures of all of it.
func TestPage_InABrowser(t *testing.T) {
	b := startBrowser(t)
	b.attach()
	screens := []screen{
		{"laptop", 1280, false, "screen", "light"},
		{"laptop-dark", 1280, false, "screen", "dark"},
		{"phone", 390, true, "screen", "light"},
		{"phone-dark", 390, true, "screen", "dark"},
		{"narrow", 320, true, "screen", "light"},
		{"print", 720, false, "print", "dark"}, // paper is white whatever the screen likes
	}
	for _, p := range []struct {
		name    string
		report  *loadtest.Report
		screens []screen
	}{
		{"article", articleReport(), screens},
		{"batch", batchReport(), screens},
		{"kill", killReport(), screens},
		{"empty", &loadtest.Report{EndedBy: "the target does not serve"}, screens[:1]},
	} {
		var html bytes.Buffer
		if err := page.Write(&html, p.report); err != nil {
			t.Fatal(err)
		}
		b.open(html.Bytes())
		for _, s := range p.screens {
			b.look(s)
			var wrong []string
			b.evaluate(fmt.Sprintf("() => (%s)(%q, %q)", checks, s.scheme, s.media), &wrong)
			for _, text := range wrong {
				t.Errorf("%s on %s: %s", p.name, s.name, text)
			}
			b.keep(p.name + "-" + s.name)
		}
		var pdf struct{ Data []byte }
		b.call("Page.printToPDF", map[string]any{"paperWidth": 8.27, "paperHeight": 11.69}, &pdf)
		if !bytes.HasPrefix(pdf.Data, []byte("%PDF")) {
			t.Errorf("%s: it cannot be printed", p.name)
		}
	}
	for _, problem := range b.problems {
		t.Error(problem)
	}
}
