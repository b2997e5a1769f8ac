package completion_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/internal/completion"
)

// sample has one of everything, and signs that shells take for their own.
var sample = completion.Program{Name: "sample", Commands: []completion.Command{
	{Name: "serve", Help: "it's [serving]: $HOME", Flags: []completion.Flag{
		{Name: "level", Help: `one of "these"`, Values: []string{"high", "low", "lower"}},
		{Name: "listen", Help: "host:port"},
		{Name: "config", Help: "a file", File: true},
		{Name: "quiet", Help: "say nothing", Switch: true},
	}},
	{Name: "import", Help: "store a file", Files: true, Flags: []completion.Flag{{Name: "target", Help: "gateway"}}},
	{Name: "help", Help: "tell", Words: []string{"serve", "import"}},
}}

func script(t *testing.T, shell string) string {
	t.Helper()
	var b bytes.Buffer
	if err := completion.Write(&b, shell, &sample); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBash_Completes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	tests := []struct{ words, want string }{
		{"sample ", "serve import help"},
		{"sample se", "serve"},
		{"sample serve ", "--level --listen --config --quiet --help"},
		{"sample serve --l", "--level --listen"},
		{"sample serve --level ", "high low lower"},
		{"sample serve --level = lo", "low lower"},
		{"sample serve --level =", "high low lower"},
		{"sample serve --listen ", ""},
		{"sample serve --config ", ""},
		{"sample serve --quiet --co", "--config"},
		{"sample import ", ""},
		{"sample import --", "--target --help"},
		{"sample help ", "serve import --help"},
		{"sample nothing ", ""},
	}
	for _, test := range tests {
		// As bash itself does it; the last word may be empty.
		code := script(t, "bash") + `
COMP_WORDS=(` + test.words + `)
if [[ $1 == *' ' ]]; then COMP_WORDS+=(''); fi
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_sample_completion
printf '%s' "${COMPREPLY[*]}"`
		got, err := exec.CommandContext(t.Context(), bash, "--norc", "-uc", code, "bash", test.words).CombinedOutput()
		if err != nil || string(got) != test.want {
			t.Errorf("%q: got %q and %v, want %q", test.words, got, err, test.want)
		}
	}
}

func TestScripts_AreGoodShell(t *testing.T) {
	for _, shell := range completion.Shells() {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not installed")
			}
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(script(t, shell)), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), program, "-n", file).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestFish_Completes(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("fish is not installed")
	}
	code := script(t, "fish") + "complete -C 'sample serve --level lo'\ncomplete -C 'sample im'\n"
	got, err := exec.CommandContext(t.Context(), fish, "--no-config", "-c", code).CombinedOutput()
	if want := "low\tone of \"these\"\nlower\tone of \"these\"\nimport\tstore a file\n"; err != nil || string(got) != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

func TestZsh_LoadsWithItsCompletionSystem(t *testing.T) {
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("zsh is not installed")
	}
	code := "autoload -Uz compinit && compinit -D\n" + script(t, "zsh") + "print -r -- $_comps[sample] $+functions[_sample]\n"
	got, err := exec.CommandContext(t.Context(), zsh, "-f", "-c", code).CombinedOutput()
	if want := "_sample 1\n"; err != nil || string(got) != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

func TestWrite_NamesEverythingForEachShell(t *testing.T) {
	for _, shell := range completion.Shells() {
		text := script(t, shell)
		for _, want := range []string{"serve", "import", "help", "level", "lower", "listen", "config", "quiet", "target"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is missing", shell, want)
			}
		}
	}
}

func TestWrite_UnknownShell(t *testing.T) {
	if err := completion.Write(&bytes.Buffer{}, "cmd.exe", &sample); err == nil {
		t.Error("got no error")
	}
}
