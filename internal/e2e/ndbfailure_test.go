package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// nativeCluster connects to the cluster, whose nodes may be killed, and clears
// the tests' rows at the end.
func nativeCluster(t *testing.T) *ndb.Client {
	t.Helper()
	dsns := killableCluster(t, "TEST_NDB_CONNECTSTRING")
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
	await(t, fmt.Sprintf("node %d has usable %t", id, usable), waitLimit, func() (bool, string) {
		nodes := client.Nodes()
		return slices.ContainsFunc(nodes, func(n ndb.NodeInfo) bool { return n.ID == id && n.Usable == usable }), fmt.Sprint(nodes)
	})
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
