package sqlnode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// createTable makes the table in the cluster. The engine would make it first and
// its indexes afterwards.
func (d *databases) createTable(ctx *sql.Context, n *plan.CreateTable) (sql.RowIter, error) {
	name := ndbtest.TableName{Database: n.Database().Name(), Name: n.Name()}
	if _, err := d.cluster.Rows(name.Database, name.Name); err == nil {
		if n.IfNotExists() {
			return sql.RowsToRowIter(sql.NewRow(types.OkResult{})), nil
		}
		return nil, mysqlError(erTableExists, "Table '%s' already exists", name.Name)
	}
	def, err := tableDef(ctx, name, n)
	if err != nil {
		return nil, err
	}
	if err := d.cluster.DefineTable(def); err != nil {
		return nil, err
	}
	return sql.RowsToRowIter(sql.NewRow(types.OkResult{})), nil
}

func tableDef(ctx *sql.Context, name ndbtest.TableName, n *plan.CreateTable) (ndbtest.TableDef, error) {
	def := ndbtest.TableDef{Database: name.Database, Name: name.Name, HashOnly: keyUsesHash(ctx)}
	switch {
	case n.Temporary():
		return def, notSupported("temporary tables")
	case n.Select() != nil:
		return def, notSupported("CREATE TABLE … SELECT")
	case len(n.ForeignKeys()) > 0, len(n.Checks()) > 0:
		return def, notSupported("foreign keys and checks")
	}
	collation := n.Collation
	if collation == sql.Collation_Unspecified {
		collation = plan.GetDatabaseCollation(ctx, n.Database())
	}
	schema := n.PkSchema()
	for _, c := range schema.Schema {
		column, err := definition(ctx, c, collation)
		if err != nil {
			return def, err
		}
		def.Columns = append(def.Columns, column)
	}
	for _, ordinal := range schema.PkOrdinals {
		def.PrimaryKey = append(def.PrimaryKey, schema.Schema[ordinal].Name)
	}
	if len(def.PrimaryKey) == 0 {
		return def, notSupported("tables without PRIMARY KEY")
	}
	for _, index := range n.Indexes() {
		if index.IsPrimary() {
			continue
		}
		made, err := indexDef(&def, index)
		if err != nil {
			return def, err
		}
		def.Indexes = append(def.Indexes, made)
	}
	return def, nil
}

// keyUsesHash is whether the statement says PRIMARY KEY (…) USING HASH, which the
// engine has forgotten by now.
func keyUsesHash(ctx *sql.Context) bool {
	parsed, _, err := sqlparser.ParseOne(ctx, ctx.Query())
	ddl, ok := parsed.(*sqlparser.DDL)
	if err != nil || !ok || ddl.TableSpec == nil {
		return false
	}
	return slices.ContainsFunc(ddl.TableSpec.Indexes, func(index *sqlparser.IndexDefinition) bool {
		return index.Info.Primary && slices.ContainsFunc(index.Options, func(o *sqlparser.IndexOption) bool {
			return strings.EqualFold(o.Using, "hash")
		})
	})
}

func indexDef(def *ndbtest.TableDef, index *sql.IndexDef) (ndbtest.IndexDef, error) {
	made := ndbtest.IndexDef{Name: index.Name}
	if index.Constraint != sql.IndexConstraint_None {
		return made, notSupported("indexes that are not plain KEYs")
	}
	for _, c := range index.Columns {
		if c.Length > 0 {
			return made, notSupported("prefixes of columns in indexes")
		}
		made.Columns = append(made.Columns, c.Name)
	}
	if len(made.Columns) == 0 {
		return made, fmt.Errorf("index %s has no columns", index.Name)
	}
	if made.Name == "" {
		made.Name = freeIndexName(def, made.Columns[0])
	}
	return made, nil
}

// freeIndexName names an index after its first column, as MySQL does.
func freeIndexName(def *ndbtest.TableDef, column string) string {
	name := column
	for i := 2; slices.ContainsFunc(def.Indexes, func(other ndbtest.IndexDef) bool { return other.Name == name }); i++ {
		name = column + "_" + strconv.Itoa(i)
	}
	return name
}

// AddColumn adds a column while the table is in use, as the cluster can do it: at
// the end, with NULL in all rows that are there.
func (t *table) AddColumn(ctx *sql.Context, c *sql.Column, order *sql.ColumnOrder) error {
	if order != nil {
		return notSupported("columns to be added elsewhere than at the end")
	}
	if !c.Nullable || c.Default != nil || c.PrimaryKey {
		return notSupported("columns to be added with NOT NULL or a default")
	}
	def, err := definition(ctx, c, t.Collation())
	if err != nil {
		return err
	}
	return t.cluster.AlterAddColumn(t.name.Database, t.name.Name, def)
}

func (t *table) DropColumn(*sql.Context, string) error {
	return notSupported("ALTER TABLE … DROP COLUMN")
}

func (t *table) ModifyColumn(*sql.Context, string, *sql.Column, *sql.ColumnOrder) error {
	return notSupported("ALTER TABLE … MODIFY COLUMN")
}
