package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var root = filepath.Join("..", "..")

// written are the files that people read.
func written(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "ndb/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("found %v: the test looks in the wrong place", files)
	}
	return files
}

var (
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan = regexp.MustCompile("`[^`\n]+`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

func TestLinks_LeadSomewhere(t *testing.T) {
	for _, file := range written(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plain := codeSpan.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), "``")
		for _, found := range link.FindAllStringSubmatch(plain, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), filepath.FromSlash(target))
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %s leads nowhere", file, found[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, path), anchor) {
				t.Errorf("%s: %s: no heading there makes #%s", file, found[1], anchor)
			}
		}
	}
}

var noSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors are those of a page's headings, as GitHub and mdBook make them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		all = append(all, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

func TestSummary_HasEveryPageOnce(t *testing.T) {
	summary, err := os.ReadFile(filepath.Join(root, "docs", "SUMMARY.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, found := range link.FindAllStringSubmatch(string(summary), -1) {
		got = append(got, found[1])
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, page := range pages {
		if name := filepath.Base(page); name != "SUMMARY.md" {
			want = append(want, name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got the pages %v, want %v", got, want)
	}
}
