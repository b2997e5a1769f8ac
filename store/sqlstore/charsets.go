package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// charsetsAge is how long what was learnt of the columns is taken for true.
const charsetsAge = time.Minute

// charsets are the character sets of a table's columns at some time.
type charsets struct {
	learnt   time.Duration // on the clock of the node
	byColumn map[string]string
}

// checkCharsets refuses text that its column cannot store before anything is
// sent. The server refuses it too, but not always: a change of a row that is
// absent or locked is answered by that.
func (n *node) checkCharsets(db *gorm.DB, columns *columns, c *call) error {
	broken := &models.ValidationError{}
	for _, p := range c.set {
		text, _ := p.Value(c.values).(string)
		if !hasRuneAbove(text, utf8.RuneSelf-1) {
			continue // every character set has ASCII
		}
		known, err := n.columnCharsets(db)
		if err != nil {
			return err
		}
		if canStore, ok := repertoires[known[columns.of(p)]]; ok && !holdsAll(canStore, text) {
			broken.Fields = append(broken.Fields, columnrule.Broken(p.Name, columnrule.Charset))
		}
	}
	if len(broken.Fields) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrInvalid, broken)
}

const charsetsQuery = "SELECT `column_name`,`character_set_name` FROM information_schema.columns" +
	" WHERE table_schema = DATABASE() AND table_name = ?"

// columnCharsets asks the server where it was not asked lately. Where it
// refuses that, nothing is known.
func (n *node) columnCharsets(db *gorm.DB) (map[string]string, error) {
	if known := n.charsets.Load(); known != nil && n.clock()-known.learnt < charsetsAge {
		return known.byColumn, nil
	}
	learnt := charsets{learnt: n.clock(), byColumn: map[string]string{}}
	rows, err := db.Raw(charsetsQuery, n.table).Rows()
	if errorNumber(err) != 0 {
		n.charsets.Store(&learnt)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var column string
		var charset sql.NullString
		if err := rows.Scan(&column, &charset); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		learnt.byColumn[column] = charset.String
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	n.charsets.Store(&learnt)
	return learnt.byColumn, nil
}

// repertoires tell which characters the usual character sets have. Those of
// other sets only the server knows.
var repertoires = map[string]func(r rune) bool{
	"ascii":   func(r rune) bool { return r < utf8.RuneSelf },
	"latin1":  isLatin1,
	"utf8":    isBasicPlane,
	"utf8mb3": isBasicPlane,
	"ucs2":    isBasicPlane,
	"utf8mb4": func(rune) bool { return true },
}

func isBasicPlane(r rune) bool { return r <= 0xFFFF }

// isLatin1 knows that what MySQL calls latin1 is Windows-1252, with the five
// codes that this leaves free as control characters.
func isLatin1(r rune) bool {
	return r < 0x80 || r >= 0xA0 && r <= 0xFF ||
		strings.ContainsRune("\u0081\u008d\u008f\u0090\u009d€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ", r)
}

func holdsAll(canStore func(r rune) bool, text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !canStore(r) })
}

func hasRuneAbove(text string, limit rune) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r > limit })
}
