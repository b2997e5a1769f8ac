// Package rowformat reads and writes the text in which rows travel in streams:
// lines, records of CSV, and either of them compressed. It knows no model, reads
// what nobody trusts, and keeps no more of a stream than a line of it.
package rowformat
