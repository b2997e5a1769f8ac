// Package docstest keeps the parts of docs/ that are made of code up to date, for
// tests.
package docstest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update-docs", false, "write the parts of docs/ that are made of code")

// Part checks that the page of docs/, such as configuration.md, has the text in the
// part of this name. Parts stand between two comments, and what is around them is
// written by hand. The package of the test is so many folders below the root; with
// -update-docs the part is written instead.
func Part(t *testing.T, depth int, page, name, text string) {
	t.Helper()
	file := filepath.Join(strings.Repeat(".."+string(filepath.Separator), depth), "docs", page)
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	current, err := replacePart(string(old), name, text)
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if current == string(old) {
		return
	}
	if !*update {
		t.Errorf("docs/%s is not what the code says in its part %s: run make generate", page, name)
		return
	}
	if err := os.WriteFile(file, []byte(current), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replacePart returns the page with the text between the two comments of the name.
func replacePart(page, name, text string) (string, error) {
	begin := fmt.Sprintf("<!-- %s: made of code by make generate -->\n", name)
	end := fmt.Sprintf("<!-- end of %s -->\n", name)
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("the line %q is missing", begin)
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("the line %q is missing behind it", end)
	}
	return before + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + after, nil
}

// Cell is text for a cell of a table.
func Cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}
