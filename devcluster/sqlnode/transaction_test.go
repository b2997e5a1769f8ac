package sqlnode_test

import (
	"database/sql"
	"database/sql/driver"
	"slices"
	"testing"
	"time"
)

// patient is a lock wait that no test waits for.
const patient = time.Minute

// startWaiting is start, with a channel that tells of each wait for a lock.
func startWaiting(t *testing.T, lockWait time.Duration) (*sql.DB, <-chan struct{}) {
	t.Helper()
	waiting := make(chan struct{}, 64)
	db := start(t, config{LockWait: lockWait, OnLockWait: func() { waiting <- struct{}{} }})
	return db, waiting
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

func commit(t *testing.T, tx *sql.Tx) {
	t.Helper()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// inBackground runs f, and returns what waits for its result.
func inBackground(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }() // ends with f
	return func() error { return <-done }
}

func department(t *testing.T, db execer, id int64) int64 {
	t.Helper()
	got := query[int64](t, db, "SELECT department FROM employee WHERE id = ?", id)
	if len(got) != 1 {
		t.Fatalf("%d rows with id %d, want 1", len(got), id)
	}
	return got[0]
}

func TestSelectForUpdate_HoldsTheRowUntilCommit(t *testing.T) {
	db, waiting := startWaiting(t, patient)
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 10)")
	for _, lock := range []string{
		"SELECT department FROM employee WHERE id = 1 FOR UPDATE",
		"SELECT department FROM employee WHERE id >= 1 ORDER BY id LIMIT 1 FOR UPDATE",
		"UPDATE employee SET last = 'x' WHERE id = 1",
	} {
		t.Run(lock, func(t *testing.T) {
			before := department(t, db, 1)
			first := begin(t, db)
			exec(t, first, lock)
			second := begin(t, db)
			var got []int64
			wait := inBackground(func() error {
				got = query[int64](t, second, "SELECT department FROM employee WHERE id = 1 FOR UPDATE")
				return nil
			})
			<-waiting
			exec(t, first, "UPDATE employee SET department = department + 1 WHERE id = 1")
			commit(t, first)
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, []int64{before + 1}) {
				t.Errorf("the second transaction read %v, want %d", got, before+1)
			}
			commit(t, second)
		})
	}
}

func TestSelect_DoesNotWait_ReadsWhatIsCommitted(t *testing.T) {
	db, _ := startWaiting(t, patient)
	exec(t, db, "INSERT INTO employee (id, department, municipality) VALUES (1, 10, 'Oslo')")
	writer, reader := begin(t, db), begin(t, db)
	exec(t, writer, "UPDATE employee SET department = 11, municipality = 'Bergen' WHERE id = 1")
	exec(t, writer, "INSERT INTO employee (id, municipality) VALUES (2, 'Oslo')")

	const inOslo = "SELECT id FROM employee WHERE municipality = 'Oslo'"
	if got := department(t, reader, 1); got != 10 {
		t.Errorf("another transaction reads %d before the commit, want 10", got)
	}
	if got := query[int64](t, reader, inOslo); !slices.Equal(got, []int64{1}) {
		t.Errorf("another transaction finds %v in Oslo before the commit, want [1]", got)
	}
	if got := department(t, writer, 1); got != 11 {
		t.Errorf("the transaction itself reads %d, want 11", got)
	}
	if got := query[int64](t, writer, inOslo); !slices.Equal(got, []int64{2}) {
		t.Errorf("the transaction itself finds %v in Oslo, want [2]", got)
	}
	commit(t, writer)
	if got := department(t, reader, 1); got != 11 {
		t.Errorf("another transaction reads %d after the commit, want 11", got)
	}
	if got := query[int64](t, reader, inOslo); !slices.Equal(got, []int64{2}) {
		t.Errorf("another transaction finds %v in Oslo after the commit, want [2]", got)
	}
}

