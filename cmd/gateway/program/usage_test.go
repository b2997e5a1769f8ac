package program

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/internal/completion"
)

func TestHelpSettings_TellsOfEverySettingOnce(t *testing.T) {
	r := runCommand(t, nil, "help", "settings")
	if r.code != exitOK || r.stderr != "" {
		t.Fatalf("got exit code %d and %q on stderr, want 0 and nothing", r.code, r.stderr)
	}
	for _, s := range settings {
		if n := strings.Count(r.stdout, "  --"+s.name+" "); n != 1 || !strings.Contains(r.stdout, s.fallback) {
			t.Errorf("--%s with its default %q: got %d times, want once", s.name, s.fallback, n)
		}
	}
	for line := range strings.Lines(r.stdout) {
		if len(strings.TrimSuffix(line, "\n")) > screenColumns {
			t.Errorf("line of %d characters: %s", len(line), line)
		}
	}
}

func TestHelpOfATopic_HasItsSettings(t *testing.T) {
	for _, topic := range topics() {
		r := runCommand(t, nil, "help", topic)
		for _, s := range settings {
			if got, want := strings.Contains(r.stdout, "  --"+s.name+" "), s.topic == topic; got != want {
				t.Errorf("help %s: got --%s there %t, want %t", topic, s.name, got, want)
			}
		}
	}
}

func TestUsage_NamesWhatDispatchKnows(t *testing.T) {
	for _, c := range commandList {
		args := []string{c.name, "--help"}
		if c.name == "help" {
			args = args[:1]
		}
		if r := runCommand(t, nil, args...); r.code != exitOK {
			t.Errorf("%v: got exit code %d, want 0: %s", args, r.code, r.stderr)
		}
	}
}

func TestCompletion_InBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	script := runCommand(t, nil, "completion", "bash").stdout
	tests := []struct{ words, want string }{
		{"gateway ''", strings.Join(append(commandNames(), "help"), " ")},
		{"gateway serve --log-level = wa", "warn"},
		{"gateway check --sql-d", "--sql-dsn"},
		{"gateway import --on-c", "--on-conflict"},
		{"gateway import --on-conflict ''", "fail skip replace"},
		{"gateway help sett", "settings"},
		{"gateway completion z", "zsh"},
	}
	for _, test := range tests {
		code := fmt.Sprintf("%s\nCOMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_gateway_completion\nprintf '%%s' \"${COMPREPLY[*]}\"",
			script, test.words)
		got, err := exec.CommandContext(t.Context(), bash, "--norc", "-uc", code).CombinedOutput()
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %q and %v, want %q", test.words, got, err, test.want)
		}
	}
}

func TestCompletion_EveryShellHasEverySetting(t *testing.T) {
	for _, shell := range completion.Shells() {
		r := runCommand(t, nil, "completion", shell)
		if r.code != exitOK {
			t.Errorf("%s: got exit code %d, want 0", shell, r.code)
		}
		for _, s := range settings {
			if !strings.Contains(r.stdout, s.name) {
				t.Errorf("%s: --%s is missing", shell, s.name)
			}
		}
	}
}

func TestCompletion_Unusable(t *testing.T) {
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "bash", "zsh"}} {
		if r := runCommand(t, nil, args...); r.code != exitUsage || r.stdout != "" {
			t.Errorf("%v: got exit code %d and %q on stdout, want 2 and nothing", args, r.code, r.stdout)
		}
	}
}
