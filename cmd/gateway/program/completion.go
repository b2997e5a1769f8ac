package program

import (
	"io"
	"slices"
	"strings"

	"github.com/ndbgate/ndbgate/internal/completion"
)

const completionUsage = `Usage: gateway completion bash|zsh|fish

Prints a script with which the shell completes commands, settings and flags.
For the shell that runs now:
  bash   source <(gateway completion bash)
  zsh    source <(gateway completion zsh)       # after compinit
  fish   gateway completion fish | source
For good: the same line in ~/.bashrc or ~/.zshrc, or in fish
  gateway completion fish >~/.config/fish/completions/gateway.fish
`

// printCompletion runs gateway completion.
func printCompletion(args []string, w io.Writer) error {
	if len(args) == 1 && slices.Contains([]string{"--help", "-help", "-h"}, args[0]) {
		_, err := io.WriteString(w, completionUsage)
		return err
	}
	if len(args) != 1 || !slices.Contains(completion.Shells(), args[0]) {
		return usageError("completion takes one of " + strings.Join(completion.Shells(), ", "))
	}
	return completion.Write(w, args[0], commandLine())
}

// commandLine is all that can be written behind gateway.
func commandLine() *completion.Program {
	p := &completion.Program{Name: "gateway"}
	for _, c := range commandList {
		command := completion.Command{Name: c.name, Help: c.help}
		switch c.name {
		case "serve", "check":
			command.Flags = settingFlags()
		case "import":
			command.Flags, command.Files = optionFlags(newImporting(process{}).options()), true
		case "export":
			command.Flags, command.Files = optionFlags(newExporting(process{}).options()), true
		case "keys":
			command.Words = []string{"new", "check"}
		case "completion":
			command.Words = completion.Shells()
		case "help":
			command.Words = slices.Concat(commandNames(), []string{"settings"}, topics())
		}
		p.Commands = append(p.Commands, command)
	}
	return p
}

func settingFlags() []completion.Flag {
	var flags []completion.Flag
	for _, s := range settings {
		flags = append(flags, completion.Flag{Name: s.name, Help: s.help, Values: s.words, File: s.file})
	}
	return flags
}

func optionFlags(options []option) []completion.Flag {
	var flags []completion.Flag
	for _, o := range options {
		flags = append(flags, completion.Flag{Name: o.name, Help: o.help, Values: o.words})
	}
	return flags
}
