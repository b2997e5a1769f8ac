// Package page draws a report as one HTML page that needs nothing else: no
// script, no network. It is made for a laptop, a phone and paper, in light and
// dark.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/ndbgate/ndbgate/loadtest"
)

//go:embed page.html
var source string

//go:embed style.css
var style string

var tmpl = template.Must(template.New("page").Parse(source))

// Write draws the report.
func Write(w io.Writer, r *loadtest.Report) error {
	v := newView(r)
	if err := tmpl.Execute(w, v); err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	return nil
}
