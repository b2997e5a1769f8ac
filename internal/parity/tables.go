package parity

import (
	"fmt"
	"slices"
	"strings"
)

// Table is a table to compare the roads on.
type Table struct {
	Name               string // for people, and in names of databases
	First, Last, City  string // definitions of the columns
	Started, Ended     string
	Department         string
	share              int  // of the steps
	needsAllCollations bool // ndbtest does not know how all of its texts compare
}

const (
	nullableDate = "DATE"
	plainNumber  = "INT NOT NULL DEFAULT 1"
)

// Tables returns the original table and variants of it: in other character sets
// and collations, one of each kind, and with columns that hold less. Their shares
// of the steps add up to 100.
func Tables() []Table {
	return []Table{
		textTable("original", 40, false, "utf8mb3_general_ci", "utf8mb3_general_ci", "utf8mb3_general_ci"),
		textTable("latin1", 10, false, "latin1_bin", "latin1_swedish_ci", "latin1_swedish_ci"),
		textTable("utf8mb4", 10, false, "utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_general_ci"),
		textTable("expanding", 10, true, "latin1_german2_ci", "ascii_general_ci", "latin1_german2_ci"),
		textTable("unicode", 10, true, "utf8mb4_0900_as_cs", "utf8mb3_unicode_ci", "utf8mb4_0900_ai_ci"),
		textTable("national", 10, true, "utf8mb4_tr_0900_ai_ci", "utf8mb4_ja_0900_as_cs_ks", "utf8mb4_unicode_520_ci"),
		{
			Name: "narrow", share: 10,
			First:   "VARCHAR(64) COLLATE utf8mb3_general_ci NOT NULL",
			Last:    "VARCHAR(10) COLLATE utf8mb3_bin",
			City:    "VARCHAR(3) COLLATE utf8mb4_general_ci",
			Started: "DATE NOT NULL", Ended: nullableDate,
			Department: "SMALLINT NOT NULL",
		},
	}
}

// textTable is the original table, its texts in the collations.
func textTable(name string, share int, needsAllCollations bool, first, last, city string) Table {
	text := func(collation string) string { return "VARCHAR(64) COLLATE " + collation }
	return Table{
		Name: name, First: text(first), Last: text(last), City: text(city),
		Started: nullableDate, Ended: nullableDate, Department: plainNumber,
		share: share, needsAllCollations: needsAllCollations,
	}
}

// Create is the statement that makes the table in the database in use.
func (t *Table) Create() string {
	return fmt.Sprintf(`CREATE TABLE employee (
		id BIGINT NOT NULL PRIMARY KEY, first %s, last %s, municipality %s, started %s, ended %s, department %s,
		KEY idx_municipality (municipality)
	) ENGINE=NDBCLUSTER`, t.First, t.Last, t.City, t.Started, t.Ended, t.Department)
}

// CreateAnswers is the statement that makes the table of kept answers beside it.
const CreateAnswers = `CREATE TABLE idempotency (
		caller VARBINARY(64) NOT NULL, idempotency_key VARBINARY(255) NOT NULL, request VARBINARY(64) NOT NULL,
		made BIGINT NOT NULL, expires BIGINT NOT NULL, answer VARBINARY(24000) NOT NULL,
		PRIMARY KEY (caller, idempotency_key) USING HASH, KEY idx_expires (expires)
	) ENGINE=NDBCLUSTER`

// StepsOf is the table's share of all steps.
func (t *Table) StepsOf(all int) int { return all * t.share / 100 }

// knownOrders are the collations whose order the native road knows for all text.
var knownOrders = []string{
	"utf8mb3_general_ci", "utf8mb3_bin", "utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci", "latin1_bin", "ascii_general_ci",
}

// NoOrder has the names of the properties that the native road cannot order by.
func (t *Table) NoOrder() []string {
	var names []string
	for name, definition := range map[string]string{"first": t.First, "last": t.Last, "city": t.City} {
		if !slices.ContainsFunc(knownOrders, func(c string) bool { return slices.Contains(strings.Fields(definition), c) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// KnownToNDBTest tells whether ndbtest knows how all texts of the table compare.
func (t *Table) KnownToNDBTest() bool { return !t.needsAllCollations }
