package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/ndbgate/ndbgate/deploy"
	"github.com/ndbgate/ndbgate/devcluster/sqlnode"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// databaseName is the database that the DSN names.
const databaseName = "ndbtest"

// cluster is management server, data nodes and SQL node.
type cluster struct {
	nodes *ndbtest.Cluster
	sql   *sqlnode.Node
	// broken is over, for that cause, when a client has made a mistake that a real
	// data node would not have survived, or would have dropped it for.
	broken context.Context
}

// startCluster starts all nodes, and makes the tables.
func startCluster(ctx context.Context, opts options) (_ *cluster, err error) {
	schema := deploy.Schema
	if opts.schema != "" {
		text, err := os.ReadFile(opts.schema)
		if err != nil {
			return nil, err
		}
		schema = string(text)
	}
	c := &cluster{}
	var spoil context.CancelCauseFunc
	c.broken, spoil = context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	err = listen(opts.ndbListen, func(address string) (err error) {
		c.nodes, err = startNodes(address, append(opts.nodes, ndbtest.OnViolation(spoil)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("management server: %w", err)
	}
	err = listen(opts.sqlListen, func(address string) (err error) {
		c.sql, err = sqlnode.Start(sqlnode.Config{Cluster: c.nodes, Listen: address, Database: databaseName})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("SQL node: %w", err)
	}
	if err := c.sql.Run(ctx, schema); err != nil {
		return nil, fmt.Errorf("tables: %w", err)
	}
	return c, nil
}

// listen starts something on the first of the addresses that is not in use.
func listen(addresses []string, start func(address string) error) error {
	var err error
	for _, address := range addresses {
		if err = start(address); !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return err
}

func startNodes(address string, more []ndbtest.Option) (*ndbtest.Cluster, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("address %s: port %q is no number", address, text)
	}
	return ndbtest.Start(append(more, ndbtest.Host(host), ndbtest.ManagementPort(port), sqlnode.Weights())...)
}

// tellBroken says why the cluster cannot go on, and returns what to exit with.
func (c *cluster) tellBroken(stderr io.Writer) int {
	fmt.Fprintf(stderr, "devcluster: the end: a client did what no data node may see\n  %v\n", context.Cause(c.broken))
	return exitBroken
}

// environment is the environment of a command that uses the cluster.
func (c *cluster) environment() []string {
	return append(os.Environ(), "GATEWAY_NDB_CONNECTSTRING="+c.nodes.Connectstring(), "GATEWAY_SQL_DSN="+c.sql.DSN())
}

// close ends what was started.
func (c *cluster) close() {
	if c.sql != nil {
		_ = c.sql.Close() // nothing of it outlives the process
	}
	if c.nodes != nil {
		c.nodes.Close()
	}
}
