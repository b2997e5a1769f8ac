// Command loadtest measures the roads of the gateway, end to end.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(command(untilSignal(), os.Args[1:], process{
		getenv: os.Getenv, stdout: os.Stdout, stderr: os.Stderr, terminal: isTerminal(os.Stderr),
	}))
}

// untilSignal returns a context that ends with SIGINT or SIGTERM: the
// measurement ends, its rows are deleted, and its report is written. A second one
// ends the process.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-signals
		if len(os.Args) > 1 && (os.Args[1] == "run" || os.Args[1] == "batch") {
			fmt.Fprintln(os.Stderr, "\nloadtest: ending. A second interrupt ends at once: without a report, and with rows that the next run deletes")
		}
		cancel()
		<-signals
		os.Exit(exitFailure)
	}()
	return ctx
}

// isTerminal tells whether lines can be written over.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
