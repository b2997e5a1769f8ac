package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
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
	tracer         OpenTracer              // nil: no spans are made
	signals        func() <-chan os.Signal // hangups, which have serve read its files again; nil: there are none
}

// hangups is a channel that may be nil.
func (p *process) hangups() <-chan os.Signal {
	if p.signals == nil {
		return nil
	}
	return p.signals()
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
		fmt.Fprintln(p.stderr, "gateway help settings lists them")
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
	case "keys":
		return keysCommand(args, p)
	case "version", "--version":
		return printVersion(args, p.stdout)
	case "completion":
		return printCompletion(args, p.stdout)
	case "help", "--help", "-help", "-h":
		return help(ctx, args, p)
	default:
		names := commandNames()
		return usageError(fmt.Sprintf("argument %s: expected %s or %s%s", nameArgument(0, name),
			strings.Join(names[:len(names)-1], ", "), names[len(names)-1], hint(name, "", names)))
	}
}

// help tells of all commands, of one, of all settings, or of those of a topic.
func help(ctx context.Context, args []string, p process) error {
	text := usage()
	switch {
	case len(args) == 0:
	case args[0] == "settings":
		text = allSettings()
	case slices.Contains(topics(), args[0]):
		text = topicUsage(args[0])
	default:
		return dispatch(ctx, []string{args[0], "--help"}, p)
	}
	_, err := io.WriteString(p.stdout, text)
	return err
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
