package sqlnode

import (
	"fmt"
	"time"

	"github.com/dolthub/vitess/go/sqltypes"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// This file is the columns and values of the cluster ↔ those of the engine:
// integers, CHAR, VARCHAR and DATE. Tables with other columns cannot be made or
// read here.

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

// engineType is the type of a column of the cluster, and how its values become
// the engine's.
func engineType(c *ndbtest.ColumnInfo) (t sql.Type, value func(any) any, err error) {
	for _, i := range integers {
		if i.ndb == c.Type {
			return i.engine, i.value, nil
		}
	}
	same := func(v any) any { return v }
	switch {
	case c.Type == "Date":
		return types.Date, dateOf, nil
	case c.Characters > 0 && c.Type == "Char":
		t, err = types.CreateString(sqltypes.Char, int64(c.Characters), sql.CollationID(c.Collation))
		return t, same, err
	case c.Characters > 0:
		t, err = types.CreateString(sqltypes.VarChar, int64(c.Characters), sql.CollationID(c.Collation))
		return t, same, err
	}
	return nil, nil, fmt.Errorf("type %s is not known here", c.Type)
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
		def.Collation = collation.Name()
		switch t.Type() {
		case sqltypes.Char:
			def.Type = fmt.Sprintf("CHAR(%d)", t.Length())
		case sqltypes.VarChar:
			def.Type = fmt.Sprintf("VARCHAR(%d)", t.Length())
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
// values become the engine's.
func newSchema(name ndbtest.TableName, columns []ndbtest.ColumnInfo) (sql.PrimaryKeySchema, []func(any) any, error) {
	var schema sql.Schema
	var values []func(any) any
	var key []int
	for i := range columns {
		c := &columns[i]
		t, value, err := engineType(c)
		if err != nil {
			return sql.PrimaryKeySchema{}, nil, fmt.Errorf("table %s.%s: column %s: %w", name.Database, name.Name, c.Name, err)
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
	return sql.NewPrimaryKeySchema(schema, key...), values, nil
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
	t, ok := v.(time.Time)
	switch {
	case !ok:
		return v
	case isZeroDate(t):
		return zeroDate
	}
	return t.UTC().Format(time.DateOnly)
}
