// Command devcluster is a cluster for development and tests in one process,
// with nothing to install.
//
// For now it is the SQL node only: a MySQL server with the table employee, in
// memory. There is no management server and no data node yet.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/ndbgate/ndbgate/devcluster/sqlnode"
)

const (
	defaultListen = "127.0.0.1:3306"
	freeListen    = "127.0.0.1:0"
)

const usage = `Usage: devcluster [flags]                 a cluster until SIGINT or SIGTERM
       devcluster [flags] -- CMD [ARGS]   a cluster for as long as CMD runs

Starts a cluster for development in this process: so far its SQL node, a MySQL
server with the table ndbtest.employee in memory. All data is gone at the end.

CMD runs with GATEWAY_SQL_DSN set to the SQL node. GATEWAY_NDB_CONNECTSTRING is
left as it is: there is no management server yet. Signals are passed on to CMD,
and devcluster ends with the exit code of CMD: 128+n if signal n ended it, 127
if there is no such command.

Flags:
  --sql-listen HOST:PORT   where the SQL node listens; port 0 is a free port
                           (default 127.0.0.1:3306, with CMD 127.0.0.1:0)
  --verbose                show the SQL node's own log on stderr
  --help                   show this help
`

// options is what the command line says.
type options struct {
	sqlListen string
	verbose   bool
	command   []string
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "devcluster: %v\nTry 'devcluster --help'.\n", err)
		return 2
	}
	quiet(opts.verbose, stderr)

	// From now on, so that no signal is lost while the cluster starts.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, handled(opts)...)
	defer signal.Stop(signals)

	node, err := sqlnode.Start(sqlnode.Config{Listen: opts.sqlListen})
	if err != nil {
		fmt.Fprintf(stderr, "devcluster: SQL node: %v\n", err)
		return 1
	}
	defer func() { _ = node.Close() }() // nothing of it outlives the process

	if len(opts.command) > 0 {
		return runCommand(opts.command, environment(node), signals, stderr)
	}
	fmt.Fprintf(stderr, "devcluster: SQL node is ready\n\n  GATEWAY_SQL_DSN='%s'\n\n", node.DSN())
	select {
	case <-ctx.Done():
	case <-signals:
	}
	return 0
}

// handled returns the signals to handle: those that end the cluster, or those
// to pass on to a command. A signal that whoever started this process wanted
// ignored, as nohup does, stays ignored.
func handled(opts options) []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	if len(opts.command) > 0 {
		signals = append(signals, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	}
	return slices.DeleteFunc(signals, signal.Ignored)
}

// parse reads the command line. The error is flag.ErrHelp if it asks for help.
func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("devcluster", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.sqlListen, "sql-listen", "", "")
	flags.BoolVar(&opts.verbose, "verbose", false, "")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	opts.command = flags.Args()

	// The flag package drops the --, so look for what was before the rest.
	marked := len(args) > len(opts.command) && args[len(args)-len(opts.command)-1] == "--"
	switch {
	case marked && len(opts.command) == 0:
		return options{}, errors.New("no command after --")
	case !marked && len(opts.command) > 0:
		return options{}, fmt.Errorf("unexpected argument %q: a command goes after --", opts.command[0])
	}
	if opts.sqlListen == "" {
		opts.sqlListen = defaultListen
		if marked {
			opts.sqlListen = freeListen
		}
	}
	return opts, nil
}

// environment returns the environment of a command that uses the node.
func environment(node *sqlnode.Node) []string {
	return append(os.Environ(), "GATEWAY_SQL_DSN="+node.DSN())
}

// quiet keeps the log of the SQL node, which says a word about each connection
// and each failed statement, from mixing with what the command prints.
func quiet(verbose bool, stderr io.Writer) {
	if verbose {
		logrus.SetOutput(stderr)
		stdlog.SetOutput(stderr)
		return
	}
	logrus.SetLevel(logrus.PanicLevel)
	logrus.SetOutput(io.Discard)
	stdlog.SetOutput(io.Discard)
}
