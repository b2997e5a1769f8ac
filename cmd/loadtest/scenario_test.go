package main

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/scenarios"
)

func noEnv(string) string { return "" }

func TestScenarios_ThatComeWithTheProgram_AreValid(t *testing.T) {
	files, err := fs.Glob(scenarios.Files, "*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("got %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		s, err := readScenario(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.about == "" {
			t.Errorf("%s: about is missing", name)
		}
		switch s.command {
		case "run":
			f, flags := newRunFlags(process{getenv: noEnv})
			if err := flags.Parse([]string{"--scenario", name}); err != nil {
				t.Fatal(err)
			}
			c, err := f.finish(flags)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			// The target is all that is missing.
			if err := c.Validate(); err == nil || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("%s: %v", name, err)
			}
		case "batch":
			f, flags := newBatchFlags(process{getenv: noEnv})
			if err := flags.Parse([]string{"--scenario", name}); err != nil {
				t.Fatal(err)
			}
			if err := f.finish(flags); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		default:
			t.Errorf("%s: got the command %q", name, s.command)
		}
	}
}

func TestScenario_CommandLineIsStronger_QuickToo(t *testing.T) {
	f, flags := newRunFlags(process{getenv: noEnv})
	if err := flags.Parse([]string{"--scenario=mixed", "--threads=3", "--quick"}); err != nil {
		t.Fatal(err)
	}
	c, err := f.finish(flags)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Threads) != 1 || c.Threads[0] != 3 || c.Duration != 700*time.Millisecond || len(c.Workloads) != 1 || c.Workloads[0].Name != "mixed" || c.Title != "Mixed work" {
		t.Errorf("got %+v", c)
	}
}

func TestScenario_Hooks(t *testing.T) {
	s, err := readScenario("node-kill")
	if err != nil || len(s.hooks) != 2 || s.hooks[0].At != 15*time.Second || s.hooks[0].Cell != -1 || s.hooks[0].Always || !s.hooks[1].Always || s.hooks[1].Timeout != 3*time.Minute {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestParseScenario_NamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"- a", "want a mapping"},
		{"", "want a mapping"},
		{"a: b: c", "mapping values are not allowed"},
		{"threads: {a: 1}", "line 1: threads: want a value, or a list"},
		{"hooks: [{name: x}]", `line 1: hooks: hook "x": want a name, a command`},
		{"hooks: [{name: x, run: [y], when: 3s}]", "field when not found"},
		{"hooks: [{name: x, run: [y], at: soon}]", "line 1: hooks"},
	} {
		if _, err := parseScenario([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"\nthread: [1]", "line 2: there is no flag thread"},
		{"duration: long", "line 1: duration"},
		{"command: batch", "is for loadtest batch"},
	} {
		s, err := parseScenario([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		_, flags := newRunFlags(process{getenv: noEnv})
		if err := s.apply("run", flags); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestRunner_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := runner([]string{"sleep", "60"})(ctx); err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	if err := runner([]string{"sh", "-c", "echo one; echo two >&2; exit 4"})(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 4: two") {
		t.Errorf("got %v", err)
	}
	if err := runner([]string{"true"})(t.Context()); err != nil {
		t.Error(err)
	}
}
