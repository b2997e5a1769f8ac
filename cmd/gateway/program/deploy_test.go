package program

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// noSettings are variables that look like settings and belong to others.
var noSettings = []string{
	"GATEWAY_SQL_PASSWORD", // of docker-compose.yml, for the mysqlds too
	"GATEWAY_API_KEY",      // of gateway import and gateway export
}

// TestDeployedVariables_AreSettings reads every file that tells people, or other
// programs, what to set.
func TestDeployedVariables_AreSettings(t *testing.T) {
	variable := regexp.MustCompile(`\bGATEWAY_[A-Z][A-Z_]*\b`)
	seen := 0
	for _, file := range deployedFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range variable.FindAllString(string(text), -1) {
			seen++
			known := slices.ContainsFunc(settings, func(s setting) bool { return s.envName() == name })
			if !known && !slices.Contains(noSettings, name) {
				t.Errorf("%s: %s is no setting%s", file, name, hint(strings.TrimPrefix(name, "GATEWAY_"), "", settingNames()))
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d variables found: the test looks in the wrong place", seen)
	}
}

func deployedFiles(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	files := []string{
		filepath.Join(root, "README.md"), filepath.Join(root, "Makefile"), filepath.Join(root, "Dockerfile"), filepath.Join(root, "docker-compose.yml"),
	}
	for _, folder := range []string{"deploy", "docs", "scripts"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files = append(files, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestCompose_GatewayTakesItsConfiguration reads what docker-compose.yml sets, with
// the defaults of its own variables.
func TestCompose_GatewayTakesItsConfiguration(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`).ReplaceAll(text, []byte("$1"))
	var compose struct {
		Services map[string]struct {
			Environment map[string]string
			Ports       []string
		}
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	gateway := compose.Services["gateway"]
	cfg, err := Load(nil, lookup(gateway.Environment))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{cfg.Listen, cfg.AdminListen} {
		_, port, _ := strings.Cut(address, ":")
		if !slices.ContainsFunc(gateway.Ports, func(p string) bool { return strings.HasSuffix(p, ":"+port) }) {
			t.Errorf("got the ports %v, want one for %s", gateway.Ports, address)
		}
	}
}
