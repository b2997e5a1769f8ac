package sqlnode

import (
	"slices"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// defaultCollation is what MySQL gives a database that is made without one.
const defaultCollation = sql.Collation_utf8mb4_0900_ai_ci

// databases is all databases: those that were made here, and those that have a
// table in the cluster, whoever made it. Safe for concurrent use.
type databases struct {
	cluster *ndbtest.Cluster

	mu     sync.Mutex // guards all below
	made   map[string]sql.CollationID
	tables map[ndbtest.TableName]*table // as they were when they were last asked for
}

var _ sql.CollatedDatabaseProvider = (*databases)(nil)

func newDatabases(cluster *ndbtest.Cluster) *databases {
	return &databases{
		cluster: cluster,
		made:    map[string]sql.CollationID{},
		tables:  map[ndbtest.TableName]*table{},
	}
}

func (d *databases) Database(_ *sql.Context, name string) (sql.Database, error) {
	for _, db := range d.all() {
		if strings.EqualFold(db.name, name) {
			return db, nil
		}
	}
	return nil, sql.ErrDatabaseNotFound.New(name)
}

func (d *databases) HasDatabase(ctx *sql.Context, name string) bool {
	_, err := d.Database(ctx, name)
	return err == nil
}

func (d *databases) AllDatabases(*sql.Context) []sql.Database {
	var all []sql.Database
	for _, db := range d.all() {
		all = append(all, db)
	}
	return all
}

// all returns the databases in the order of their names.
func (d *databases) all() []*database {
	collations := map[string]sql.CollationID{}
	for _, t := range d.cluster.Tables() {
		collations[t.Database] = defaultCollation
	}
	d.mu.Lock()
	for name, collation := range d.made {
		collations[name] = collation
	}
	d.mu.Unlock()
	all := make([]*database, 0, len(collations))
	for name, collation := range collations {
		all = append(all, &database{all: d, name: name, collation: collation})
	}
	slices.SortFunc(all, func(a, b *database) int { return strings.Compare(a.name, b.name) })
	return all
}

func (d *databases) CreateDatabase(ctx *sql.Context, name string) error {
	return d.CreateCollatedDatabase(ctx, name, defaultCollation)
}

func (d *databases) CreateCollatedDatabase(_ *sql.Context, name string, collation sql.CollationID) error {
	if collation == sql.Collation_Default {
		// To the engine it is what a CREATE DATABASE without a collation means.
		collation = defaultCollation
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made[name] = collation
	return nil
}

// DropDatabase drops its tables too.
func (d *databases) DropDatabase(ctx *sql.Context, name string) error {
	db, err := d.Database(ctx, name)
	if err != nil {
		return err
	}
	for _, t := range d.cluster.Tables() {
		if t.Database != db.Name() {
			continue
		}
		if err := d.dropTable(t); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.made, db.Name())
	return nil
}

// table returns the table of that name as the dictionary has it now, nil where
// there is none, or one with columns that are not known here.
func (d *databases) table(name ndbtest.TableName) *table {
	rows, err := d.cluster.Rows(name.Database, name.Name)
	if err != nil {
		return nil
	}
	id, version := rows.Version()
	d.mu.Lock()
	known := d.tables[name]
	d.mu.Unlock()
	if known != nil && known.id == id && known.version == version {
		return known
	}
	t := newTable(d.cluster, name, rows)
	if t == nil {
		return nil
	}
	t.id, t.version = id, version
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tables[name] = t
	return t
}

// dropTable lets go of its rows too.
func (d *databases) dropTable(name ndbtest.TableName) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.tables, name)
	return d.cluster.DropTable(name.Database, name.Name)
}

// database is one of them.
type database struct {
	all       *databases
	name      string
	collation sql.CollationID
}

var (
	_ sql.CollatedDatabase = (*database)(nil)
	_ sql.TableDropper     = (*database)(nil)
)

func (d *database) Name() string { return d.name }

// GetTableInsensitive prefers the table whose name has the same case.
func (d *database) GetTableInsensitive(_ *sql.Context, name string) (sql.Table, bool, error) {
	t := d.all.table(ndbtest.TableName{Database: d.name, Name: name})
	if t == nil {
		for _, other := range d.all.cluster.Tables() {
			if other.Database == d.name && strings.EqualFold(other.Name, name) {
				t = d.all.table(other)
				break
			}
		}
	}
	if t == nil {
		return nil, false, nil
	}
	return t, true, nil
}

func (d *database) GetTableNames(*sql.Context) ([]string, error) {
	var names []string
	for _, t := range d.all.cluster.Tables() {
		if t.Database == d.name && d.all.table(t) != nil {
			names = append(names, t.Name)
		}
	}
	return names, nil
}

func (d *database) DropTable(_ *sql.Context, name string) error {
	return d.all.dropTable(ndbtest.TableName{Database: d.name, Name: name})
}

func (d *database) GetCollation(*sql.Context) sql.CollationID { return d.collation }

func (d *database) SetCollation(ctx *sql.Context, collation sql.CollationID) error {
	return d.all.CreateCollatedDatabase(ctx, d.name, collation)
}
