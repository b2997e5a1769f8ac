package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Explain implements store.Queries: an EXPLAIN of the statement of List.
func (s *Store) Explain(ctx context.Context, q models.EmployeeQuery) (store.AccessPath, error) {
	selects := &selection{columns: &s.columns, wanted: q.Selected()}
	var path store.AccessPath
	err := s.do(ctx, call{op: "explain", prepare: selects.fit}, func(db *gorm.DB) error {
		path = store.AccessPath{Access: store.AccessNone, Order: store.OrderNone}
		if selects.fitted.SelectsNone() {
			return nil
		}
		dry := s.selectPage(db.Session(&gorm.Session{DryRun: true}), &q, q.TotalOrder(), selects).Find(&[]models.Employee{})
		if dry.Error != nil {
			return dry.Error
		}
		lines, err := readLines(db.Raw("EXPLAIN FORMAT=TRADITIONAL "+dry.Statement.SQL.String(), dry.Statement.Vars...))
		if err == nil {
			path = pathOf(lines)
		}
		return err
	})
	return path, err
}

// line is a row of an answer, by the names of its columns. NULL is left out.
type line map[string]string

func readLines(db *gorm.DB) (lines []line, err error) {
	rows, err := db.Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		targets := make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		l := line{}
		for i, v := range values {
			if v.Valid {
				l[names[i]] = v.String
			}
		}
		lines = append(lines, l)
	}
	return lines, rows.Err()
}

// accesses are by the access types of MySQL.
var accesses = map[string]store.Access{
	"system": store.AccessKey, "const": store.AccessKey, "eq_ref": store.AccessKey,
	"ref": store.AccessIndexRange, "ref_or_null": store.AccessIndexRange, "range": store.AccessIndexRange,
	"index_merge": store.AccessIndexRange, "index": store.AccessIndexScan, "ALL": store.AccessTableScan,
}

const (
	pushedCondition = "Using pushed condition "
	backwards       = "Backward index scan"
	fileSort        = "Using filesort"
)

// pathOf reads the one line that EXPLAIN has for one table. Servers that answer
// in another form are quoted.
func pathOf(lines []line) store.AccessPath {
	if len(lines) != 1 || lines[0]["select_type"] == "" {
		path := store.AccessPath{Access: store.AccessOther, Order: store.OrderSort}
		for _, l := range lines {
			for _, text := range l {
				path.Notes = append(path.Notes, text)
			}
		}
		return path
	}
	l := lines[0]
	path := store.AccessPath{Access: accesses[l["type"]], Index: l["key"], Order: store.OrderIndex}
	if rows, err := strconv.ParseInt(l["rows"], 10, 64); err == nil {
		path.Rows = &rows
	}
	extras := l["Extra"]
	if before, condition, pushed := strings.Cut(extras, pushedCondition); pushed {
		end := strings.LastIndexByte(condition, ')') + 1 // text in it may have anything
		path.Filter, extras = condition[:end], before+condition[end:]
	}
	for _, extra := range strings.Split(extras, "; ") {
		switch extra {
		case "":
		case fileSort:
			path.Order = store.OrderSort
		case backwards:
			path.Descending = true
		default:
			path.Notes = append(path.Notes, extra)
		}
	}
	switch {
	case l["type"] == "": // as for "Impossible WHERE"
		path.Access, path.Order = store.AccessNone, store.OrderNone
	case path.Access == "":
		path.Access = store.AccessOther
	case path.Access == store.AccessKey:
		path.Order = store.OrderNone
	}
	if l["type"] != "" {
		path.Notes = append(path.Notes, "type "+l["type"])
	}
	if l["ref"] != "" {
		path.Notes = append(path.Notes, "ref "+l["ref"])
	}
	if l["filtered"] != "" {
		path.Notes = append(path.Notes, "filtered "+l["filtered"])
	}
	return path
}