func TestRollback_TakesEverythingBack(t *testing.T) {
	db, _ := startWaiting(t, patient)
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 10), (2, 20)")
	tx := begin(t, db)
	exec(t, tx, "UPDATE employee SET department = 11 WHERE id = 1")
	exec(t, tx, "DELETE FROM employee WHERE id = 2")
	exec(t, tx, "INSERT INTO employee (id, department) VALUES (3, 30)")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := query[int64](t, db, "SELECT department FROM employee ORDER BY id"); !slices.Equal(got, []int64{10, 20}) {
		t.Errorf("departments are %v, want [10 20]", got)
	}
	exec(t, db, "UPDATE employee SET department = 0")
}

func TestUpdate_WaitsAndLooksAgain(t *testing.T) {
	db, waiting := startWaiting(t, patient)
	exec(t, db, "INSERT INTO employee (id, department, municipality) VALUES (1, 10, 'Oslo')")
	for _, where := range []string{"id = 1 AND municipality = 'Oslo'", "municipality = 'Oslo'", "department = 10"} {
		t.Run(where, func(t *testing.T) {
			exec(t, db, "UPDATE employee SET department = 10, municipality = 'Oslo'")
			tx := begin(t, db)
			exec(t, tx, "UPDATE employee SET department = 11, municipality = 'Bergen'")
			var res sql.Result
			wait := inBackground(func() (err error) {
				res, err = db.ExecContext(t.Context(), "UPDATE employee SET department = 99 WHERE "+where)
				return err
			})
			<-waiting
			commit(t, tx)
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			if got := affected(t, res); got != 0 {
				t.Errorf("%d rows affected, want none: the row is another one now", got)
			}
			if got := department(t, db, 1); got != 11 {
				t.Errorf("department is %d, want 11", got)
			}
		})
	}
}

