// Package program is the gateway as a program, for the commands that differ in
// what is built into them.
package program

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the command line of this process and returns the exit code. A tracer
// that is nil makes no spans.
func Main(tracer OpenTracer) int {
	return command(untilSignal(), os.Args[1:], process{
		getenv: os.LookupEnv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, open: openRoads, signals: hangups, tracer: tracer,
	})
}

// hangups is asked for by serve alone: other commands end with their terminal.
func hangups() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals
}

// untilSignal returns a context that ends with SIGINT or SIGTERM. A second one
// ends the process: whoever asks twice does not want to wait.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailure)
	}()
	return ctx
}
