package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/cpu"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// connection says where the load goes.
type connection struct {
	target        string
	direct, null  bool
	backends      string
	keyFile       string
	key           string // which is never shown
	timeout       time.Duration
	connectstring string
	database      string
	dsns          string
	pool          int
}

// Names of the roads that can be opened in this process.
const (
	ndbName = "ndb"
	sqlName = "sql"
)

func (c *connection) register(flags *flag.FlagSet, p process) {
	fromEnv := func(name, fallback string) string {
		if value := p.getenv(name); value != "" {
			return value
		}
		return fallback
	}
	flags.StringVar(&c.target, "target", "", "a gateway, as in http://127.0.0.1:8080")
	flags.BoolVar(&c.direct, "direct", false, "no gateway: the roads in this process; with --target, beside those of the gateway, so that HTTP's share shows")
	flags.BoolVar(&c.null, "null", false, "no target at all: what is measured is loadtest itself")
	flags.StringVar(&c.backends, "backends", "ndb,sql", "roads, the first one in ratios and for making rows")
	flags.StringVar(&c.keyFile, "key-file", "", "file with the API key for --target; or LOADTEST_API_KEY")
	c.key = p.getenv("LOADTEST_API_KEY")
	flags.DurationVar(&c.timeout, "timeout", 10*time.Second, "of one operation")
	flags.StringVar(&c.connectstring, "ndb-connectstring", fromEnv("GATEWAY_NDB_CONNECTSTRING", "127.0.0.1:1186"), "of --direct; GATEWAY_NDB_CONNECTSTRING")
	flags.StringVar(&c.database, "ndb-database", fromEnv("GATEWAY_NDB_DATABASE", "ndbtest"), "of --direct; GATEWAY_NDB_DATABASE")
	flags.StringVar(&c.dsns, "sql-dsn", "", "of --direct, several with spaces between them; GATEWAY_SQL_DSN, or root@tcp(127.0.0.1:3306)/ndbtest")
	flags.IntVar(&c.pool, "pool", 64, "of --direct: sessions of the native road, and connections to each SQL node")
	if c.dsns == "" { // not shown as a default: it may hold a password
		c.dsns = fromEnv("GATEWAY_SQL_DSN", "root@tcp(127.0.0.1:3306)/ndbtest")
	}
}

// opened is a target that answers.
type opened struct {
	way   string
	roads []loadtest.Road
	about any          // what the target tells of itself, for the report
	cpu   []cpu.Source // of its processes on this host
	close func() error
}

func (c *connection) names() ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(c.backends, ",") {
		if name = strings.TrimSpace(name); name == "" || slices.Contains(names, name) {
			return nil, badUsage("--backends %q: a name is empty, or there twice", c.backends)
		}
		names = append(names, name)
	}
	return names, nil
}

// open opens the target and checks that every road serves.
func (c *connection) open(ctx context.Context) (*opened, error) {
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	if c.null == (c.direct || c.target != "") {
		return nil, badUsage("give one of --target URL, --direct and --null, or the first two")
	}
	if c.timeout <= 0 {
		return nil, badUsage("--timeout %v: must be more than 0", c.timeout)
	}
	switch {
	case c.direct && c.target != "":
		return c.openBoth(ctx, names)
	case c.direct:
		return c.openDirect(ctx, names)
	case c.null:
		o := &opened{way: "null", close: func() error { return nil }}
		for _, name := range names {
			o.roads = append(o.roads, loadtest.Road{Name: name, Native: name == ndbName, Target: target.Null{}})
		}
		return o, nil
	default:
		return c.openHTTP(ctx, names)
	}
}

func (c *connection) openHTTP(ctx context.Context, names []string) (*opened, error) {
	if err := c.readKey(); err != nil {
		return nil, err
	}
	gateway, err := target.NewHTTP(c.target, "", c.timeout)
	if err != nil {
		return nil, err
	}
	gateway.Key = c.key
	about, err := gateway.Describe(ctx, names)
	if err != nil {
		return nil, err
	}
	o := &opened{way: "http", about: about, cpu: cpu.Find(about.Connectstring), close: func() error { return nil }}
	if source, ok := listener(c.target); ok {
		o.cpu = append(o.cpu, source)
	}
	for _, name := range names {
		road := *gateway
		road.Backend = name
		o.roads = append(o.roads, loadtest.Road{Name: name, Native: name == ndbName, Target: &road})
	}
	return o, nil
}

