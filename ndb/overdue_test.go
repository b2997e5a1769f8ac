package ndb_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// swallow loses one signal of each kind on its way to the client, as a data node
// does that never sends it.
func swallow(c *ndbtest.Cluster, which func(*signal.Message) bool, kinds ...signal.GSN) {
	for _, gsn := range kinds {
		done := false
		c.Hook(ndbtest.ToAPINode, gsn, func(s *ndbtest.Signal) ndbtest.Decision {
			if done || which != nil && !which(&s.Message) {
				return ndbtest.Pass()
			}
			done = true
			return ndbtest.Drop()
		})
	}
}

func TestAnswerThatNeverComes_EndsWithTheLink(t *testing.T) {
	for _, test := range []struct {
		name    string
		gsns    []signal.GSN
		which   func(*signal.Message) bool
		leave   func(t *testing.T, c *changingTable) // leaves something whose answer is swallowed
		timeout time.Duration
	}{
		{"rollback", []signal.GSN{signal.GSNTCRollbackConf}, nil, func(t *testing.T, c *changingTable) {
			tx, err := c.client.Begin(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			tx.Update(c.row(t, 1))
			if err := tx.Execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			tx.Close()
		}, time.Minute},
		{"commit", []signal.GSN{signal.GSNTCKeyConf, signal.GSNTCRollbackConf}, nil, func(t *testing.T, c *changingTable) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.client.Update(ctx, c.row(t, 1)); ndb.SurelyNotDone(err) {
				t.Errorf("got %v, want an unknown outcome", err)
			}
		}, time.Minute},
		{"record", []signal.GSN{signal.GSNTCSeizeConf}, nil, func(t *testing.T, c *changingTable) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.client.Begin(ctx, nil); err == nil {
				t.Error("got a record that was swallowed")
			}
		}, time.Minute},
		{"close of a scan", []signal.GSN{signal.GSNScanTabConf}, func(m *signal.Message) bool {
			var s signal.ScanTabConf
			return s.Decode(m) == nil && s.EndOfData && s.Len() == 0
		}, func(t *testing.T, c *changingTable) {
			s, err := c.client.Scan(t.Context(), ndb.Scan{Table: c.table, BatchRows: 1})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		}, time.Minute},
		{"batch of a scan", []signal.GSN{signal.GSNScanTabConf}, nil, func(t *testing.T, c *changingTable) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.client.Scan(ctx, ndb.Scan{Table: c.table}); err == nil {
				t.Error("got a scan whose start was swallowed")
			}
		}, 10 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, j := newTableInMemory(t)
				c.fill(t, 5)
				swallow(c.cluster, test.which, test.gsns...)
				test.leave(t, c)
				left := time.Now()
				wantEndOfLink(t, c, j, left, test.timeout)
				<-time.After(5 * time.Second) // of the bubble: the node is connected to again
				if _, err := c.client.Write(t.Context(), c.row(t, 1)); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

// newTableInMemory is newTracedTable for a test on fake time.
func newTableInMemory(t *testing.T) (*changingTable, *journal) {
	t.Helper()
	j := &journal{}
	c := &changingTable{cluster: ndbtest.Run(t, ndbtest.DataNodes(1), ndbtest.InMemory())}
	c.cluster.MustCreateTable(changingColumns)
	var err error
	c.client, err = ndb.Connect(t.Context(), ndb.Config{Connectstring: c.cluster.Connectstring(), Dialer: c.cluster.Dial, Trace: j.trace()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	c.table = c.open(t)
	return c, j
}

// wantEndOfLink fails where the link does not end about that long after left, and
// with it the record that waits for its answer.
func wantEndOfLink(t *testing.T, c *changingTable, j *journal, left time.Time, timeout time.Duration) {
	t.Helper()
	synctest.Wait()
	if s := c.client.Stats(); s.Records != 1 {
		t.Fatalf("got %+v, want a record that waits for its answer", s)
	}
	var loss ndb.LinkLoss
	select {
	case loss = <-j.losses:
	case <-time.After(time.Hour):
		t.Fatal("the link lives on")
	}
	if took := time.Since(left); took < timeout-2*time.Second || took > timeout+2*time.Second {
		t.Errorf("got the end of the link after %v, want %v", took, timeout)
	}
	if !strings.Contains(loss.Err.Error(), "owes an answer") {
		t.Errorf("got %v, want the reason", loss.Err)
	}
	synctest.Wait()
	if s := c.client.Stats(); s.Records != 0 || s.Transactions != 0 {
		t.Errorf("got %+v, want nothing left", s)
	}
}
