package main

import (
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/internal/completion"
)

func TestHelp_FitsAScreen(t *testing.T) {
	commands := [][]string{{"help"}, {"--help"}}
	for _, c := range commandList {
		if c.name != "help" {
			commands = append(commands, []string{c.name, "--help"})
		}
	}
	for _, args := range commands {
		r := do(t.Context(), args...)
		if r.exit != exitOK || r.stderr != "" {
			t.Errorf("%v: got exit %d and %q on stderr, want 0 and nothing", args, r.exit, r.stderr)
		}
		if n := strings.Count(r.stdout, "\n"); n > 23 { // the prompt takes one of 24
			t.Errorf("%v: %d lines", args, n)
		}
		wantNarrow(t, args, r.stdout)
	}
}

func wantNarrow(t *testing.T, args []string, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len(strings.TrimSuffix(line, "\n")) > screenColumns {
			t.Errorf("%v: line of %d characters: %s", args, len(line)-1, line)
		}
	}
}

func TestHelpOfACommand_HasEveryFlag(t *testing.T) {
	for _, c := range commandList {
		if c.flags == nil {
			continue
		}
		r := do(t.Context(), "help", c.name)
		wantNarrow(t, []string{"help", c.name}, r.stdout)
		flags := c.flags(process{getenv: noEnv})
		flags.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(r.stdout, "  --"+f.Name+" ") {
				t.Errorf("help %s: --%s is missing", c.name, f.Name)
			}
		})
		for _, name := range c.usual {
			if flags.Lookup(name) == nil {
				t.Errorf("%s has no flag %s", c.name, name)
			}
		}
	}
}

func TestCompletion_InBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	script := do(t.Context(), "completion", "bash").stdout
	tests := []struct{ words, want string }{
		{"loadtest com", "compare completion"},
		{"loadtest run --find", "--find-max"},
		{"loadtest run --keys ''", "uniform sequential zipf"},
		{"loadtest run --scenario = node", "node-kill"},
		{"loadtest run --quick --rat", "--rate"},
		{"loadtest compare --un", "--unlike"},
		{"loadtest compare ''", ""},
	}
	for _, test := range tests {
		code := fmt.Sprintf("%s\nCOMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_loadtest_completion\nprintf '%%s' \"${COMPREPLY[*]}\"",
			script, test.words)
		got, err := exec.CommandContext(t.Context(), bash, "--norc", "-uc", code).CombinedOutput()
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %q and %v, want %q", test.words, got, err, test.want)
		}
	}
}

func TestCompletion_EveryShell(t *testing.T) {
	for _, shell := range completion.Shells() {
		if r := do(t.Context(), "completion", shell); r.exit != exitOK || !strings.Contains(r.stdout, "max-regress") {
			t.Errorf("%s: got exit %d and %q", shell, r.exit, r.stdout)
		}
	}
}
