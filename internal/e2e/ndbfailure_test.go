package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// nativeLoad is goroutines that write rows of their own through package ndb,
// each row once, and note what they were told.
type nativeLoad struct {
	client *ndb.Client
	table  *ndb.Table
	id     *ndb.Column

	next atomic.Int64
	slow atomic.Bool      // take turns at the ticks of pace
	pace <-chan time.Time // also between tries while nothing can be done

	mu      sync.Mutex // guards all below
	acked   []int64
	refused []int64 // surely not done
	unknown []int64
	slowest time.Duration
	changed *sync.Cond // after each answer
}

const (
	nativeCallTimeout = 5 * time.Second
	nativeFirstID     = firstID + 2_000_000
)

func startNativeLoad(t *testing.T, client *ndb.Client, writers int) (l *nativeLoad, stop func()) {
	t.Helper()
	table, err := client.Table(t.Context(), "ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	l = &nativeLoad{client: client, table: table, id: column(t, table, "id")}
	l.changed = sync.NewCond(&l.mu)
	ticker := time.NewTicker(time.Millisecond)
	l.pace = ticker.C
	done := make(chan struct{})
	var running sync.WaitGroup
	for range writers {
		running.Go(func() { // ends with done
			v := table.NewValues()
			for {
				select {
				case <-done:
					return
				default:
					l.write(v)
				}
			}
		})
	}
	return l, sync.OnceFunc(func() {
		close(done)
		running.Wait()
		ticker.Stop()
	})
}

func (l *nativeLoad) write(v *ndb.Values) {
	id := nativeFirstID + l.next.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), nativeCallTimeout)
	defer cancel()
	begun := time.Now()
	v.Reset()
	_, err := l.client.Insert(ctx, v.Int64(l.id, id))
	took := time.Since(begun)
	if err != nil || l.slow.Load() {
		<-l.pace
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	switch {
	case err == nil:
		l.acked = append(l.acked, id)
	case ndb.SurelyNotDone(err):
		l.refused = append(l.refused, id)
	default:
		l.unknown = append(l.unknown, id)
	}
	l.changed.Broadcast()
}

// waitFor returns once n more writes were acknowledged.
func (l *nativeLoad) waitFor(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	defer context.AfterFunc(ctx, l.changed.Broadcast)()
	l.mu.Lock()
	defer l.mu.Unlock()
	for goal := len(l.acked) + n; len(l.acked) < goal; l.changed.Wait() {
		if ctx.Err() != nil {
			t.Fatalf("only %d of %d writes were acknowledged in %v", n-(goal-len(l.acked)), n, 2*waitLimit)
		}
	}
}

// verify compares what was told with what is stored.
func (l *nativeLoad) verify(t *testing.T) {
	t.Helper()
	present := func(ids []int64) (there int, missing []int64) {
		all, err := l.table.Select("id")
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]ndb.Row, len(ids))
		batch := l.client.NewBatch(t.Context(), ndb.BatchOptions{Result: func(n int, err error) {
			var e *ndb.Error
			switch {
			case err == nil:
				there++
			case errors.As(err, &e) && e.Classification == ndb.ClassNoDataFound:
				missing = append(missing, ids[n])
			default:
				t.Errorf("read %d: %v", ids[n], err)
			}
		}})
		v := l.table.NewValues()
		for i, id := range ids {
			v.Reset()
			batch.Read(v.Int64(l.id, id), all, &rows[i])
		}
		batch.Wait()
		return there, missing
	}
	if _, missing := present(l.acked); len(missing) > 0 {
		t.Errorf("%d of %d acknowledged rows are lost, such as %d", len(missing), len(l.acked), missing[0])
	}
	if there, _ := present(l.refused); there > 0 {
		t.Errorf("%d of %d refused rows are stored", there, len(l.refused))
	}
	there, _ := present(l.unknown)
	if limit := nativeCallTimeout + time.Second; l.slowest > limit {
		t.Errorf("slowest call took %v, more than %v", l.slowest, limit)
	}
	t.Logf("acknowledged %d, refused %d, unknown %d (stored %d), slowest %v", len(l.acked), len(l.refused), len(l.unknown), there, l.slowest)
}

