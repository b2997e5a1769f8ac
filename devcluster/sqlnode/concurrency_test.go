package sqlnode_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// connections is how many the gateway opens by default.
const connections = 64

// onEach runs f on that many connections at once.
func onEach(t *testing.T, db *sql.DB, f func(ctx context.Context, i int, c *sql.Conn) error) {
	t.Helper()
	ctx := t.Context()
	conns := make([]*sql.Conn, connections)
	for i := range conns {
		c, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
	}
	var wg sync.WaitGroup
	errs := make([]error, connections)
	for i, c := range conns {
		wg.Go(func() { errs[i] = f(ctx, i, c) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestConcurrent_InsertsOfDistinctRows_AllAreThere(t *testing.T) {
	db := start(t, config{LockWait: patient})
	const each = 20
	onEach(t, db, func(ctx context.Context, i int, c *sql.Conn) error {
		for j := range each {
			id := j*connections + i
			if _, err := c.ExecContext(ctx, insertEmployee, id, nil, nil, fmt.Sprint("city", id%7), nil, nil, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if got := query[int64](t, db, "SELECT COUNT(*) FROM employee"); got[0] != each*connections {
		t.Errorf("%d rows, want %d", got[0], each*connections)
	}
	want := 0
	for id := range each * connections {
		if id%7 == 3 {
			want++
		}
	}
	if got := query[int64](t, db, "SELECT COUNT(*) FROM employee WHERE municipality = 'city3'"); got[0] != int64(want) {
		t.Errorf("%d rows by the index, want %d", got[0], want)
	}
}

func TestConcurrent_ReadModifyWrite_LosesNoUpdate(t *testing.T) {
	db := start(t, config{LockWait: patient})
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 0)")
	const each = 5
	increment := func(ctx context.Context, c *sql.Conn) error {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		var n int
		err = tx.QueryRowContext(ctx, "SELECT department FROM employee WHERE id = ? FOR UPDATE", 1).Scan(&n)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE employee SET department = ? WHERE id = ?", n+1, 1); err != nil {
			return err
		}
		return tx.Commit()
	}
	onEach(t, db, func(ctx context.Context, _ int, c *sql.Conn) error {
		for range each {
			if err := increment(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if got := department(t, db, 1); got != each*connections {
		t.Errorf("counted to %d, want %d", got, each*connections)
	}
}

func TestConcurrent_UpdatesInOneStatement_LoseNone(t *testing.T) {
	db := start(t, config{LockWait: patient})
	exec(t, db, "INSERT INTO employee (id, department, municipality) VALUES (1, 0, 'Oslo'), (2, 0, 'Oslo')")
	onEach(t, db, func(ctx context.Context, i int, c *sql.Conn) error {
		where := []string{"id = 1", "municipality = 'oslo' AND id = 1", "id < 2"}[i%3]
		_, err := c.ExecContext(ctx, "UPDATE employee SET department = department + 1 WHERE "+where)
		return err
	})
	if got := department(t, db, 1); got != connections {
		t.Errorf("counted to %d, want %d", got, connections)
	}
}

func TestConcurrent_InsertsOfTheSameID_OneWins(t *testing.T) {
	db := start(t, config{LockWait: patient})
	const rounds = 10
	var (
		mu   sync.Mutex // guards all below
		won  = make([]int, rounds)
		lost int
	)
	onEach(t, db, func(ctx context.Context, i int, c *sql.Conn) error {
		for round := range rounds {
			_, err := c.ExecContext(ctx, "INSERT INTO employee (id, department) VALUES (?, ?)", round, i)
			var my *mysql.MySQLError
			if err != nil && (!errors.As(err, &my) || my.Number != 1062) {
				return err
			}
			mu.Lock()
			if err == nil {
				won[round]++
			} else {
				lost++
			}
			mu.Unlock()
		}
		return nil
	})
	if !slices.Equal(won, slices.Repeat([]int{1}, rounds)) || lost != rounds*(connections-1) {
		t.Errorf("winners by round are %v, want one each; %d lost", won, lost)
	}
}

func TestConcurrent_UpsertsOfTheSameID_OneInserts(t *testing.T) {
	db := start(t, config{LockWait: patient})
	var (
		mu       sync.Mutex // guards inserted
		inserted int
	)
	onEach(t, db, func(ctx context.Context, i int, c *sql.Conn) error {
		res, err := c.ExecContext(ctx, insertEmployee+onDuplicate, 1, nil, nil, nil, nil, nil, i+1)
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		if id == 0 {
			mu.Lock()
			inserted++
			mu.Unlock()
		}
		return nil
	})
	if inserted != 1 {
		t.Errorf("%d statements say that they inserted the row, want 1", inserted)
	}
}

func TestConcurrent_Transfers_KeepTheSum(t *testing.T) {
	db := start(t, config{LockWait: patient})
	const accounts, sum = 8, 800
	for id := range accounts {
		exec(t, db, "INSERT INTO employee (id, department) VALUES (?, ?)", id, sum/accounts)
	}
	transfer := func(ctx context.Context, c *sql.Conn, from, to int) error {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		// Always in the same order: no deadlock.
		const move = "UPDATE employee SET department = department + ? WHERE id = ?"
		amount := 1
		if from > to {
			from, to, amount = to, from, -amount
		}
		if _, err := tx.ExecContext(ctx, move, -amount, from); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, move, amount, to); err != nil {
			return err
		}
		return tx.Commit()
	}
	onEach(t, db, func(ctx context.Context, i int, c *sql.Conn) error {
		for j := range 5 {
			from := (i + j) % accounts
			if err := transfer(ctx, c, from, (from+1+i%(accounts-1))%accounts); err != nil {
				return err
			}
			// One statement sees whole transactions only.
			var got int
			err := c.QueryRowContext(ctx, "SELECT SUM(department) FROM employee").Scan(&got)
			if err != nil {
				return err
			}
			if got != sum {
				return fmt.Errorf("sum is %d, want %d", got, sum)
			}
		}
		return nil
	})
}
