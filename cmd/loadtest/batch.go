package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

const batchHelp = `Measures how fast many rows are written in one commit, by one writer and by
several at once. Writers take turns over the SQL nodes, and over API nodes of
their own. With --target batches go to a gateway, by :batchCreate.`

// Ways to write a batch.
const (
	wayAll      = "one transaction"
	wayRowByRow = "row by row"
)

// Engines, and their tables in deploy/schema.sql.
const (
	engineNDB    = "NDB"
	engineInnoDB = "InnoDB"
)

var tables = map[string]string{engineNDB: "employee", engineInnoDB: "employee_innodb"}

type batchFlags struct {
	connection
	config  loadtest.BatchConfig
	sizes   string
	writers string
	engines string
	ways    string
	quick   bool
	out     string
	cpu     []string

	scenario string
}

func newBatchFlags(p process) (*batchFlags, *flag.FlagSet) {
	f := &batchFlags{}
	flags := flag.NewFlagSet("batch", flag.ContinueOnError)
	f.connection.register(flags, p)
	c := &f.config
	flags.StringVar(&f.scenario, "scenario", "", "as in run")
	flags.StringVar(&f.sizes, "sizes", "100,1000,10000,50000", "rows of a commit")
	flags.IntVar(&c.Runs, "runs", 5, "batches of each writer")
	flags.StringVar(&f.writers, "writers", "1,2", "writers at once")
	flags.StringVar(&f.engines, "engines", "ndb,innodb", "of the tables employee and employee_innodb; --target has ndb alone")
	flags.StringVar(&f.ways, "ways", "all,rows", "of sql: all rows in few statements, or a statement for each row as JDBC's addBatch; --target has all alone")
	flags.DurationVar(&c.Limit, "limit", 5*time.Minute, "no more batches of a cell begin after so long")
	flags.Int64Var(&c.FirstID, "first-id", loadtest.DefaultFirstID, "as in run")
	flags.BoolVar(&f.quick, "quick", false, "a look in under two minutes: two runs of up to 10,000 rows")
	flags.StringVar(&c.Title, "title", "", "heading of the report")
	flags.StringVar(&f.out, "out", "", "directory of report.json, cells.csv and report.html; default: a new one below loadtest-results")
	flags.Func("cpu", "as in run", func(text string) error {
		f.cpu = append(f.cpu, text)
		return nil
	})
	if err := flags.Set("timeout", "2m"); err != nil {
		panic(err) // it is a duration
	}
	flags.Lookup("timeout").DefValue = "2m"
	return f, flags
}

func batchCommand(ctx context.Context, args []string, p process) (err error) {
	f, flags := newBatchFlags(p)
	if err := parseFlags(flags, args, p); err != nil {
		return err
	}
	if err := f.finish(flags); err != nil {
		return err
	}
	out, err := newOutput(f.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.abandon()) }()
	opened, err := f.openTables(ctx)
	if err != nil {
		return err
	}
	c := &f.config
	c.Tables, c.Way = opened.tables, opened.way
	if c.CPU, err = sources(f.cpu); err != nil {
		return errors.Join(err, opened.close())
	}
	if len(f.cpu) == 0 {
		c.CPU = opened.cpu
	}
	c.Progress = func(cell, cells int, about string) { fmt.Fprintf(p.stderr, "[%d/%d] %s\n", cell, cells, about) }
	complete := func(r *loadtest.Report) {
		r.Tool, r.Target, r.Command = thisTool(), opened.about, shownCommand("batch", args)
	}
	c.Checkpoint = func(r *loadtest.Report) error {
		complete(r)
		return out.keep(r)
	}
	report, err := loadtest.RunBatches(ctx, *c)
	err = errors.Join(err, opened.close())
	if report == nil {
		return &usageError{err}
	}
	complete(report)
	return errors.Join(err, finish(report, out, p))
}

func (f *batchFlags) finish(flags *flag.FlagSet) (err error) {
	if flags.NArg() > 0 {
		return badUsage("argument %q: batch takes flags alone", flags.Arg(0))
	}
	if f.quick {
		if err := setUngiven(flags, map[string]string{"sizes": "100,1000,10000", "runs": "2"}); err != nil {
			return err
		}
	}
	if f.scenario != "" {
		s, err := readScenario(f.scenario)
		if err == nil {
			err = s.apply("batch", flags)
		}
		if err != nil {
			return err
		}
		if len(s.hooks) > 0 {
			return badUsage("--scenario: batches have no hooks")
		}
	}
	if err := mustBePositive(flags, "runs", "limit", "first-id", "timeout", "pool"); err != nil {
		return err
	}
	if f.config.Sizes, err = numbers(f.sizes); err != nil {
		return badUsage("--sizes: %w", err)
	}
	if f.config.Writers, err = numbers(f.writers); err != nil {
		return badUsage("--writers: %w", err)
	}
	return nil
}

// openedTables are tables that answer.
type openedTables struct {
	opened
	tables []loadtest.BatchTable
	stores []store.Backend
	pools  []*sql.DB
}

