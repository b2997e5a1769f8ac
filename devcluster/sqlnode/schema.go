package sqlnode

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/proto/query"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// This file is the columns and values of the cluster ↔ those of the engine:
// integers, CHAR, VARCHAR, BINARY, VARBINARY and DATE. Tables with other columns
// cannot be made here, and those that others make do not show.

// integer is a type of integers.
type integer struct {
	ndb    string
	sql    string
	engine sql.Type
	value  func(v any) any // what the engine has for a value of the cluster
}

var integers = []integer{
	{"Tinyint", "TINYINT", types.Int8, func(v any) any { return int8(v.(int64)) }},
	{"Tinyunsigned", "TINYINT UNSIGNED", types.Uint8, func(v any) any { return uint8(v.(uint64)) }},
	{"Smallint", "SMALLINT", types.Int16, func(v any) any { return int16(v.(int64)) }},
	{"Smallunsigned", "SMALLINT UNSIGNED", types.Uint16, func(v any) any { return uint16(v.(uint64)) }},
	{"Mediumint", "MEDIUMINT", types.Int24, func(v any) any { return int32(v.(int64)) }},
	{"Mediumunsigned", "MEDIUMINT UNSIGNED", types.Uint24, func(v any) any { return uint32(v.(uint64)) }},
	{"Int", "INT", types.Int32, func(v any) any { return int32(v.(int64)) }},
	{"Unsigned", "INT UNSIGNED", types.Uint32, func(v any) any { return uint32(v.(uint64)) }},
	{"Bigint", "BIGINT", types.Int64, func(v any) any { return v }},
	{"Bigunsigned", "BIGINT UNSIGNED", types.Uint64, func(v any) any { return v }},
}

// texts are the types of characters and of bytes.
var texts = map[string]query.Type{
	"Char": sqltypes.Char, "Varchar": sqltypes.VarChar, "Longvarchar": sqltypes.VarChar,
	"Binary": sqltypes.Binary, "Varbinary": sqltypes.VarBinary, "Longvarbinary": sqltypes.VarBinary,
}

// engineType is the type of a column of the cluster, and how its values become
// the engine's. It is not ok for those that are not known here.
func engineType(c *ndbtest.ColumnInfo) (t sql.Type, value func(any) any, ok bool) {
	for _, i := range integers {
		if i.ndb == c.Type {
			return i.engine, i.value, true
		}
	}
	if c.Type == "Date" {
		return types.Date, dateOf, true
	}
	kind, ok := texts[c.Type]
	if !ok || c.Length == 0 {
		return nil, nil, false
	}
	collation := sql.CollationID(c.Collation)
	if sqltypes.IsBinary(kind) {
		collation = sql.Collation_binary
	}
	t, err := types.CreateString(kind, int64(c.Length), collation)
	return t, func(v any) any { return v }, err == nil
}

// definition is the column of the cluster for one of the engine, whose texts have
// the collation where they have none of their own.
func definition(ctx *sql.Context, c *sql.Column, collation sql.CollationID) (ndbtest.ColumnDef, error) {
	def := ndbtest.ColumnDef{Name: c.Name, NotNull: !c.Nullable}
	switch t := c.Type.(type) {
	case sql.StringType:
		if own := t.Collation(); own != sql.Collation_Unspecified {
			collation = own
		}
		switch t.Type() {
		case sqltypes.Char, sqltypes.VarChar, sqltypes.Binary, sqltypes.VarBinary:
			def.Type, def.Collation = fmt.Sprintf("%s(%d)", t.Type(), t.Length()), strconv.Itoa(int(collation))
		}
	case sql.DatetimeType:
		if t.Type() == sqltypes.Date {
			def.Type = "DATE"
		}
	default:
		for _, i := range integers {
			if i.engine.Type() == t.Type() {
				def.Type = i.sql
			}
		}
	}
	switch {
	case def.Type == "":
		return def, notSupported("columns of type " + c.Type.String())
	case c.AutoIncrement:
		return def, notSupported("AUTO_INCREMENT")
	case c.Generated != nil || c.OnUpdate != nil || c.Default != nil && !c.Default.Literal:
		return def, notSupported("columns that are computed")
	case c.Default == nil:
		return def, nil
	}
	value, err := c.Default.Eval(ctx, nil)
	if err != nil || value == nil {
		return def, err
	}
	if value, _, err = c.Type.Convert(ctx, value); err != nil {
		return def, err
	}
	def.Default = stored(value)
	return def, nil
}

// newSchema is the columns of a table as the engine wants them, and how their
// values become the engine's. It is not ok where one of them is not known here.
func newSchema(name ndbtest.TableName, columns []ndbtest.ColumnInfo) (_ sql.PrimaryKeySchema, values []func(any) any, ok bool) {
	var schema sql.Schema
	var key []int
	for i := range columns {
		c := &columns[i]
		t, value, ok := engineType(c)
		if !ok {
			return sql.PrimaryKeySchema{}, nil, false
		}
		column := &sql.Column{
			Name: c.Name, Type: t, Nullable: c.Nullable, PrimaryKey: c.PrimaryKey, Source: name.Name, DatabaseSource: name.Database,
		}
		if c.HasDefault {
			column.Default = &sql.ColumnDefaultValue{Expr: expression.NewLiteral(value(c.Default), t), OutType: t, Literal: true}
		}
		if c.PrimaryKey {
			key = append(key, i)
		}
		schema, values = append(schema, column), append(values, value)
	}
	return sql.NewPrimaryKeySchema(schema, key...), values, true
}

const (
	zeroDate = types.ZeroDateStr
	day      = 24 * time.Hour
)

// dateOf reads a DATE. What is no date of the calendar is the zero date to the
// engine.
func dateOf(v any) any {
	if d, err := time.Parse(time.DateOnly, v.(string)); err == nil {
		return d
	}
	return types.Date.Zero()
}

func isZeroDate(t time.Time) bool { return t.Equal(types.Date.Zero().(time.Time)) }

// stored is a value of the engine as the cluster takes it.
func stored(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v) // can be compared
	case time.Time:
		if isZeroDate(v) {
			return zeroDate
		}
		return v.UTC().Format(time.DateOnly)
	}
	return v
}
