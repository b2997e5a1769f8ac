package main

import (
	"flag"
	"io/fs"
	"slices"
	"strings"

	"github.com/ndbgate/ndbgate/internal/completion"
	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/scenarios"
)

const completionHelp = `Prints a script with which the shell completes commands and flags. For the shell
that runs now:
  bash   source <(loadtest completion bash)
  zsh    source <(loadtest completion zsh)       # after compinit
  fish   loadtest completion fish | source`

func completionCommand(args []string, p process) error {
	if len(args) != 1 || !slices.Contains(completion.Shells(), args[0]) {
		return badUsage("completion takes one of %s", strings.Join(completion.Shells(), ", "))
	}
	return completion.Write(p.stdout, args[0], commandLine(p))
}

// commandLine is all that can be written behind loadtest.
func commandLine(p process) *completion.Program {
	program := &completion.Program{Name: "loadtest"}
	for _, c := range commandList {
		command := completion.Command{Name: c.name, Help: c.help, Files: c.files}
		if c.flags != nil {
			c.flags(p).VisitAll(func(f *flag.Flag) { command.Flags = append(command.Flags, shellFlag(f)) })
		}
		switch c.name {
		case "completion":
			command.Words = completion.Shells()
		case "help":
			for _, other := range commandList {
				command.Words = append(command.Words, other.name)
			}
		}
		program.Commands = append(program.Commands, command)
	}
	return program
}

func shellFlag(f *flag.Flag) completion.Flag {
	shown := completion.Flag{Name: f.Name, Help: f.Usage, Values: flagValues(f.Name), File: f.Name == "out"}
	boolean, ok := f.Value.(interface{ IsBoolFlag() bool })
	shown.Switch = ok && boolean.IsBoolFlag()
	return shown
}

// flagValues are the values of a flag that takes one of a few words.
func flagValues(name string) []string {
	switch name {
	case "arrivals":
		return []string{string(loadtest.Constant), string(loadtest.Poisson)}
	case "keys":
		return []string{string(loadtest.Uniform), string(loadtest.Sequential), string(loadtest.Zipf)}
	case "mode":
		return []string{"article"}
	case "scenario":
		files, err := fs.Glob(scenarios.Files, "*.yaml")
		if err != nil {
			panic(err) // the pattern is right
		}
		for i, file := range files {
			files[i] = strings.TrimSuffix(file, ".yaml")
		}
		return files
	default:
		return nil
	}
}
