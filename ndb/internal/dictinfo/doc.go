// Package dictinfo reads and writes the descriptions of tables, indexes and
// hash maps that the dictionary of the data nodes (DBDICT) keeps, and the names
// by which it knows them.
//
// A description travels as the section of GET_TABINFO_CONF: a stream of
// properties in big endian words. PROTOCOL.md of package ndb lists them.
// Everything here is plain data: safe to share once built, nothing keeps a
// reference to what it was decoded from.
package dictinfo
