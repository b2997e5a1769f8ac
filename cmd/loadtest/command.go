package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// process is what a command takes from the process it runs in.
type process struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	terminal       bool // stderr is one
}

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func badUsage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// errTold ends a command that has already said what is wrong.
var errTold = errors.New("told")

// command runs one command line and returns the exit code.
func command(ctx context.Context, args []string, p process) int {
	err := dispatch(ctx, args, p)
	var wrong *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errTold):
		return exitFailure
	}
	fmt.Fprintf(p.stderr, "loadtest: %v\n", err)
	if errors.As(err, &wrong) {
		fmt.Fprintln(p.stderr, "loadtest help lists the commands, loadtest COMMAND --help its flags")
		return exitUsage
	}
	return exitFailure
}

const usage = `Usage: loadtest COMMAND [--FLAG=VALUE ...]

Measures the roads to the rows of a MySQL NDB Cluster: how fast each is, what it
costs, and where it stops.

Commands:
  run        operations x roads x threads: throughput, latency, processor time
  batch      many rows in one commit: milliseconds and rows in a second
  compare    two reports, cell by cell; exit code 1 on a regression
  report     tables, CSV and HTML page again, out of a report.json
  scenarios  lists measurements that are worth repeating
  null       a gateway that does nothing, to measure the harness itself
  version    print what this program was built from

Every command has --help. A first look, with a gateway on this host:
  loadtest run --target http://127.0.0.1:8080 --quick
The first interrupt (Ctrl-C) ends the measurement and writes the report of what
was measured, the second one ends at once.
Exit codes: 0 fine, 1 failed, 2 wrong command line.
`

func dispatch(ctx context.Context, args []string, p process) error {
	if len(args) == 0 {
		fmt.Fprint(p.stderr, usage)
		return badUsage("a command is missing")
	}
	name, args := args[0], args[1:]
	switch name {
	case "run":
		return runCommand(ctx, args, p)
	case "batch":
		return batchCommand(ctx, args, p)
	case "compare":
		return compareCommand(args, p)
	case "report":
		return reportCommand(args, p)
	case "null":
		return nullCommand(ctx, args, p)
	case "scenarios":
		return listScenarios(p.stdout)
	case "version", "--version":
		return printVersion(p)
	case "help", "--help", "-help", "-h":
		_, err := io.WriteString(p.stdout, usage)
		return err
	default:
		return badUsage("there is no command %q", name)
	}
}

// parseFlags reads flags, and takes nothing else.
func parseFlags(flags *flag.FlagSet, args []string, p process, what string) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(p.stdout, "Usage: loadtest %s [--FLAG=VALUE ...]\n\n%s\n\nFlags, with their defaults in brackets:\n", flags.Name(), what)
		printFlags(p.stdout, flags)
		return err
	}
	if err != nil {
		return &usageError{err}
	}
	return nil
}

func printFlags(w io.Writer, flags *flag.FlagSet) {
	flags.VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(w, "  --%-18s %s", f.Name, f.Usage)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			fmt.Fprintf(w, " [%s]", f.DefValue)
		}
		fmt.Fprintln(w)
	})
}
