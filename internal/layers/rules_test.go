package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongArrows(t *testing.T) {
	tests := []struct {
		file, target string
		wrong        string // a piece of the message; empty: the arrow is fine
	}{
		{"cmd/gateway/program/run.go", module + "/api", ""},
		{"cmd/gateway/program/roads.go", module + "/store/sqlstore", ""},
		{"cmd/loadtest/main.go", module + "/loadtest", ""},
		{"api/router.go", module + "/store", ""},
		{"api/router.go", module + "/models", ""},
		{"api/access.go", module + "/access", ""},
		{"cmd/gateway/program/access.go", module + "/access", ""},
		{"access/jwksurl.go", "net/http", ""},
		{"api/router.go", "github.com/go-chi/chi/v5", ""},
		{"api/spec.go", module, ""},
		{"api/router_test.go", module + "/store/memstore", ""},
		{"store/store.go", module + "/models", ""},
		{"store/ids_test.go", module + "/store", ""},
		{"store/ids_test.go", module + "/store/memstore", ""},
		{"store/sqlstore/store.go", "gorm.io/gorm", ""},
		{"store/sqlstore/store.go", module + "/store", ""},
		{"store/sqlstore/store_test.go", module + "/store/storetest", ""},
		{"store/ndbapi/pool.go", module + "/ndb", ""},
		{"store/storetest/run_test.go", module + "/store/memstore", ""},
		{"models/validate.go", "github.com/go-playground/validator/v10", ""},
		{"models/date_test.go", "gorm.io/gorm/schema", ""},
		{"ndb/client.go", module + "/ndb/internal/transporter", ""},
		{"ndb/client_test.go", module + "/ndb/ndbtest", ""},
		{"ndb/client.go", "net", ""},
		{"ndb/ndbtest/cluster.go", module + "/ndb/internal/signal", ""},
		{"ndb/internal/transporter/conn.go", module + "/ndb/internal/signal", ""},
		{"ndb/internal/signal/tc.go", module + "/ndb/internal/word", ""},

		{"ndb/internal/word/word.go", module + "/ndb/internal/signal", "only the standard library"},
		{"ndb/internal/word/word_test.go", "github.com/stretchr/testify/require", "only the standard library"},
		{"models/employee.go", "gorm.io/gorm", "only the standard library and the validator"},
		{"models/employee.go", module + "/store", "no other package of ours"},
		{"models/employee_test.go", module + "/store/memstore", "no other package of ours"},
		{"api/employees.go", module + "/store/sqlstore", "never imports a driver"},
		{"api/employees_test.go", module + "/store/ndbapi", "never imports a driver"},
		{"api/employees.go", module + "/store/memstore", "never imports a driver"},
		{"api/employees.go", module + "/ndb", "never imports a driver"},
		{"api/employees.go", "github.com/go-sql-driver/mysql", "never imports a driver"},
		{"api/internal/x/x.go", "gorm.io/driver/mysql", "never imports a driver"},
		{"access/keys.go", module + "/store", "knows no handler"},
		{"access/keys.go", module + "/api", "knows no handler"},
		{"store/sqlstore/tls.go", module + "/access", "for api, cmd"},
		{"loadtest/target/http.go", module + "/access", "for api, cmd"},
		{"store/store.go", module + "/store/memstore", "models alone"},
		{"store/store.go", module + "/ndb", "models alone"},
		{"store/sqlstore/store.go", module + "/api", "never imports api"},
		{"store/sqlstore/store.go", module + "/store/ndbapi", "never import each other"},
		{"store/ndbapi/store_test.go", module + "/store/memstore", "never import each other"},
		{"store/storetest/run.go", module + "/store/memstore", "imports no road"},
		{"ndb/client.go", module + "/models", "no model, no store and no HTTP"},
		{"ndb/internal/mgm/mgm.go", "net/http", "no model, no store and no HTTP"},
		{"ndb/ndbtest/cluster.go", module + "/store", "no model, no store and no HTTP"},
		{"ndb/ndbtest/cluster.go", module + "/ndb", "never ndb"},
		{"ndb/internal/signal/tc.go", module + "/ndb", "never imports ndb"},
		{"ndb/internal/row/row_test.go", module + "/ndb/ndbtest", "never imports ndb or ndb/ndbtest"},
		{"ndb/internal/mgm/mgm.go", module + "/ndb/internal/transporter", "the transporter above"},
		{"internal/x/x.go", module + "/cmd/gateway", "nothing imports cmd"},
		{"loadtest/engine.go", module + "/api", "loadtest never imports api"},
		{"internal/chaos/history/check.go", "github.com/anishathalye/porcupine", ""},
		{"internal/chaos/chaos_test.go", module + "/internal/chaos/history", ""},
		{"cmd/gateway/program/run.go", "github.com/anishathalye/porcupine", "porcupine is for the chaos suite"},
		{"cmd/gateway/program/run.go", module + "/internal/chaos/history", "porcupine is for the chaos suite"},
	}
	for _, test := range tests {
		got := strings.Join(wrongArrows([]arrow{newArrow(test.file, test.target)}), "\n")
		switch {
		case test.wrong == "" && got != "":
			t.Errorf("%s → %s: got %q, want it to be fine", test.file, test.target, got)
		case !strings.Contains(got, test.wrong):
			t.Errorf("%s → %s: got %q, want something with %q", test.file, test.target, got, test.wrong)
		}
	}
}

func TestReadArrows_LeavesOutWhatIsNotOfTheModule(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"go.mod":               "module " + module,
		"a/a.go":               "package a\nimport _ \"" + module + "/cmd/x\"\n",
		"a/testdata/t.go":      "no Go at all",
		".hidden/h.go":         "no Go at all",
		"other/go.mod":         "module other",
		"other/o.go":           "no Go at all",
		"b/windows_windows.go": "//go:build windows\n\npackage b\nimport \"os\"\n",
	}
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	arrows, err := readArrows(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(arrows) != 2 || arrows[0] != newArrow("a/a.go", module+"/cmd/x") || arrows[1] != newArrow("b/windows_windows.go", "os") {
		t.Errorf("got %v, want those of a/a.go and b/windows_windows.go", arrows)
	}
	if got := wrongArrows(arrows); len(got) != 1 {
		t.Errorf("got %q, want the one of a/a.go", got)
	}
}
