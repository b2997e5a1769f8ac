package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// commandHelp is a command as help and shells tell of it.
type commandHelp struct {
	name string
	help string // in few words
	args string // behind the flags, as usage shows them
	long string
	// flags makes the flags; nil: it has none.
	flags func(p process) *flag.FlagSet
	// usual are the flags that COMMAND --help shows, where all of them do not fit a
	// screen.
	usual []string
	files bool // its arguments are files
}

var commandList = []commandHelp{
	{
		name: "run", help: "operations x roads x threads: throughput, latency, processor time", long: runHelp,
		flags: func(p process) *flag.FlagSet { _, flags := newRunFlags(p); return flags },
		usual: []string{"target", "direct", "backends", "ops", "threads", "duration", "rate", "scenario", "quick"},
	},
	{
		name: "batch", help: "many rows in one commit: milliseconds and rows in a second", long: batchHelp,
		flags: func(p process) *flag.FlagSet { _, flags := newBatchFlags(p); return flags },
		usual: []string{"target", "backends", "sizes", "runs", "writers", "engines", "scenario", "quick"},
	},
	{
		name: "compare", help: "two reports, cell by cell; exit code 1 on a regression", args: " OLD.json NEW.json", long: compareHelp,
		flags: func(process) *flag.FlagSet { _, flags := newCompareFlags(); return flags }, files: true,
	},
	{
		name: "report", help: "tables, CSV and HTML page again, out of a report.json", args: " REPORT.json",
		long: "Prints the tables, and writes cells.csv and report.html beside the file.", files: true,
	},
	{name: "scenarios", help: "lists measurements that are worth repeating", long: "Lists what --scenario of run and batch may name."},
	{
		name: "null", help: "a gateway that does nothing, to measure the harness itself", long: nullHelp,
		flags: func(process) *flag.FlagSet { _, flags := newNullFlags(); return flags },
	},
	{name: "completion", help: "print what bash, zsh or fish need to complete all this", args: " bash|zsh|fish", long: completionHelp},
	{name: "version", help: "print what this program was built from", long: "Prints the version, the commit where known, Go's version and the platform."},
	{name: "help", help: "tell of a command with all its flags", args: " [COMMAND]", long: "Tells of the commands, or of one with all its flags."},
}

func findCommand(name string) *commandHelp {
	at := slices.IndexFunc(commandList, func(c commandHelp) bool { return c.name == name })
	if at < 0 {
		return nil
	}
	return &commandList[at]
}

// usage and what COMMAND --help prints fit a screen of 80 x 24.
func usage() string {
	var b strings.Builder
	b.WriteString(`Usage: loadtest COMMAND [--FLAG=VALUE ...]

Measures the roads to the rows of a MySQL NDB Cluster: how fast each is, what it
costs, and where it stops.

Commands:
`)
	for _, c := range commandList {
		fmt.Fprintf(&b, "  %-10s  %s\n", c.name, c.help)
	}
	b.WriteString(`
Every command has --help. A first look, with a gateway on this host:
  loadtest run --target http://127.0.0.1:8080 --quick
The first interrupt (Ctrl-C) ends the measurement and writes the report of what
was measured, the second one ends at once.
Exit codes: 0 fine, 1 failed, 2 wrong command line.
`)
	return b.String()
}

// writeHelp tells of the command, with its usual flags or all of them.
func (c *commandHelp) writeHelp(w io.Writer, p process, all bool) error {
	var flags *flag.FlagSet
	shown := ""
	if c.flags != nil {
		flags, shown = c.flags(p), " [--FLAG=VALUE ...]"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: loadtest %s%s%s\n\n%s\n", c.name, shown, c.args, c.long)
	switch {
	case flags == nil:
	case all || len(c.usual) == 0:
		b.WriteString("\nFlags, with their defaults in brackets:\n")
		flags.VisitAll(func(f *flag.Flag) { writeFlag(&b, f) })
	default:
		fmt.Fprintf(&b, "\nFlags used most, with their defaults in brackets; all: loadtest help %s\n", c.name)
		for _, name := range c.usual {
			writeFlag(&b, flags.Lookup(name))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	screenColumns = 80
	helpColumn    = 22 // where the words about a flag begin
)

func writeFlag(b *strings.Builder, f *flag.Flag) {
	text := f.Usage
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
		text += " [" + f.DefValue + "]"
	}
	line := fmt.Sprintf("  --%-*s", helpColumn-5, f.Name)
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > screenColumns {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", helpColumn-1)
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// helpCommand runs loadtest help.
func helpCommand(args []string, p process) error {
	if len(args) == 0 {
		_, err := io.WriteString(p.stdout, usage())
		return err
	}
	c := findCommand(args[0])
	if c == nil {
		return badUsage("there is no command %q", args[0])
	}
	return c.writeHelp(p.stdout, p, true)
}
