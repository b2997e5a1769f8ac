package dictinfo

import (
	"fmt"
	"strconv"
	"strings"
)

// Internal names have three parts: database, schema and table, or for indexes
// "sys", "def", the id of the table and the index.
const (
	nameSeparator  = "/"
	schemaName     = "def"
	systemDatabase = "sys"
	uniqueSuffix   = "$unique"
)

// MaxNameBytes is the longest internal name with its NUL: the size of the name
// in ALTER_TABLE_REP.
const MaxNameBytes = 128

// TableName returns the internal name of a table. It fails for names that
// would mean something else inside the dictionary.
func TableName(database, table string) (string, error) {
	for _, part := range []string{database, table} {
		if part == "" || strings.ContainsAny(part, nameSeparator+"\x00") {
			return "", fmt.Errorf("%q is no name for a database or table", part)
		}
	}
	return checkLength(database + nameSeparator + schemaName + nameSeparator + table)
}

// SplitTableName is the reverse of TableName.
func SplitTableName(name string) (database, table string, err error) {
	parts := strings.Split(name, nameSeparator)
	if len(parts) != 3 || parts[0] == "" || parts[1] != schemaName || parts[2] == "" {
		return "", "", fmt.Errorf("%q is no internal name of a table", name)
	}
	return parts[0], parts[2], nil
}

// IndexName returns the internal name of an ordered index.
func IndexName(tableID uint32, index string) (string, error) {
	if index == "" || strings.ContainsAny(index, nameSeparator+"\x00") {
		return "", fmt.Errorf("%q is no name for an index", index)
	}
	prefix := systemDatabase + nameSeparator + schemaName + nameSeparator
	return checkLength(prefix + strconv.FormatUint(uint64(tableID), 10) + nameSeparator + index)
}

// UniqueIndexName returns the internal name of a unique index: SQL nodes give
// it a suffix, as an ordered index of the same name lies beside it.
func UniqueIndexName(tableID uint32, index string) (string, error) {
	return IndexName(tableID, index+uniqueSuffix)
}

// SplitIndexName is the reverse of IndexName and UniqueIndexName. The suffix
// of unique indexes stays on index; TrimUnique takes it off.
func SplitIndexName(name string) (tableID uint32, index string, err error) {
	parts := strings.Split(name, nameSeparator)
	if len(parts) != 4 || parts[0] != systemDatabase || parts[1] != schemaName || parts[3] == "" {
		return 0, "", fmt.Errorf("%q is no internal name of an index", name)
	}
	id, err := strconv.ParseUint(parts[2], 10, 32)
	if err != nil {
		return 0, "", fmt.Errorf("%q is no internal name of an index: %w", name, err)
	}
	return uint32(id), parts[3], nil
}

// TrimUnique takes the suffix of unique indexes off the name of an index.
func TrimUnique(index string) string { return strings.TrimSuffix(index, uniqueSuffix) }

func checkLength(name string) (string, error) {
	if len(name) >= MaxNameBytes {
		return "", fmt.Errorf("internal name %q has %d bytes, more than %d", name, len(name), MaxNameBytes-1)
	}
	return name, nil
}
