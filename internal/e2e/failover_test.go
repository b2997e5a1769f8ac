package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The node IDs of the two mysqlds in deploy/config.ini.
var sqlNodes = []string{"51", "52"}

// clusterScript runs scripts/cluster, which finds the cluster by CLUSTER_DIR.
func clusterScript(t *testing.T, args ...string) {
	t.Helper()
	if output, err := exec.Command("../../scripts/cluster", args...).CombinedOutput(); err != nil {
		t.Fatalf("scripts/cluster %v: %v\n%s", args, err, output)
	}
}

// load is writers that create rows without end and note what they were told.
type load struct {
	mu      sync.Mutex // guards all below
	acked   []int64    // answered 201
	refused []int64    // answered 503: nothing was done
	unknown []int64    // answered 504 outcome_unknown
	bad     []string   // what must not happen
	slowest time.Duration
	changed *sync.Cond // after each answer
}

func startLoad(g *gateway, writers int) (l *load, stop func()) {
	return startLoadAt(g, writers, firstID)
}

// startLoadAt has the IDs begin elsewhere.
func startLoadAt(g *gateway, writers int, first int64) (l *load, stop func()) {
	l = &load{}
	l.changed = sync.NewCond(&l.mu)
	done := make(chan struct{})
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() { // ends with done
			for n := int64(0); ; n++ {
				select {
				case <-done:
					return
				default:
					l.create(g, first+int64(w)+n*int64(writers))
				}
			}
		})
	}
	return l, sync.OnceFunc(func() {
		close(done)
		running.Wait()
	})
}

func (l *load) create(g *gateway, id int64) {
	begun := time.Now()
	a, err := g.try("POST", "/v1/employees", fmt.Sprintf(`{"id":%d}`, id), "Prefer: return=minimal")
	took := time.Since(begun)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	switch {
	case err != nil:
		l.bad = append(l.bad, err.Error())
	case a.status == 201:
		l.acked = append(l.acked, id)
	case a.status == 503 && a.header.Get("Retry-After") != "":
		l.refused = append(l.refused, id)
	case a.status == 504 && strings.Contains(a.body, `"outcome_unknown"`):
		l.unknown = append(l.unknown, id)
	default:
		l.bad = append(l.bad, fmt.Sprintf("%d %s", a.status, a.body))
	}
	l.changed.Broadcast()
}

// waitLimit is longer than a mysqld takes to come back.
const waitLimit = 60 * time.Second

// waitFor returns once n more answers of the counted kind have come.
func (l *load) waitFor(t *testing.T, n int, count func() int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	defer context.AfterFunc(ctx, l.changed.Broadcast)()
	l.mu.Lock()
	defer l.mu.Unlock()
	for goal := count() + n; count() < goal; l.changed.Wait() {
		if ctx.Err() != nil {
			t.Fatalf("only %d of %d answers came in %v", n-(goal-count()), n, waitLimit)
		}
	}
}

func (l *load) acknowledged() int { return len(l.acked) }
func (l *load) refusals() int     { return len(l.refused) }

func TestKillMySQLDUnderLoad_NothingAcknowledgedIsLost(t *testing.T) {
	dsns := killableCluster(t)
	db := openTable(t, dsns)
	g := serve(t, dsns)
	t.Cleanup(func() { // Whatever happens, leave a whole cluster.
		for _, id := range sqlNodes {
			clusterScript(t, "start-node", id)
		}
	})
	l, stop := startLoad(g, 16)
	defer stop()
	l.waitFor(t, 500, l.acknowledged)

	// One dies: the other serves on.
	clusterScript(t, "kill-node", sqlNodes[1])
	l.waitFor(t, 500, l.acknowledged)
	// Both are dead: every request is refused at once.
	clusterScript(t, "kill-node", sqlNodes[0])
	l.waitFor(t, 100, l.refusals)
	// One comes back, then the other: service returns by itself.
	clusterScript(t, "start-node", sqlNodes[1])
	l.waitFor(t, 500, l.acknowledged)
	clusterScript(t, "start-node", sqlNodes[0])
	l.waitFor(t, 500, l.acknowledged)
	stop()

	l.verify(t, db)
}

func TestKillDataNodeUnderLoad_BothRoadsLoseNothing(t *testing.T) {
	dsns := killableCluster(t)
	db := openTable(t, dsns)
	g := serve(t, dsns)
	t.Cleanup(func() { clusterScript(t, "up") }) // Whatever happens, leave a whole cluster.
	native, stopNative := startLoad(g.on("ndb"), 8)
	defer stopNative()
	overSQL, stopSQL := startLoadAt(g.on("sql"), 8, firstID+500_000)
	defer stopSQL()
	bothServe := func() {
		native.waitFor(t, 500, native.acknowledged)
		overSQL.waitFor(t, 200, overSQL.acknowledged)
	}
	bothServe()
	for _, node := range []string{"2", "3"} {
		clusterScript(t, "kill-node", node)
		bothServe()
		clusterScript(t, "start-node", node)
		bothServe()
	}
	stopNative()
	stopSQL()
	native.verify(t, db)
	overSQL.verify(t, db)
}

// storedIDs are those of the rows from first to last that are there.
func storedIDs(t *testing.T, db *sql.DB, first, last int64) map[int64]bool {
	t.Helper()
	rows, err := db.Query("SELECT id FROM employee WHERE id BETWEEN ? AND ?", first, last)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	stored := map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		stored[id] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return stored
}

// verify compares what is stored with what was answered.
func (l *load) verify(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, b := range l.bad[:min(len(l.bad), 5)] {
		t.Errorf("answer: %s", b)
	}
	if limit := requestTimeout + time.Second; l.slowest > limit {
		t.Errorf("slowest answer took %v, more than %v", l.slowest, limit)
	}
	stored := storedIDs(t, db, firstID, firstID+1_000_000)
	isStored := func(id int64) bool { return stored[id] }
	if lost := slices.DeleteFunc(slices.Clone(l.acked), isStored); len(lost) > 0 {
		t.Errorf("%d of %d acknowledged rows are lost: %v…", len(lost), len(l.acked), lost[:min(len(lost), 5)])
	}
	if i := slices.IndexFunc(l.refused, isStored); i >= 0 {
		t.Errorf("row %d was refused and yet is stored", l.refused[i])
	}
	t.Logf("acknowledged %d, refused %d, unknown %d, slowest %v", len(l.acked), len(l.refused), len(l.unknown), l.slowest)
}
