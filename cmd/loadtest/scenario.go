package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/scenarios"
)

// scenario is a file that stands for flags. Its keys are their names; those that
// are none are the fields here.
type scenario struct {
	about   string
	command string
	hooks   []loadtest.Hook
	flags   []scenarioFlag // in the order of the file
}

type scenarioFlag struct {
	name   string
	values []string
	list   bool
	line   int
}

// hookFields are a hook in the file.
type hookFields struct {
	Name    string
	At      time.Duration
	Cell    *int // from 0 on; absent: every one
	Run     []string
	Timeout time.Duration
	Always  bool
}

// readScenario reads a file, or the scenario of that name that comes with the
// program.
func readScenario(name string) (*scenario, error) {
	text, err := fs.ReadFile(scenarios.Files, name+".yaml")
	if err != nil {
		if text, err = os.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
			return nil, badUsage("--scenario %q: there is no such file, and no scenario; loadtest scenarios lists them", name)
		}
	}
	if err != nil {
		return nil, err
	}
	s, err := parseScenario(text)
	if err != nil {
		return nil, badUsage("--scenario %s: %w", name, err)
	}
	return s, nil
}

func parseScenario(text []byte) (*scenario, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("want a mapping of flags to values")
	}
	s := &scenario{command: "run"}
	pairs := doc.Content[0].Content
	for i := 0; i < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		var err error
		switch key.Value {
		case "about":
			err = value.Decode(&s.about)
		case "command":
			err = value.Decode(&s.command)
		case "hooks":
			s.hooks, err = parseHooks(value)
		default:
			f := scenarioFlag{name: key.Value, line: key.Line}
			switch value.Kind {
			case yaml.ScalarNode:
				f.values = []string{value.Value}
			case yaml.SequenceNode:
				f.list = true
				err = value.Decode(&f.values)
			default:
				err = errors.New("want a value, or a list")
			}
			s.flags = append(s.flags, f)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", key.Line, key.Value, err)
		}
	}
	return s, nil
}

func parseHooks(value *yaml.Node) ([]loadtest.Hook, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var all []hookFields
	if err := decoder.Decode(&all); err != nil {
		return nil, err
	}
	var hooks []loadtest.Hook
	for _, f := range all {
		if len(f.Run) == 0 || f.Name == "" || f.At < 0 || f.Timeout < 0 {
			return nil, fmt.Errorf("hook %q: want a name, a command to run, and times that are not negative", f.Name)
		}
		h := loadtest.Hook{Name: f.Name, At: f.At, Cell: -1, Timeout: f.Timeout, Always: f.Always, Run: runner(f.Run)}
		if f.Cell != nil {
			h.Cell = *f.Cell
		}
		hooks = append(hooks, h)
	}
	return hooks, nil
}

// hookGrace is how long a command has left to end once it was told to.
const hookGrace = 5 * time.Second

// runner runs a command, whose output counts only where it fails.
func runner(command []string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = hookGrace
		detach(cmd) // an interrupt of the terminal is not meant for it
		output, err := cmd.CombinedOutput()
		if err != nil {
			lines := strings.Split(strings.TrimSpace(string(output)), "\n")
			return fmt.Errorf("%s: %w: %.200s", strings.Join(command, " "), err, lines[len(lines)-1])
		}
		return nil
	}
}

// apply sets the flags of the scenario that the command line did not give.
func (s *scenario) apply(command string, flags *flag.FlagSet) error {
	if s.command != command {
		return badUsage("the scenario is for loadtest %s", s.command)
	}
	given := givenFlags(flags)
	for _, f := range s.flags {
		known := flags.Lookup(f.name)
		if known == nil || f.name == "scenario" {
			return badUsage("--scenario: line %d: there is no flag %s", f.line, f.name)
		}
		if given[f.name] {
			continue
		}
		values := f.values
		if f.list && f.name != "mix" && f.name != "cpu" {
			values = []string{strings.Join(f.values, ",")}
		}
		for _, value := range values {
			if err := flags.Set(f.name, value); err != nil {
				return badUsage("--scenario: line %d: %s: %w", f.line, f.name, err)
			}
		}
	}
	return nil
}

// listScenarios prints those that come with the program.
func listScenarios(w io.Writer) error {
	files, err := fs.Glob(scenarios.Files, "*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		s, err := readScenario(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-12s loadtest %-5s --scenario %-12s %s\n", name, s.command, name, s.about); err != nil {
			return err
		}
	}
	return nil
}