func TestInsert_OfAnIDBeingInserted_WaitsForTheOutcome(t *testing.T) {
	db, waiting := startWaiting(t, patient)
	tests := []struct {
		name   string
		commit bool
		want   string
	}{
		{"committed", true, "first"},
		{"rolled back", false, "second"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			exec(t, db, "DELETE FROM employee")
			tx := begin(t, db)
			exec(t, tx, "INSERT INTO employee (id, first) VALUES (1, 'first')")
			wait := inBackground(func() error {
				_, err := db.ExecContext(t.Context(), "INSERT INTO employee (id, first) VALUES (1, 'second')")
				return err
			})
			<-waiting
			if tt.commit {
				commit(t, tx)
				wantError(t, wait(), 1062, "Duplicate entry '1' for key 'employee.PRIMARY'")
			} else {
				tx.Rollback()
				if err := wait(); err != nil {
					t.Fatal(err)
				}
			}
			if got := query[string](t, db, "SELECT first FROM employee"); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("rows are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLockWait_TooLong_Is1205AndRollsBackTheTransaction(t *testing.T) {
	db, _ := startWaiting(t, 10*time.Millisecond)
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 10), (2, 20), (3, 30)")
	for _, waiting := range []string{
		"UPDATE employee SET department = 12 WHERE id = 1",
		"DELETE FROM employee WHERE department < 20",
		"INSERT INTO employee (id) VALUES (1)",
		"INSERT INTO employee (id) VALUES (1) ON DUPLICATE KEY UPDATE department = 12",
		"SELECT id FROM employee WHERE id = 1 FOR UPDATE",
		"SELECT id FROM employee ORDER BY id LIMIT 1 FOR UPDATE",
		"TRUNCATE TABLE employee",
	} {
		t.Run(waiting, func(t *testing.T) {
			holder, waiter := begin(t, db), begin(t, db)
			exec(t, holder, "UPDATE employee SET department = 11 WHERE id = 1")
			exec(t, waiter, "UPDATE employee SET department = 21 WHERE id = 2")
			_, err := waiter.ExecContext(t.Context(), waiting)
			wantError(t, err, 1205, "Lock wait timeout exceeded; try restarting transaction")

			// Its locks are free, and what it does from now on is a new beginning.
			exec(t, holder, "UPDATE employee SET last = 'x' WHERE id = 2")
			exec(t, waiter, "UPDATE employee SET department = 31 WHERE id = 3")
			commit(t, waiter)
			commit(t, holder)
			if got := query[int64](t, db, "SELECT department FROM employee ORDER BY id"); !slices.Equal(got, []int64{11, 20, 31}) {
				t.Errorf("departments are %v, want [11 20 31]", got)
			}
		})
	}
}

func TestDeadlock_EndsByTheLockWait(t *testing.T) {
	db, waiting := startWaiting(t, 50*time.Millisecond)
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 1), (2, 2)")
	a, b := begin(t, db), begin(t, db)
	exec(t, a, "UPDATE employee SET department = 10 WHERE id = 1")
	exec(t, b, "UPDATE employee SET department = 20 WHERE id = 2")
	wait := inBackground(func() error {
		_, err := a.ExecContext(t.Context(), "UPDATE employee SET department = 10 WHERE id = 2")
		return err
	})
	<-waiting
	_, errB := b.ExecContext(t.Context(), "UPDATE employee SET department = 20 WHERE id = 1")
	errA := wait()

	// Which one gives way is a matter of chance; it may be both.
	want := []int64{1, 2}
	if errA == nil && errB == nil {
		t.Fatal("both transactions hold both rows")
	}
	for _, tx := range []struct {
		*sql.Tx
		err        error
		department int64
	}{{a, errA, 10}, {b, errB, 20}} {
		if tx.err != nil {
			wantError(t, tx.err, 1205, "Lock wait timeout exceeded; try restarting transaction")
			continue
		}
		commit(t, tx.Tx)
		want = []int64{tx.department, tx.department}
	}
	if got := query[int64](t, db, "SELECT department FROM employee"); !slices.Equal(got, want) {
		t.Errorf("departments are %v, want %v", got, want)
	}
}

func TestFailedStatement_LeavesNoLock(t *testing.T) {
	db, _ := startWaiting(t, 10*time.Millisecond)
	exec(t, db, "INSERT INTO employee (id) VALUES (1)")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, failing := range []string{
		"UPDATE employee SET department = 3000000000 WHERE id = 1",
		"INSERT INTO employee (id) VALUES (2), (1)",
		"UPDATE employee SET id = 1 / 0 WHERE id = 1",
		"SELECT first FROM employee WHERE id = (SELECT id FROM employee UNION SELECT 5) FOR UPDATE",
	} {
		t.Run(failing, func(t *testing.T) {
			if _, err := conn.ExecContext(t.Context(), failing); err == nil {
				t.Fatal("no error")
			}
			exec(t, db, "UPDATE employee SET department = department + 1 WHERE id = 1")
			exec(t, db, "INSERT INTO employee (id) VALUES (2)")
			exec(t, db, "DELETE FROM employee WHERE id = 2")
		})
	}
}

func TestFailedStatement_RollsBackTheTransaction(t *testing.T) {
	db, _ := startWaiting(t, 10*time.Millisecond)
	tests := []struct {
		name, failing, message string
		number                 uint16
	}{
		{"one row", "INSERT INTO employee (id) VALUES (1)", "Duplicate entry '1' for key 'employee.PRIMARY'", 1062},
		{"several rows", "INSERT INTO employee (id) VALUES (3), (1)", "Can't write; duplicate key in table 'employee'", 1022},
		{"bad value", "UPDATE employee SET department = NULL WHERE id = 2", "Column 'department' cannot be null", 1048},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			exec(t, db, "DELETE FROM employee")
			exec(t, db, "INSERT INTO employee (id) VALUES (1), (2)")
			tx := begin(t, db)
			exec(t, tx, "INSERT INTO employee (id) VALUES (4)")
			exec(t, tx, "UPDATE employee SET department = 9 WHERE id = 2")
			_, err := tx.ExecContext(t.Context(), tt.failing)
			wantError(t, err, tt.number, tt.message)

			exec(t, db, "UPDATE employee SET last = 'x' WHERE id = 2")
			exec(t, tx, "INSERT INTO employee (id) VALUES (5)")
			commit(t, tx)
			if got := query[int64](t, db, "SELECT id FROM employee WHERE department = 1 ORDER BY id"); !slices.Equal(got, []int64{1, 2, 5}) {
				t.Errorf("rows are %v, want [1 2 5]", got)
			}
		})
	}
}

