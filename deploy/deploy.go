// Package deploy holds the files that a cluster is set up with, for programs that
// set one up.
package deploy

import _ "embed"

// Schema is schema.sql: the statements that make the tables.
//
//go:embed schema.sql
var Schema string