func column(t *testing.T, table *ndb.Table, name string) *ndb.Column {
	t.Helper()
	c, err := table.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// nativeCluster connects to the cluster, whose nodes may be killed, and clears
// the tests' rows at the end.
func nativeCluster(t *testing.T) *ndb.Client {
	t.Helper()
	dsns := cluster(t)
	for _, name := range []string{"TEST_NDB_CONNECTSTRING", "CLUSTER_DIR"} {
		if os.Getenv(name) == "" {
			t.Skip(name + " is not set: no cluster whose nodes may be killed")
		}
	}
	clearRows(t, strings.Fields(dsns)[0])
	client, err := ndb.Connect(t.Context(), ndb.Config{Connectstring: os.Getenv("TEST_NDB_CONNECTSTRING")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		clearRows(t, strings.Fields(dsns)[0])
	})
	return client
}

// clearRows deletes the rows of a native load, in steps that one transaction may
// hold.
func clearRows(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for deleted := int64(1); deleted > 0; {
		result, err := db.Exec("DELETE FROM employee WHERE id > ? LIMIT 10000", nativeFirstID)
		if err != nil {
			t.Fatal(err)
		}
		if deleted, err = result.RowsAffected(); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitNode waits until the client uses a data node, or no longer does.
func awaitNode(t *testing.T, client *ndb.Client, id int, usable bool) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		for _, n := range client.Nodes() {
			if n.ID == id && n.Usable == usable {
				tick.Stop()
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("node %d: usable is not %t after %v", id, usable, waitLimit)
		}
	}
}

func TestNative_KillDataNodeUnderLoad_NothingAcknowledgedIsLost(t *testing.T) {
	client := nativeCluster(t)
	t.Cleanup(func() { clusterScript(t, "up") }) // Whatever happens, leave a whole cluster.
	l, stop := startNativeLoad(t, client, 64)
	defer stop()
	l.waitFor(t, 2000)
	for _, node := range []int{2, 3} {
		clusterScript(t, "kill-node", fmt.Sprint(node))
		awaitNode(t, client, node, false)
		l.waitFor(t, 5000)
		l.slow.Store(true)
		clusterScript(t, "start-node", fmt.Sprint(node))
		awaitNode(t, client, node, true)
		l.slow.Store(false)
		l.waitFor(t, 5000)
	}
	stop()
	l.verify(t)
	if s := client.Stats(); s.Transactions != 0 || s.Waiting != 0 {
		t.Errorf("%d transactions and %d waiters are left", s.Transactions, s.Waiting)
	}
}

func TestNative_AlterTableUnderLoad_GoesUnnoticed(t *testing.T) {
	client := nativeCluster(t)
	db, err := sql.Open("mysql", strings.Fields(cluster(t))[0])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, stop := startNativeLoad(t, client, 16)
	defer stop()
	l.waitFor(t, 1000)
	if _, err := db.Exec("ALTER TABLE employee ADD COLUMN e2e_extra INT DEFAULT NULL COLUMN_FORMAT DYNAMIC, ALGORITHM=INPLACE"); err != nil {
		t.Fatal(err)
	}
	l.waitFor(t, 1000)
	stop()
	l.verify(t)
	// This copies the table, under another ID: not while others write natively.
	if _, err := db.Exec("ALTER TABLE employee DROP COLUMN e2e_extra"); err != nil {
		t.Fatal(err)
	}
	l, stop = startNativeLoad(t, client, 1)
	l.next.Store(1_000_000)
	l.waitFor(t, 10)
	stop()
	l.verify(t)
}

func TestNative_ClusterStoppedAndStarted_ClientGoesOn(t *testing.T) {
	client := nativeCluster(t)
	t.Cleanup(func() { clusterScript(t, "up") })
	l, stop := startNativeLoad(t, client, 16)
	defer stop()
	l.waitFor(t, 1000)
	clusterScript(t, "down")
	clusterScript(t, "up")
	l.waitFor(t, 1000)
	stop()
	l.verify(t)
}