func TestFailedStatement_ThatNeverStarted_LeavesTheTransaction(t *testing.T) {
	db, _ := startWaiting(t, patient)
	tx := begin(t, db)
	exec(t, tx, "INSERT INTO employee (id) VALUES (1)")
	for _, failing := range []string{"SELEC", "SELECT nosuch FROM employee"} {
		if _, err := tx.ExecContext(t.Context(), failing); err == nil {
			t.Fatalf("%s: no error", failing)
		}
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO employee (id, first) VALUES (2, ?)", "😀"); err == nil {
		t.Fatal("no error")
	}
	exec(t, tx, "INSERT IGNORE INTO employee (id) VALUES (1), (3)")
	commit(t, tx)
	if got := query[int64](t, db, "SELECT id FROM employee ORDER BY id"); !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("rows are %v, want [1 3]", got)
	}
}

func TestConnectionLost_RollsBack(t *testing.T) {
	db, waiting := startWaiting(t, patient)
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 10)")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "BEGIN")
	exec(t, conn, "UPDATE employee SET department = 11 WHERE id = 1")
	wait := inBackground(func() error {
		_, err := db.ExecContext(t.Context(), "UPDATE employee SET department = department + 100 WHERE id = 1")
		return err
	})
	<-waiting
	// Closes the connection instead of giving it back to the pool.
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if got := department(t, db, 1); got != 110 {
		t.Errorf("department is %d, want 110", got)
	}
}

func TestSelectForUpdate_OfNoRow_LocksNothing(t *testing.T) {
	db, _ := startWaiting(t, 10*time.Millisecond)
	tx := begin(t, db)
	if got := query[int64](t, tx, "SELECT id FROM employee WHERE id = 1 FOR UPDATE"); len(got) != 0 {
		t.Fatalf("rows are %v, want none", got)
	}
	exec(t, db, "INSERT INTO employee (id) VALUES (1)")
}

func TestAutocommitOff_StatementsWaitForCommit(t *testing.T) {
	db, _ := startWaiting(t, patient)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec(t, conn, "SET autocommit = 0")
	exec(t, conn, "INSERT INTO employee (id) VALUES (1)")
	if got := query[int64](t, db, "SELECT id FROM employee"); len(got) != 0 {
		t.Errorf("rows are %v before COMMIT, want none", got)
	}
	exec(t, conn, "COMMIT")
	if got := query[int64](t, db, "SELECT id FROM employee"); len(got) != 1 {
		t.Errorf("rows are %v after COMMIT, want one", got)
	}
	exec(t, conn, "SET autocommit = 1")
}

func TestReadOnlyTransaction_RefusesWrites(t *testing.T) {
	db, _ := startWaiting(t, patient)
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), "INSERT INTO employee (id) VALUES (1)")
	wantError(t, err, 1792, "cannot execute statement in a READ ONLY transaction")
}

func TestSavepoint_IsRefused(t *testing.T) {
	db, _ := startWaiting(t, patient)
	tx := begin(t, db)
	_, err := tx.ExecContext(t.Context(), "SAVEPOINT a")
	wantError(t, err, 1178, "The storage engine for the table doesn't support SAVEPOINT")
	_, err = tx.ExecContext(t.Context(), "ROLLBACK TO SAVEPOINT a")
	wantError(t, err, 1305, "SAVEPOINT a does not exist")
}
