package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/target"
)

const nullHelp = `Answers as a gateway whose every row is there, and keeps nothing: what another
loadtest measures of it is the harness itself, its HTTP included. It serves
until SIGINT or SIGTERM, or --duration.`

type nullFlags struct {
	listen, backends string
	duration         time.Duration
}

func newNullFlags() (*nullFlags, *flag.FlagSet) {
	f := &nullFlags{}
	flags := flag.NewFlagSet("null", flag.ContinueOnError)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8099", "address")
	flags.StringVar(&f.backends, "backends", "ndb,sql", "names of the roads")
	flags.DurationVar(&f.duration, "duration", time.Hour, "end after so long")
	return f, flags
}

func nullCommand(ctx context.Context, args []string, p process) error {
	f, flags := newNullFlags()
	if err := parseFlags(flags, args, p); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return badUsage("argument %q: null takes flags alone", flags.Arg(0))
	}
	if err := mustBePositive(flags, "duration"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{Handler: &target.NullGateway{Backends: strings.Split(f.backends, ",")}, ReadHeaderTimeout: 5 * time.Second}
	fmt.Fprintf(p.stderr, "answering on http://%s\n", listener.Addr())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve tells
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
