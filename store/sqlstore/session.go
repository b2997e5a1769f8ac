package sqlstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// session names a connection on the side of its server. The zero value is one
// that is not known.
type session struct {
	server string // the server's UUID
	id     int64  // of the connection; a server counts upwards
}

// limits are settings of a session, that end on the server what nobody waits for any
// more, and planning.
// By default a statement waits a year for an ALTER TABLE to end.
func limits(timeout time.Duration) []string {
	seconds := int64((timeout + time.Second - 1) / time.Second)
	return []string{
		fmt.Sprintf("lock_wait_timeout=%d", seconds),
		fmt.Sprintf("innodb_lock_wait_timeout=%d", seconds),
		fmt.Sprintf("max_execution_time=%d", 1000*seconds), // of a SELECT, in milliseconds
		planning,
	}
}

// planning is what the optimizer is to leave alone: where conditions on two indexes
// are joined by OR it would read the rows of both one by one, each by a round trip of
// its own to the data nodes. Of 20,000 rows that took 3.3 s, and a scan of all 0.2.
const planning = "optimizer_switch='index_merge=off'"

// setLimits sets what the server knows of the limits: some that speak the
// protocol of MySQL know only a part.
func setLimits(ctx context.Context, c innerConn, limits []string) error {
	_, err := c.ExecContext(ctx, "SET "+strings.Join(limits, ","), nil)
	if errorNumber(err) == 0 {
		return err
	}
	for _, limit := range limits {
		if _, err := c.ExecContext(ctx, "SET "+limit, nil); err != nil && errorNumber(err) == 0 {
			return err
		}
	}
	return nil
}

// askSession asks for the name of the connection; it stays unknown where the
// server refuses the question.
func askSession(ctx context.Context, c innerConn) (session, error) {
	rows, err := c.QueryContext(ctx, "SELECT CONNECTION_ID(), @@server_uuid", nil)
	if errorNumber(err) != 0 {
		return session{}, nil
	}
	if err != nil {
		return session{}, err
	}
	defer func() { _ = rows.Close() }() // an error shows at the next use of the connection
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); err != nil || len(values) != 2 {
		return session{}, err
	}
	id, err := strconv.ParseInt(textOf(values[0]), 10, 64)
	if err != nil {
		return session{}, nil
	}
	return session{server: textOf(values[1]), id: id}, nil
}

// textOf copies: bytes are the driver's until the next row.
func textOf(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
