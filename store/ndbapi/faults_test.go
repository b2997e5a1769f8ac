package ndbapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// The last data node is lost with the commit in flight: nobody knows.
func TestUnknownOutcome_NeverDoneAgain(t *testing.T) {
	for _, step := range []ndbtest.Step{ndbtest.BeforeCommit, ndbtest.AfterCommit} {
		for name, run := range writes {
			t.Run(fmt.Sprint(name, " at step ", step), func(t *testing.T) {
				t.Parallel()
				c := startCluster(t, ndbtest.DataNodes(1))
				s := openOn(t, c, quiet)
				must(t, s.Create(t.Context(), full(t, 1)))
				c.KillNodeAt(c.Nodes()[0], step, 0)
				wantKind(t, run(t.Context(), t, s), store.ErrUnknownOutcome)
				if got, want := s.Counters(), (store.Counters{UnknownOutcomes: 1}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

func TestDeadline_PassesWhileNothingAnswers(t *testing.T) {
	for name, run := range calls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, ndbtest.DataNodes(1))
			s := openOn(t, c, quiet)
			must(t, s.Create(t.Context(), full(t, 1)))
			node, api := c.Nodes()[0], s.Nodes()[0].APINode
			c.StallLink(api, node)
			defer c.ResumeLink(api, node)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := run(ctx, t, s)
			wantKind(t, err, context.DeadlineExceeded)
			_, isWrite := writes[name]
			readsFirst := strings.HasSuffix(name, " if")
			if got, want := errors.Is(err, store.ErrUnknownOutcome), isWrite && !readsFirst; got != want {
				t.Errorf("got error %v, is its outcome unknown: %v", err, got)
			}
			if got, want := errors.Is(err, store.ErrUnavailable), isWrite && readsFirst; got != want {
				t.Errorf("got error %v, is it unavailable: %v", err, got)
			}
		})
	}
}

// Where another node can tell what became of a commit, it is done again, or done;
// only what it should have read is lost with the coordinator.
func TestNodeKilled_AtACommit_OutcomeIsKnown(t *testing.T) {
	readsToo := map[string]bool{"save": true, "patch a date, with row": true}
	for _, step := range []ndbtest.Step{ndbtest.BeforeCommit, ndbtest.AfterCommit} {
		for name, run := range writes {
			for victim := range 2 { // one of them coordinates
				t.Run(fmt.Sprint(name, " at step ", step, " of node ", victim), func(t *testing.T) {
					t.Parallel()
					c := startCluster(t)
					s := openOn(t, c, quiet)
					must(t, s.Create(t.Context(), full(t, 1)))
					c.KillNodeAt(c.Nodes()[victim], step, 0)
					err := run(t.Context(), t, s)
					if step == ndbtest.AfterCommit && readsToo[name] && errors.Is(err, store.ErrUnknownOutcome) {
						return
					}
					must(t, err)
				})
			}
		}
	}
}

// A node dies and comes back under load: every acknowledged write is there, and
// what was refused is not.
func TestNodeKilled_UnderLoad_NothingIsLost(t *testing.T) {
	const writers, rounds = 16, 150
	c := startCluster(t)
	s := openOn(t, c, quiet)
	var mu sync.Mutex // guards done and refused
	done, refused := map[int64]bool{}, map[int64]bool{}
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() { // ends after its rounds
			for i := range rounds {
				id := int64(w*rounds + i + 1)
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				err := s.Create(ctx, full(t, id))
				cancel()
				mu.Lock()
				switch {
				case err == nil:
					done[id] = true
				case errors.Is(err, store.ErrUnavailable):
					refused[id] = true
				case !errors.Is(err, store.ErrUnknownOutcome):
					t.Errorf("create %d: %v", id, err)
				}
				if len(done) == rounds {
					go c.KillNode(c.Nodes()[0]) // ends once it is dead; writers go on meanwhile
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	for id := int64(1); id <= writers*rounds; id++ {
		_, err := s.Get(t.Context(), id)
		if done[id] && err != nil || refused[id] && err == nil {
			t.Errorf("employee %d: acknowledged %v, refused %v, get gives %v", id, done[id], refused[id], err)
		}
	}
	t.Logf("%d acknowledged, %d refused, %+v", len(done), len(refused), s.Counters())
}

func TestClusterLost_UnavailableAtOnce_ThenServesAgain(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c, quiet)
	must(t, s.Create(t.Context(), full(t, 1)))
	c.Checkpoint()
	c.KillAll()
	await(t, "the loss is seen", func() bool { return !s.Status().Up })
	for name, run := range calls() {
		began := time.Now()
		wantKind(t, run(t.Context(), t, s), store.ErrUnavailable)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: took %v with no data node", name, took)
		}
	}
	wantKind(t, s.Ping(t.Context()), store.ErrUnavailable)
	for _, node := range c.Nodes() {
		must(t, c.StartNode(node))
	}
	await(t, "the cluster is back", func() bool { return s.Ping(t.Context()) == nil })
	must(t, writes["save if"](t.Context(), t, s))
	if !s.Status().Up {
		t.Errorf("got %+v", s.Status())
	}
}

func TestOpen_ClusterIsDown_UnavailableWithTheReason_ThenServes(t *testing.T) {
	c := startCluster(t)
	c.StopManagement()
	s := openOnly(t, ndbapi.Config{Connectstring: c.Connectstring(), ConnectTimeout: 200 * time.Millisecond, CheckInterval: checkInterval})
	wantKind(t, s.Create(t.Context(), full(t, 1)), store.ErrUnavailable)
	if got := s.Status(); got.Up || got.Reason == "" || got.Nodes[0].Up || got.Nodes[0].Address != c.Connectstring() {
		t.Errorf("got %+v, want it down", got)
	}
	err := s.Ping(t.Context())
	wantKind(t, err, store.ErrUnavailable)
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got error %v, want the reason", err)
	}
	if _, err := s.Session(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got error %v", err)
	}
	must(t, c.StartManagement())
	await(t, "the cluster is reached", func() bool { return s.Status().Up })
	must(t, s.Create(t.Context(), full(t, 1)))
}

func TestClose_EndsCallsAndWaits(t *testing.T) {
	c := startCluster(t, ndbtest.LockWaitTimeout(time.Minute))
	s := openOn(t, c, quiet)
	must(t, s.Create(t.Context(), full(t, 1)))
	locked, release := make(chan struct{}), make(chan struct{})
	held := store.Precondition{Matches: func(*models.Employee) bool {
		close(locked)
		<-release
		return true
	}}
	ended := make(chan error, 2)
	go func() { ended <- s.Delete(context.Background(), 1, held) }() // ends after release
	<-locked
	go func() { ended <- s.Delete(context.Background(), 1, store.Precondition{}) }() // waits for the lock; ends with Close
	await(t, "the second one is sent", func() bool { return s.Stats().Client.Transactions == 2 })
	must(t, s.Close())
	if err := <-ended; err == nil {
		t.Error("got no error of the call that waited")
	}
	close(release)
	if err := <-ended; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got error %v of the call that held the lock, want ErrUnavailable", err)
	}
	wantKind(t, s.Create(context.Background(), full(t, 2)), store.ErrUnavailable)
	wantKind(t, s.Ping(context.Background()), store.ErrUnavailable)
	if s.Status().Up {
		t.Error("got it up after the end")
	}
	must(t, s.Close())
}

func TestOpen_WrongConfig(t *testing.T) {
	for name, cfg := range map[string]ndbapi.Config{
		"a node ID":      {NodeIDs: []int{300}},
		"the same twice": {NodeIDs: []int{53, 53}},
		"transactions":   {MaxTransactions: -1},
		"a timeout":      {ConnectTimeout: -1},
		"an interval":    {CheckInterval: -1},
		"a database":     {Database: "a/b"},
	} {
		if s, err := ndbapi.Open(cfg); err == nil {
			t.Errorf("%s: got no error", name)
			must(t, s.Close())
		}
	}
}
