// Command devcluster is an NDB Cluster for development and tests in one process,
// with nothing to install: a management server and two data nodes that speak the
// real protocol, and an SQL node over the same rows, which are in memory.
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

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

const usage = `Usage: devcluster [flags]                 a cluster until SIGINT or SIGTERM
       devcluster [flags] -- CMD [ARGS]   a cluster for as long as CMD runs

An NDB Cluster for development in this process: a management server, two data
nodes and an SQL node. Rows are in memory; all of them are gone at the end.

CMD runs with GATEWAY_NDB_CONNECTSTRING and GATEWAY_SQL_DSN set. Signals are
passed on to it, and devcluster ends with its exit code: 128+n if signal n ended
it, 127 if there is no such command. A client whose signals would have stopped a
real data node ends CMD and the cluster, with exit code 70.

Flags:
  --ndb-listen HOST:PORT   where the management server listens (127.0.0.1:1186)
  --sql-listen HOST:PORT   where the SQL node listens          (127.0.0.1:3306)
  --schema FILE            statements that make the tables, instead of
                           ndbtest.employee and ndbtest.employee_innodb
  --verbose                show the SQL node's own log on stderr
  --help                   show this help

Port 0 is any free one. Without these flags the usual ports are taken, or free
ones where those are in use; with CMD always free ones.
`

// The usual addresses, and the one for those who take any port.
const (
	usualNDB = "127.0.0.1:1186"
	usualSQL = "127.0.0.1:3306"
	anyPort  = "127.0.0.1:0"
)

// exitBroken is the exit code after a client's mistake.
const exitBroken = 70

// options is what the command line says.
type options struct {
	ndbListen []string // the first one that is not in use
	sqlListen []string
	schema    string // file; empty: the usual tables
	verbose   bool
	command   []string

	nodes []ndbtest.Option // for tests
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

	c, err := startCluster(ctx, opts)
	if err != nil {
		fmt.Fprintf(stderr, "devcluster: %v\n", err)
		return 1
	}
	code := serve(ctx, opts, c, signals, stderr)
	c.close()
	if code != exitBroken && c.broken.Err() != nil {
		return c.tellBroken(stderr) // what a client has left undone shows at the end
	}
	return code
}

// serve returns what to exit with, once the cluster is to end.
func serve(ctx context.Context, opts options, c *cluster, signals <-chan os.Signal, stderr io.Writer) int {
	if len(opts.command) > 0 {
		return runCommand(opts.command, c, signals, stderr)
	}
	fmt.Fprintf(stderr, "devcluster: ready\n\n  GATEWAY_NDB_CONNECTSTRING='%s'\n  GATEWAY_SQL_DSN='%s'\n\n",
		c.nodes.Connectstring(), c.sql.DSN())
	select {
	case <-ctx.Done():
	case <-signals:
	case <-c.broken.Done():
		return c.tellBroken(stderr)
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
	ndbListen := flags.String("ndb-listen", "", "")
	sqlListen := flags.String("sql-listen", "", "")
	flags.StringVar(&opts.schema, "schema", "", "")
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
	opts.ndbListen = addresses(*ndbListen, usualNDB, marked)
	opts.sqlListen = addresses(*sqlListen, usualSQL, marked)
	return opts, nil
}

// addresses are those to try. A command is told its own, so any will do.
func addresses(wanted, usual string, forCommand bool) []string {
	switch {
	case wanted != "":
		return []string{wanted}
	case forCommand:
		return []string{anyPort}
	default:
		return []string{usual, anyPort}
	}
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
