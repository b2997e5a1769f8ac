package layers

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs are the commands of the module, which people build for themselves, and
// what none of them may have in it, be it by a library of a library.
var (
	programs = []string{"./cmd/gateway", "./cmd/loadtest", "./cmd/ndbping"}
	foreign  = []string{"go.opentelemetry.io/", "google.golang.org/grpc", "github.com/dolthub/", module + "/ndb/ndbtest"}
)

func TestPrograms_HaveNothingHeavyBuiltIn(t *testing.T) {
	for _, program := range programs {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", program)
		list.Dir = filepath.Join("..", "..")
		output, err := list.Output()
		if err != nil {
			t.Fatalf("%v: %v", list, err)
		}
		packages := strings.Fields(string(output))
		if len(packages) < 50 {
			t.Errorf("%s: got %d packages: the test looks in the wrong place", program, len(packages))
		}
		for _, p := range packages {
			for _, f := range foreign {
				if strings.HasPrefix(p, f) {
					t.Errorf("%s has %s built in", program, p)
				}
			}
		}
	}
}
