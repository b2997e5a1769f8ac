package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// process is what a command takes from the process it runs in.
type process struct {
	getenv         func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer
	open           func(Config, *slog.Logger) ([]road, error)
}

// command runs one command line and returns the exit code.
func command(ctx context.Context, args []string, p process) int {
	err := dispatch(ctx, args, p)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errNotAllOK) || errors.Is(err, errImportFailed) { // the lines of both say it
		return exitFailure
	}
	fmt.Fprintf(p.stderr, "gateway: %v\n", err)
	if _, ok := errors.AsType[*ConfigError](err); ok {
		fmt.Fprintln(p.stderr, "gateway serve --help lists the settings")
		return exitUsage
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailure
}

// usageError is a command line that cannot be run.
type usageError string

func (e usageError) Error() string { return string(e) }

func dispatch(ctx context.Context, args []string, p process) error {
	if len(args) == 0 {
		fmt.Fprint(p.stderr, usage())
		return usageError("a command is missing")
	}
	name, args := args[0], args[1:]
	switch name {
	case "serve":
		return withConfig(name, args, p, func(cfg Config) error { return run(ctx, cfg, p) })
	case "check":
		return withConfig(name, args, p, func(cfg Config) error { return check(ctx, cfg, p) })
	case "import":
		return importFile(ctx, args, p)
	case "export":
		return exportFile(ctx, args, p)
	case "version", "--version":
		return printVersion(args, p.stdout)
	case "help", "--help", "-help", "-h":
		if len(args) > 0 {
			return dispatch(ctx, []string{args[0], "--help"}, p)
		}
		_, err := io.WriteString(p.stdout, usage())
		return err
	default:
		return usageError(fmt.Sprintf("argument %s: expected serve, check, import, export or version%s",
			nameArgument(0, name), hint(name, "", []string{"serve", "check", "import", "export", "version"})))
	}
}

func withConfig(name string, args []string, p process, do func(Config) error) error {
	cfg, err := Load(args, p.getenv)
	if errors.Is(err, errHelp) {
		_, err := io.WriteString(p.stdout, settingsUsage(name))
		return err
	}
	if err != nil {
		return err
	}
	return do(cfg)
}
