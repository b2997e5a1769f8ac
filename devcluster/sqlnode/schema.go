package sqlnode

import (
	"fmt"

	"github.com/dolthub/vitess/go/sqltypes"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// The one database and the one table of the node.
const (
	databaseName = "ndbtest"
	tableName    = "employee"
)

// collation is what CHARSET=utf8mb3 stands for.
const collation = sql.Collation_utf8mb3_general_ci

// Ordinals of the columns that have an index.
const (
	columnID           = 0
	columnMunicipality = 3
)

// employeeSchema is the table that deploy/schema.sql creates, as the engine
// wants it.
func employeeSchema() sql.PrimaryKeySchema {
	text := types.MustCreateString(sqltypes.VarChar, 64, collation)
	one := &sql.ColumnDefaultValue{
		Expr:    expression.NewLiteral(int32(1), types.Int32),
		OutType: types.Int32,
		Literal: true,
	}
	schema := sql.Schema{
		{Name: "id", Type: types.Int64, PrimaryKey: true},
		{Name: "first", Type: text, Nullable: true},
		{Name: "last", Type: text, Nullable: true},
		{Name: "municipality", Type: text, Nullable: true},
		{Name: "started", Type: types.Date, Nullable: true},
		{Name: "ended", Type: types.Date, Nullable: true},
		{Name: "department", Type: types.Int32, Default: one},
	}
	for _, c := range schema {
		c.Source, c.DatabaseSource = tableName, databaseName
	}
	return sql.NewPrimaryKeySchema(schema, columnID)
}

// database is the sql.Database that holds the one table. It takes no other
// tables: what a client can do here it can do in the cluster.
type database struct {
	table *table
}

var _ sql.CollatedDatabase = (*database)(nil)

func (d *database) Name() string { return databaseName }

func (d *database) GetTableInsensitive(_ *sql.Context, name string) (sql.Table, bool, error) {
	t, ok := sql.GetTableInsensitive(name, map[string]sql.Table{tableName: d.table})
	return t, ok, nil
}

func (d *database) GetTableNames(*sql.Context) ([]string, error) {
	return []string{tableName}, nil
}

func (d *database) GetCollation(*sql.Context) sql.CollationID { return collation }

func (d *database) SetCollation(*sql.Context, sql.CollationID) error {
	return fmt.Errorf("database %s has its collation", databaseName)
}
