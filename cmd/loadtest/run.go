package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/loadtest"
)

const runHelp = `Measures operations by each road with each number of threads, several times, in
an order that spreads slow changes of the machine over all of them. A table
employee with the run's own rows is needed: they are made before, checked before
and after, and deleted at the end.`

func runCommand(ctx context.Context, args []string, p process) (err error) {
	f, flags := newRunFlags(p)
	if err := parseFlags(flags, args, p); err != nil {
		return err
	}
	config, err := f.finish(flags)
	if err != nil {
		return err
	}
	if config.CPU, err = sources(f.cpu); err != nil {
		return err
	}
	out, err := newOutput(f.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.abandon()) }()
	target, err := f.open(ctx)
	if err != nil {
		return err
	}
	if len(f.cpu) == 0 {
		config.CPU = target.cpu
	}
	config.Targets, config.Way = target.roads, target.way
	config.Unchecked = config.Unchecked || target.way == "null"
	progress := newProgress(p)
	config.Progress = progress.show
	complete := func(r *loadtest.Report) {
		r.Tool, r.Target, r.Command = thisTool(), target.about, shownCommand("run", args)
	}
	config.Checkpoint = func(r *loadtest.Report) error {
		complete(r)
		return out.keep(r)
	}
	report, err := loadtest.Run(ctx, *config)
	progress.end()
	err = errors.Join(err, target.close())
	if report == nil {
		return &usageError{err}
	}
	complete(report)
	return errors.Join(err, finish(report, out, p))
}

// finish prints the tables and writes all files.
func finish(report *loadtest.Report, out *output, p process) error {
	tablesErr := loadtest.WriteTables(p.stdout, report)
	where, err := out.write(report)
	if err == nil {
		fmt.Fprintf(p.stderr, "report: %s\n", where)
	}
	return errors.Join(tablesErr, err)
}

// shownCommand is the command line without what may hold a password.
func shownCommand(name string, args []string) []string {
	shown := []string{"loadtest", name}
	hide := false
	for _, arg := range args {
		switch {
		case hide:
			arg, hide = "(hidden)", false
		case isDSN(arg) && !hasValue(arg):
			hide = true
		case isDSN(arg):
			arg = "--sql-dsn=(hidden)"
		}
		shown = append(shown, arg)
	}
	return shown
}

func reportCommand(args []string, p process) error {
	if len(args) != 1 {
		return badUsage("report takes one file")
	}
	report, err := readReport(args[0])
	if err != nil {
		return err
	}
	return finish(report, beside(args[0]), p)
}
