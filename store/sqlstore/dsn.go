package sqlstore

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// charset and collation of the connection. The collation is known to every
// server and, like that of the table, pads with spaces and ignores case.
const (
	charset   = "utf8mb4"
	collation = "utf8mb4_general_ci"
)

// sessionVariables are set on every connection, whatever the server's defaults
// and the DSN say.
var sessionVariables = map[string]string{
	// Bad input is an error, never a silent change, on every engine.
	"sql_mode": "'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE," +
		"NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
	// The only level of NDB; so other engines behave the same.
	"transaction_isolation": "'READ-COMMITTED'",
	// A single statement is a transaction.
	"autocommit": "1",
}

var (
	errFormDSN   = errors.New("not of the form user:password@tcp(host:port)/database?param=value")
	errParamDSN  = errors.New("a parameter, or the network before the address, is unknown or has a wrong value")
	errNoDBInDSN = errors.New("names no database")
)

// parseDSN reads a DSN and sets what this road relies on. Its errors never
// quote the DSN: with a sign missing, the driver takes the password for the
// network or a parameter.
func parseDSN(dsn string, cfg *Config) (c *mysql.Config, err error) {
	defer func() {
		if recover() != nil { // the driver's answer to the parameter "strict"
			c, err = nil, errParamDSN
		}
	}()
	if !strings.Contains(dsn, "/") {
		return nil, errFormDSN
	}
	if c, err = mysql.ParseDSN(dsn); err != nil {
		return nil, errParamDSN
	}
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6", "unix"}, c.Net) {
		return nil, errFormDSN
	}
	if c.DBName == "" {
		return nil, errNoDBInDSN
	}
	return c, adjust(c, cfg)
}

func adjust(c *mysql.Config, cfg *Config) error {
	c.ClientFoundRows = true    // a row that already is as asked counts as found
	c.ParseTime = false         // models.Date reads text
	c.InterpolateParams = false // prepared statements
	c.MultiStatements = false
	c.AllowAllFiles = false
	c.ColumnsWithAlias = false
	c.CheckConnLiveness = true
	// The server's refusal becomes ErrUnavailable; the driver would hide it
	// behind a bad connection.
	c.RejectReadOnly = false
	c.Timeout = cmp.Or(c.Timeout, cfg.DialTimeout, defaultDialTimeout)
	c.Logger = &mysql.NopLogger{} // the same errors reach the caller
	secure(c, cfg)
	for name := range c.Params {
		if isSessionVariable(name) {
			delete(c.Params, name)
		}
	}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	for name, value := range sessionVariables {
		c.Params[name] = value
	}
	return c.Apply(mysql.Charset(charset, collation))
}

// isSessionVariable also knows spellings such as "@@SESSION.sql_mode".
func isSessionVariable(name string) bool {
	name = strings.ToLower(name)
	for ours := range sessionVariables {
		if strings.Contains(name, ours) {
			return true
		}
	}
	return strings.Contains(name, "tx_isolation")
}