func (f *batchFlags) openTables(ctx context.Context) (*openedTables, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	engines, err := choices("engines", f.engines, map[string]string{"ndb": engineNDB, "innodb": engineInnoDB})
	if err != nil {
		return nil, err
	}
	ways, err := choices("ways", f.ways, map[string]string{"all": wayAll, "rows": wayRowByRow})
	if err != nil {
		return nil, err
	}
	switch {
	case f.null || f.direct == (f.target != ""):
		return nil, badUsage("give one of --target URL and --direct")
	case f.direct:
		return f.openDirectTables(ctx, names, engines, ways)
	default:
		o, err := f.openHTTP(ctx, names)
		if err != nil {
			return nil, err
		}
		t := &openedTables{opened: *o}
		for _, road := range o.roads {
			t.add(road.Name, wayAll, engineNDB, func(ctx context.Context, _ int) (target.BatchSession, error) { return openBatches(ctx, road.Target) })
		}
		return t, nil
	}
}

func choices(name, text string, known map[string]string) ([]string, error) {
	var chosen []string
	for part := range strings.SplitSeq(text, ",") {
		choice, ok := known[strings.ToLower(strings.TrimSpace(part))]
		if !ok || slices.Contains(chosen, choice) {
			return nil, badUsage("--%s %q: %q is unknown, or there twice", name, text, part)
		}
		chosen = append(chosen, choice)
	}
	return chosen, nil
}

func openBatches(ctx context.Context, t target.Target) (target.BatchSession, error) {
	session, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	batches, ok := session.(target.BatchSession)
	if !ok {
		session.Close()
		return nil, errors.New("the target has no batches")
	}
	return batches, nil
}

func (t *openedTables) add(backend, way, engine string, open func(context.Context, int) (target.BatchSession, error)) {
	t.tables = append(t.tables, loadtest.BatchTable{Backend: backend, Way: way, Engine: engine, Table: tables[engine], Open: open})
}

// openDirectTables opens a store for each writer: an API node, or a pool to one
// SQL node.
func (f *batchFlags) openDirectTables(ctx context.Context, names, engines, ways []string) (*openedTables, error) {
	o, err := f.openDirect(ctx, names) // checks that all of them serve
	if err != nil {
		return nil, err
	}
	t := &openedTables{opened: *o}
	t.close = func() error { return errors.Join(o.close(), t.closeAll()) }
	for _, name := range names {
		if name == ndbName && slices.Contains(engines, engineNDB) {
			err = errors.Join(err, f.addNative(ctx, t))
		}
		if name != sqlName {
			continue
		}
		for _, engine := range engines {
			if slices.Contains(ways, wayAll) {
				err = errors.Join(err, f.addSQL(ctx, t, engine))
			}
			if slices.Contains(ways, wayRowByRow) {
				err = errors.Join(err, f.addRowByRow(t, engine))
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *openedTables) closeAll() error {
	var errs []error
	for _, s := range t.stores {
		errs = append(errs, s.Close())
	}
	for _, db := range t.pools {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

func (f *batchFlags) addNative(ctx context.Context, t *openedTables) error {
	var stores []*target.Direct
	for range slices.Max(f.config.Writers) {
		s, err := ndbapi.Open(ndbapi.Config{Connectstring: f.connectstring, Database: f.database, MaxTransactions: f.pool})
		if err != nil {
			return err
		}
		t.stores = append(t.stores, s)
		if err := awaitStore(ctx, s); err != nil {
			return err
		}
		stores = append(stores, &target.Direct{Store: s, Timeout: f.timeout})
	}
	t.add(ndbName, wayAll, engineNDB, func(ctx context.Context, writer int) (target.BatchSession, error) {
		return openBatches(ctx, stores[writer])
	})
	return nil
}

func (f *batchFlags) addSQL(ctx context.Context, t *openedTables, engine string) error {
	var stores []*target.Direct
	for _, dsn := range strings.Fields(f.dsns) {
		s, err := sqlstore.Open(sqlstore.Config{DSNs: []string{dsn}, MaxOpenConns: f.pool, Table: tables[engine], StatementTimeout: f.timeout})
		if err != nil {
			return err
		}
		t.stores = append(t.stores, s)
		if err := awaitStore(ctx, s); err != nil {
			return err
		}
		stores = append(stores, &target.Direct{Store: s, Timeout: f.timeout})
	}
	t.add(sqlName, wayAll, engine, func(ctx context.Context, writer int) (target.BatchSession, error) {
		return openBatches(ctx, stores[writer%len(stores)])
	})
	return nil
}

func (f *batchFlags) addRowByRow(t *openedTables, engine string) error {
	var rows []*target.RowByRow
	for _, dsn := range strings.Fields(f.dsns) {
		config, err := mysql.ParseDSN(dsn)
		if err != nil {
			return errors.New("--sql-dsn: a DSN cannot be read") // it may hold a password
		}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return err
		}
		db := sql.OpenDB(connector)
		t.pools = append(t.pools, db)
		rows = append(rows, &target.RowByRow{DB: db, Table: tables[engine], Timeout: f.timeout})
	}
	t.add(sqlName, wayRowByRow, engine, func(ctx context.Context, writer int) (target.BatchSession, error) {
		return rows[writer%len(rows)].Open(ctx)
	})
	return nil
}
