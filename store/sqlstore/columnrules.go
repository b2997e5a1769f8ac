package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// limitsAge is how long what was learnt of the columns is taken for true.
const limitsAge = time.Minute

// knownLimits are those of a table's columns at some time.
type knownLimits struct {
	learnt   time.Duration // on the clock of the node
	byColumn map[string]columnLimits
}

// columnLimits are what a column can hold. The zero value is a column of which nothing
// is known but that it takes no NULL.
type columnLimits struct {
	nullable      bool
	charset       string
	maxCharacters int64 // 0: it holds no text
	min, max      int64 // both 0: it holds no integers
}

// brokenBy is the rule that a value breaks, or nothing. A nil is NULL.
func (l *columnLimits) brokenBy(value any) string {
	switch value := value.(type) {
	case nil:
		if !l.nullable {
			return columnrule.NotNull
		}
	case string:
		canStore, known := repertoires[l.charset]
		switch {
		case known && !holdsAll(canStore, value):
			return columnrule.Charset
		case l.maxCharacters > 0 && int64(utf8.RuneCountInString(value)) > l.maxCharacters:
			return columnrule.Max
		}
	case int32:
		if n := int64(value); l.min < l.max && (n < l.min || n > l.max) {
			return columnrule.Range
		}
	}
	return ""
}

// write runs try, a write, so that values which their columns cannot hold are
// refused whatever is stored. The server refuses most of them too, but a change of
// a row that is absent, locked or not as the precondition asks is answered by
// that; and what it cuts off without a word must not be sent at all.
func (n *node) write(ctx context.Context, db *gorm.DB, columns *columns, c *call, try func(db *gorm.DB) error) error {
	if c.hasTextToLookAt() {
		if err := n.checkValues(db, columns, c); err != nil {
			return err
		}
	}
	err := try(db)
	if len(c.set) == 0 || !mayHideInvalid(err) && (err == nil || !c.keyFirst) || ctx.Err() != nil {
		return err
	}
	if invalid := n.checkValues(db, columns, c); errors.Is(invalid, store.ErrInvalid) {
		return invalid
	}
	return err
}

// hasTextToLookAt tells whether there is text that some character set lacks, or
// that the server could make shorter: by the spaces at its end.
func (c *call) hasTextToLookAt() bool {
	for _, p := range c.set {
		text, _ := p.Value(c.values).(string)
		if hasRuneAbove(text, utf8.RuneSelf-1) || strings.HasSuffix(text, " ") {
			return true
		}
	}
	return false
}

// mayHideInvalid tells whether an error leaves open what else is wrong with the
// values.
func mayHideInvalid(err error) bool {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		v, _ := verdictOf(server)
		return v.kind == store.ErrInvalid
	}
	return isKind(err) || errors.Is(err, gorm.ErrRecordNotFound)
}

// checkValues returns ErrInvalid with every property that breaks a rule of its
// column, as far as these are known.
func (n *node) checkValues(db *gorm.DB, columns *columns, c *call) error {
	known, err := n.limitsOfColumns(db)
	if err != nil {
		return err
	}
	broken := &models.ValidationError{}
	for _, p := range c.set {
		l, ok := known[columns.of(p)]
		if !ok {
			continue
		}
		if rule := l.brokenBy(p.Value(c.values)); rule != "" {
			broken.Fields = append(broken.Fields, columnrule.Broken(p.Name, rule))
		}
	}
	if len(broken.Fields) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrInvalid, broken)
}

const limitsQuery = "SELECT `column_name`,`is_nullable`,`character_set_name`,`character_maximum_length`,`column_type`" +
	" FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?"

// limitsOfColumns asks the server where it was not asked lately. Where it refuses
// that, nothing is known.
func (n *node) limitsOfColumns(db *gorm.DB) (map[string]columnLimits, error) {
	if known := n.limits.Load(); known != nil && n.clock()-known.learnt < limitsAge {
		return known.byColumn, nil
	}
	learnt := knownLimits{learnt: n.clock(), byColumn: map[string]columnLimits{}}
	rows, err := db.Raw(limitsQuery, n.table).Rows()
	if errorNumber(err) != 0 {
		n.limits.Store(&learnt)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var column, isNullable, columnType string
		var charset sql.NullString
		var characters sql.NullInt64
		if err := rows.Scan(&column, &isNullable, &charset, &characters, &columnType); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		l := columnLimits{nullable: isNullable == "YES", charset: charset.String, maxCharacters: characters.Int64}
		l.min, l.max = rangeOf(columnType)
		learnt.byColumn[column] = l
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	n.limits.Store(&learnt)
	return learnt.byColumn, nil
}

// rangeOf is that of a type such as "smallint unsigned", as far as an int64 holds
// it; 0 and 0 for what holds no integers.
func rangeOf(columnType string) (low, high int64) {
	bits := 0
	for prefix, n := range map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64} {
		if strings.HasPrefix(columnType, prefix) {
			bits = n
		}
	}
	switch {
	case bits == 0:
		return 0, 0
	case !strings.Contains(columnType, "unsigned"):
		return math.MinInt64 >> (64 - bits), math.MaxInt64 >> (64 - bits)
	case bits == 64:
		return 0, math.MaxInt64
	default:
		return 0, 1<<bits - 1
	}
}
