// Package layers holds the test that keeps the import arrows of the module
// pointing one way:
//
//	cmd ─► api ─► store ─► models
//	       api ─► access
//	cmd ─► store/* ─► its driver
//	store/ndbapi ─► ndb ─► ndb/internal/transporter ─► ndb/internal/* ─► ndb/internal/word
//	ndb/ndbtest ─► ndb/internal/*
package layers

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ndbgate/ndbgate"

// arrow is one import. Packages of the module go by their folder, such as
// "store/sqlstore", all others by their import path.
type arrow struct {
	file string // slash-separated, from the module's root
	to   string
	ours bool // to is a folder of the module
}

func (a arrow) from() string { return path.Dir(a.file) }

func (a arrow) isTest() bool { return strings.HasSuffix(a.file, "_test.go") }

// isStandard tells a package of the standard library: its first element has no
// dot.
func (a arrow) isStandard() bool {
	first, _, _ := strings.Cut(a.to, "/")
	return !a.ours && !strings.Contains(first, ".")
}

// toOurs tells whether the arrow points at one of our folders or below.
func (a arrow) toOurs(folders ...string) bool {
	return a.ours && slices.ContainsFunc(folders, func(folder string) bool { return within(a.to, folder) })
}

// toTheirs tells whether the arrow points at somebody else's package or below.
func (a arrow) toTheirs(paths ...string) bool {
	return !a.ours && slices.ContainsFunc(paths, func(p string) bool { return within(a.to, p) })
}

func within(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// rule forbids some arrows out of some packages.
type rule struct {
	text    string
	from    func(folder string) bool
	forbids func(a arrow) bool
}

var drivers = []string{"gorm.io", "github.com/go-sql-driver/mysql", "database/sql"}

// roads are the packages that implement the store.
var roads = []string{"store/sqlstore", "store/ndbapi", "store/memstore"}

var rules = []rule{
	{
		"ndb/internal/word imports only the standard library",
		in("ndb/internal/word"),
		func(a arrow) bool { return !a.isStandard() },
	},
	{
		"models imports only the standard library and the validator",
		in("models"),
		func(a arrow) bool {
			return !a.isTest() && !a.isStandard() && !a.toTheirs("github.com/go-playground/validator/v10") && !a.toOurs("models")
		},
	},
	{
		"models imports no other package of ours",
		in("models"),
		func(a arrow) bool { return a.ours && !a.toOurs("models") },
	},
	{
		"api never imports a driver",
		in("api"),
		func(a arrow) bool {
			return a.toTheirs(drivers...) || a.toOurs("ndb", "store/sqlstore", "store/ndbapi") || a.toOurs("store/memstore") && !a.isTest()
		},
	},
	{
		"access knows no handler and no store",
		in("access"),
		func(a arrow) bool { return a.ours && !a.toOurs("access") || a.toTheirs(drivers...) },
	},
	{
		"access is for api, cmd and tests of them",
		func(folder string) bool { return !in("access", "api", "cmd", "internal")(folder) },
		func(a arrow) bool { return a.toOurs("access") },
	},
	{
		"store imports models alone of ours",
		func(folder string) bool { return folder == "store" },
		func(a arrow) bool {
			return a.ours && !a.toOurs("models") && a.to != "store" && !(a.isTest() && a.toOurs("store"))
		},
	},
	{
		"what is below store never imports api, cmd or loadtest",
		in("store"),
		func(a arrow) bool { return a.toOurs("api", "cmd", "loadtest") },
	},
	{
		"store/sqlstore, store/ndbapi and store/memstore never import each other",
		in(roads...),
		func(a arrow) bool { return a.toOurs(roads...) && !within(a.to, roadOf(a.from())) },
	},
	{
		"store/storetest imports no road: every road imports it",
		in("store/storetest"),
		func(a arrow) bool { return a.toOurs(roads...) && !a.isTest() },
	},
	{
		"ndb knows no model, no store and no HTTP",
		in("ndb"),
		func(a arrow) bool {
			return a.ours && !a.toOurs("ndb") || a.toTheirs("net/http") || a.toTheirs(drivers...)
		},
	},
	{
		"ndb/ndbtest imports ndb/internal/*, never ndb; its tests hold the client against it",
		in("ndb/ndbtest"),
		func(a arrow) bool { return a.ours && a.to == "ndb" && !a.isTest() },
	},
	{
		"ndb/internal/* never imports ndb or ndb/ndbtest",
		in("ndb/internal"),
		func(a arrow) bool { return a.ours && a.to == "ndb" || a.toOurs("ndb/ndbtest") },
	},
	{
		"ndb/internal/{signal,dictinfo,row,mgm} never import the transporter above them",
		in("ndb/internal/signal", "ndb/internal/dictinfo", "ndb/internal/row", "ndb/internal/mgm"),
		func(a arrow) bool { return a.toOurs("ndb/internal/transporter") },
	},
	{
		"nothing imports cmd",
		func(string) bool { return true },
		func(a arrow) bool { return a.toOurs("cmd") && !within(a.from(), "cmd") },
	},
	{
		"porcupine is for the chaos suite, and the chaos suite for nobody: neither is part of a program",
		func(string) bool { return true },
		func(a arrow) bool {
			return a.toOurs("internal/chaos") && !within(a.from(), "internal/chaos") ||
				a.toTheirs("github.com/anishathalye/porcupine") && !within(a.from(), "internal/chaos")
		},
	},
	{
		"loadtest never imports api",
		in("loadtest"),
		func(a arrow) bool { return a.toOurs("api") },
	},
}

func in(folders ...string) func(string) bool {
	return func(folder string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return within(folder, f) })
	}
}

func roadOf(folder string) string {
	i := slices.IndexFunc(roads, func(road string) bool { return within(folder, road) })
	return roads[i]
}

// wrongArrows says which arrows break which rule.
func wrongArrows(arrows []arrow) []string {
	var wrong []string
	for _, a := range arrows {
		for _, r := range rules {
			if r.from(a.from()) && r.forbids(a) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, but %s", a.file, a.to, r.text))
			}
		}
	}
	return wrong
}

func TestImportsPointOneWay(t *testing.T) {
	arrows, err := readArrows(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(arrows, func(a arrow) bool { return a.from() == "store" && a.toOurs("models") }) {
		t.Fatalf("read %d imports, but not that of models by store: the test looks in the wrong place", len(arrows))
	}
	for _, message := range wrongArrows(arrows) {
		t.Error(message)
	}
}

// readArrows reads the imports of all Go files below root that belong to its
// module, whatever the platform and build tags they are for.
func readArrows(root string) ([]arrow, error) {
	var arrows []arrow
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && isForeign(file, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		imports, err := readImports(file, filepath.ToSlash(relative))
		arrows = append(arrows, imports...)
		return err
	})
	return arrows, err
}

// isForeign tells folders that are not part of the module: hidden ones, those
// that the go command ignores, and modules of their own.
func isForeign(folder, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func readImports(file, relative string) ([]arrow, error) {
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // gone since its folder was listed
	}
	if err != nil {
		return nil, err
	}
	var arrows []arrow
	for _, spec := range source.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", relative, spec.Path.Value, err)
		}
		arrows = append(arrows, newArrow(relative, target))
	}
	return arrows, nil
}

func newArrow(file, target string) arrow {
	if target == module {
		return arrow{file: file, to: ".", ours: true}
	}
	folder, ours := strings.CutPrefix(target, module+"/")
	return arrow{file: file, to: folder, ours: ours}
}
