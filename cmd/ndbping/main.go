// Command ndbping looks at a cluster: its nodes, a table, a row.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

const usage = `ndbping [--connectstring S] [DATABASE/TABLE [KEY]]

Connects to an NDB cluster as an API node and prints its nodes; with a table,
its columns and indexes; with a key, the row. The values of a key of several
columns are separated by commas.

  --connectstring S   management servers, as in host1:1186,host2 or
                      nodeid=55,host1 (default ` + ndb.DefaultConnectstring + `)
  --help              this text

Exit code: 0 all of it was found, 1 it was not, 2 wrong usage.
`

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

func command(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("ndbping", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	connectstring := flags.String("connectstring", ndb.DefaultConnectstring, "")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	database, table, ok := strings.Cut(flags.Arg(0), "/")
	if err != nil || flags.NArg() > 2 || flags.NArg() > 0 && (!ok || database == "" || table == "") {
		fmt.Fprint(stderr, usage)
		return 2
	}
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if err := errors.Join(ping(*connectstring, database, table, flags.Args(), out), out.Flush()); err != nil {
		fmt.Fprintf(stderr, "ndbping: %v\n", err)
		return 1
	}
	return 0
}

// ping prints what args ask for: the nodes, a table, a row. A minute bounds all
// of it: a node ID may have to be waited for.
func ping(connectstring, database, table string, args []string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := ndb.Connect(ctx, ndb.Config{Connectstring: connectstring, Name: "ndbping"})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := printNodes(ctx, client, out); err != nil || len(args) == 0 {
		return err
	}
	t, err := client.Table(ctx, database, table)
	if err != nil {
		return err
	}
	printTable(t, out)
	if len(args) == 1 {
		return nil
	}
	return printRow(ctx, client, t, args[1], out)
}

// printNodes prints the nodes as a management server sees them.
func printNodes(ctx context.Context, client *ndb.Client, out io.Writer) error {
	nodes, err := client.ClusterStatus(ctx)
	fmt.Fprintln(out, "NODE\tTYPE\tSTATUS\tVERSION\tADDRESS")
	for _, n := range nodes {
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\n", n.ID, n.Type, n.Status, n.Version, n.Address)
	}
	return err
}

func printTable(t *ndb.Table, out io.Writer) {
	fmt.Fprintf(out, "\n%v: %d fragments\nCOLUMN\tTYPE\tBYTES\tNULL\tKEY\tCOLLATION\n", t, t.FragmentCount())
	for _, c := range t.Columns() {
		fmt.Fprintf(out, "%s\t%s\t%d\t%t\t%t\t%d\n", c.Name, c.Type, c.SizeBytes, c.Nullable, c.PrimaryKey, c.Charset)
	}
	for _, x := range t.Indexes() {
		fmt.Fprintf(out, "index %s\tunique: %t\t", x.Name, x.Unique)
		for _, c := range x.Columns {
			fmt.Fprintf(out, " %s", c.Name)
		}
		fmt.Fprintln(out)
	}
}

func printRow(ctx context.Context, client *ndb.Client, t *ndb.Table, text string, out io.Writer) error {
	key, err := parseKey(t, text)
	if err != nil {
		return err
	}
	all, err := t.Select()
	if err != nil {
		return err
	}
	var row ndb.Row
	if err := client.Read(ctx, key, all, &row); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for i, c := range all.Columns() {
		value, err := row.String(i)
		switch {
		case row.IsNull(i):
			fmt.Fprintf(out, "%s\tNULL\n", c.Name)
		case err != nil:
			return err
		default:
			fmt.Fprintf(out, "%s\t%q\n", c.Name, value)
		}
	}
	return nil
}

// parseKey takes numbers for what they are, where their column does.
func parseKey(t *ndb.Table, text string) (*ndb.Values, error) {
	columns, parts := t.PrimaryKey(), strings.SplitN(text, ",", len(t.PrimaryKey()))
	if len(parts) != len(columns) {
		return nil, fmt.Errorf("the key of %v has %d columns, not %d", t, len(columns), len(parts))
	}
	key := t.NewValues()
	for i, c := range columns {
		if n, err := strconv.ParseInt(parts[i], 10, 64); err == nil && t.NewValues().Int64(c, n).Err() == nil {
			key.Int64(c, n)
			continue
		}
		key.String(c, parts[i])
	}
	return key, key.Err()
}
