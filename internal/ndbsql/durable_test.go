package ndbsql

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// TestWaitAllDurable_CommitsOfSQL_AreOnDisk has sessions of the SQL node commit
// at all times of a global checkpoint. Each asks the SQL node afterwards which
// one its commit belongs to.
func TestWaitAllDurable_CommitsOfSQL_AreOnDisk(t *testing.T) {
	b := newBed(t)
	b.create(t, "durable_test", "id BIGINT PRIMARY KEY, v INT NOT NULL")
	ended, end := context.WithCancel(t.Context())
	end()
	const sessions, commits = 12, 3
	b.db.SetMaxIdleConns(sessions)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards waits
	var waits []time.Duration
	for s := range sessions {
		wg.Go(func() {
			session, err := b.db.Conn(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			}()
			for i := range commits {
				// Callers that have waited together would commit together.
				phase := time.NewTimer(time.Duration(s) * 160 * time.Millisecond)
				select {
				case <-phase.C:
				case <-t.Context().Done():
					return
				}
				if _, err := session.ExecContext(t.Context(), "REPLACE INTO durable_test VALUES (?, ?)", s, i); err != nil {
					t.Error(err)
					return
				}
				began := time.Now()
				if err := b.client.WaitAllDurable(t.Context()); err != nil {
					t.Error(err)
					return
				}
				took := time.Since(began)
				var name, value string
				if err := session.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Ndb_last_commit_epoch_session'").Scan(&name, &value); err != nil {
					t.Error(err)
					return
				}
				epoch, err := strconv.ParseUint(value, 10, 64)
				if err != nil || epoch == 0 {
					t.Errorf("got the epoch %q of a commit, %v", value, err)
					return
				}
				// With a context that has ended this tells only what is known.
				if err := b.client.WaitDurable(ended, ndb.GCI(epoch)); err != nil {
					t.Errorf("got %v for a commit in checkpoint %d, want it known to be durable", err, epoch>>32)
				}
				mu.Lock()
				waits = append(waits, took)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(waits)
	if n := len(waits); n > 0 {
		t.Logf("%d commits: on disk after %v, median %v, at most %v", n, waits[0], waits[n/2], waits[n-1])
	}
}