// maxKeyBytes is the longest key or token that a gateway takes.
const maxKeyBytes = 8 << 10

// readKey reads the file of the key. Its errors quote nothing of it.
func (c *connection) readKey() error {
	from := "LOADTEST_API_KEY"
	if c.keyFile != "" {
		from = "--key-file " + c.keyFile
		text, err := os.ReadFile(c.keyFile)
		if err != nil {
			return badUsage("--key-file: %v", err)
		}
		if c.key = strings.TrimSpace(string(text)); c.key == "" {
			return badUsage("%s: it is empty", from)
		}
	}
	if len(c.key) > maxKeyBytes || strings.ContainsFunc(c.key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return badUsage("%s: want one key or token and nothing else", from)
	}
	return nil
}

// openBoth opens the roads of a gateway, and the same ones in this process beside
// them.
func (c *connection) openBoth(ctx context.Context, names []string) (*opened, error) {
	o, err := c.openHTTP(ctx, names)
	if err != nil {
		return nil, err
	}
	direct, err := c.openDirect(ctx, names)
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	for _, road := range direct.roads {
		road.Name += " direct"
		o.roads = append(o.roads, road)
	}
	o.way, o.close = "http and direct", direct.close
	return o, nil
}

// openTimeout bounds how long the stores of a direct run may take to connect.
const openTimeout = 30 * time.Second

func (c *connection) openDirect(ctx context.Context, names []string) (*opened, error) {
	addresses := map[string]any{}
	o := &opened{way: "direct", about: addresses, cpu: cpu.Find(c.connectstring)}
	var stores []store.Backend
	o.close = func() error {
		var errs []error
		for _, s := range stores {
			errs = append(errs, s.Close())
		}
		return errors.Join(errs...)
	}
	for _, name := range names {
		s, about, err := c.openStore(name)
		if err == nil {
			stores = append(stores, s)
			err = awaitStore(ctx, s)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("backend %s: %w", name, err), o.close())
		}
		addresses[name] = about
		if cluster, ok := s.(store.Cluster); ok {
			if status, err := cluster.DescribeCluster(ctx); err == nil { // a run can do without
				addresses["cluster"] = status.Nodes
			}
		}
		o.roads = append(o.roads, loadtest.Road{Name: name, Native: name == ndbName, Target: &target.Direct{Store: s, Timeout: c.timeout}})
	}
	return o, nil
}

func (c *connection) openStore(name string) (s store.Backend, about string, err error) {
	switch name {
	case ndbName:
		s, err = ndbapi.Open(ndbapi.Config{Connectstring: c.connectstring, Database: c.database, MaxTransactions: c.pool})
		return s, c.connectstring, err
	case sqlName:
		s, err := sqlstore.Open(sqlstore.Config{DSNs: strings.Fields(c.dsns), MaxOpenConns: c.pool})
		if err != nil {
			return nil, "", err
		}
		var addresses []string // without passwords
		for _, node := range s.Status().Nodes {
			addresses = append(addresses, node.Address)
		}
		return s, strings.Join(addresses, ","), nil
	default:
		return nil, "", badUsage("--direct has the backends %s and %s alone", ndbName, sqlName)
	}
}

// awaitStore waits until the store serves: stores connect in the background.
func awaitStore(ctx context.Context, s store.Backend) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for {
		err := s.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// listener is the process of this host that listens at the address of the
// gateway.
func listener(address string) (cpu.Source, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, false
	}
	port, err := strconv.Atoi(u.Port())
	if ip := net.ParseIP(u.Hostname()); err != nil || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, false
	}
	return cpu.Listening(string(cpu.Gateway), port)
}

// sources reads the processes of which processor time is taken.
func sources(given []string) ([]cpu.Source, error) {
	var found []cpu.Source
	for _, text := range given {
		source, err := cpu.Parse(text)
		if err != nil {
			return nil, &usageError{err}
		}
		found = append(found, source)
	}
	return found, nil
}
