package sqlstore

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// columnInMessage finds the column in "Data too long for column 'first' at
// row 1" and "Column 'department' cannot be null".
var columnInMessage = regexp.MustCompile(`[Cc]olumn '([^']+)'`)

// charsetInMessage finds the character set in "Conversion from collation
// utf8mb4_general_ci into utf8mb3_general_ci impossible for parameter".
var charsetInMessage = regexp.MustCompile(`into ([0-9a-z]+)`)

// invalid puts a *models.ValidationError before the cause where the property is
// known.
func (s *Store) invalid(c *call, err *mysql.MySQLError, rule string) error {
	broken := &models.ValidationError{}
	for _, p := range s.guilty(c, err, rule) {
		broken.Fields = append(broken.Fields, columnrule.Broken(p.Name, rule))
	}
	if len(broken.Fields) == 0 {
		return scrub(err)
	}
	return fmt.Errorf("%w: %w", broken, scrub(err))
}

func (s *Store) guilty(c *call, err *mysql.MySQLError, rule string) []models.Property {
	if m := columnInMessage.FindStringSubmatch(err.Message); m != nil {
		if p, ok := s.columns.byColumn[m[1]]; ok {
			return []models.Property{p}
		}
	}
	if rule != columnrule.Charset || c.values == nil {
		return nil
	}
	// For a bound parameter the server names no column, only the character
	// sets: "Conversion from collation utf8mb4_… into utf8mb3_… impossible".
	canStore := repertoires["ascii"]
	if m := charsetInMessage.FindStringSubmatch(err.Message); m != nil && repertoires[m[1]] != nil {
		canStore = repertoires[m[1]]
	}
	var found []models.Property
	for _, p := range c.set {
		if text, ok := p.Value(c.values).(string); ok && !holdsAll(canStore, text) {
			found = append(found, p)
		}
	}
	return found
}

var (
	// account finds 'user'@'host', quoted or not, in a server's message.
	account = regexp.MustCompile(`'[^']*'@'[^']*'`)
	// closedDoors are refusals whose message is about the account.
	closedDoors = map[uint16]string{
		1044: "access to the database denied",
		1045: "access denied",
		1142: "statement denied on the table",
		1143: "statement denied on a column",
		1203: "too many connections of the user",
		1226: "a limit of the user is reached",
		1227: "access denied for want of a privilege",
		1698: "access denied",
		1862: "the password has expired",
		3118: "the account is locked",
	}
)

// scrub takes accounts out of a server's error. The type stays.
func scrub(err error) error {
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		return err
	}
	clean := *server
	if message, ok := closedDoors[server.Number]; ok {
		clean.Message = message
	} else {
		clean.Message = account.ReplaceAllString(server.Message, "'…'@'…'")
	}
	var connect *connectError
	if errors.As(err, &connect) {
		return &connectError{&clean}
	}
	return &clean
}
