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

func dispatch(ctx context.Context, args []string, p process) error {
	if len(args) == 0 {
		fmt.Fprint(p.stderr, usage())
		return badUsage("a command is missing")
	}
	name, args := args[0], args[1:]
	if c := findCommand(name); c != nil && c.flags == nil && len(args) == 1 && isHelp(args[0]) {
		return c.writeHelp(p.stdout, p, true)
	}
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
	case "completion":
		return completionCommand(args, p)
	case "help", "--help", "-help", "-h":
		return helpCommand(args, p)
	default:
		return badUsage("there is no command %q", name)
	}
}

func isHelp(arg string) bool { return arg == "--help" || arg == "-help" || arg == "-h" }

// parseFlags reads flags, and takes nothing else.
func parseFlags(flags *flag.FlagSet, args []string, p process) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return errors.Join(err, findCommand(flags.Name()).writeHelp(p.stdout, p, false))
	}
	if err != nil {
		return &usageError{err}
	}
	return nil
}
