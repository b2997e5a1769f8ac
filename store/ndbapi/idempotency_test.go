package ndbapi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/deploy"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/storetest"
)

// answerTable is the statement in deploy/schema.sql that makes the table.
func answerTable(t testing.TB) string {
	t.Helper()
	const start = "CREATE TABLE IF NOT EXISTS idempotency"
	_, rest, found := strings.Cut(deploy.Schema, start)
	if !found {
		t.Fatalf("the schema has no %q", start)
	}
	body, _, _ := strings.Cut(rest, ";")
	return "CREATE TABLE ndbtest.idempotency" + body
}

func startWithAnswers(t testing.TB, opts ...ndbtest.Option) *ndbtest.Cluster {
	t.Helper()
	c := startCluster(t, opts...)
	c.MustCreateTable(answerTable(t))
	return c
}

func TestIdempotency(t *testing.T) {
	c := startWithAnswers(t)
	storetest.RunIdempotency(t, func(t *testing.T) []storetest.IdempotentStore {
		return []storetest.IdempotentStore{openOn(t, c, quiet), openOn(t, c)}
	})
}

func TestIdempotency_RealCluster(t *testing.T) {
	connectstring := realConnectstring(t)
	storetest.RunIdempotency(t, func(t *testing.T) []storetest.IdempotentStore {
		return []storetest.IdempotentStore{open(t, ndbapi.Config{Connectstring: connectstring}), open(t, ndbapi.Config{Connectstring: connectstring})}
	})
}

// answerOf is what is kept of the employee's creation: it names the employee.
func answerOf(key string, id int64) models.KeptAnswer {
	now := time.Now().UnixMilli()
	return models.KeptAnswer{
		Caller: []byte{}, Key: []byte(key), Request: []byte("request"),
		Made: now, Expires: now + time.Hour.Milliseconds(), Answer: fmt.Append(nil, id),
	}
}

// create creates an employee that tells its key.
func create(ctx context.Context, s *ndbapi.Store, key string, id int64) error {
	e := models.NewEmployee()
	e.ID, e.Last = id, &key
	return s.CreateOnce(ctx, e, answerOf(key, id))
}

// wantOnce fails where not exactly one employee tells the key, or its answer
// names another one.
func wantOnce(t testing.TB, s *ndbapi.Store, key string) {
	t.Helper()
	found, err := s.List(t.Context(), models.EmployeeQuery{Filter: models.Compare(property(t, "last"), models.OpEqual, key), Limit: 10})
	if err != nil || len(found.Employees) != 1 {
		t.Errorf("key %s: got employees %v (%v), want one", key, found, err)
		return
	}
	kept, err := s.FindAnswer(t.Context(), []byte{}, []byte(key))
	if want := fmt.Sprint(found.Employees[0].ID); err != nil || string(kept.Answer) != want {
		t.Errorf("key %s: got the answer %q (%v), want %q", key, kept.Answer, err, want)
	}
}

func isAnswered(err error) bool {
	_, answered := errors.AsType[*store.AnsweredError](err)
	return answered
}

func TestCreateOnce_RoundTrips(t *testing.T) {
	var trips atomic.Int64
	s := openOn(t, startWithAnswers(t), quiet, func(cfg *ndbapi.Config) {
		cfg.Trace = &ndb.Trace{Call: func(_ context.Context, call ndb.Call) { trips.Add(int64(call.RoundTrips)) }}
	})
	ctx := t.Context()
	must(t, create(ctx, s, "warm", 1))
	must(t, s.Create(ctx, full(t, 2)))
	if err := create(ctx, s, "warm", 9); !isAnswered(err) {
		t.Fatalf("got error %v", err)
	}
	late := answerOf("warm", 5)
	late.Made = late.Expires + 1
	for _, test := range []struct {
		name string
		run  func() error
		want int64
		ok   func(err error) bool
	}{
		{"first time", func() error { return create(ctx, s, "a", 3) }, 1, func(err error) bool { return err == nil }},
		{"again", func() error { return create(ctx, s, "a", 4) }, 2, isAnswered},
		{"the employee exists", func() error { return create(ctx, s, "b", 2) }, 4, func(err error) bool { return errors.Is(err, store.ErrConflict) }},
		{"expired", func() error { return s.CreateOnce(ctx, full(t, 5), late) }, 4, func(err error) bool { return err == nil }},
	} {
		before := trips.Load()
		if err := test.run(); !test.ok(err) {
			t.Errorf("%s: got error %v", test.name, err)
		}
		if got := trips.Load() - before; got != test.want {
			t.Errorf("%s: got %d round trips, want %d", test.name, got, test.want)
		}
	}
}

// The first try hangs on its way and its caller leaves. The second one, from
// another gateway, is done. When the first one arrives after all, it does nothing.
func TestCreateOnce_FirstTryArrivesLate_DoesNothing(t *testing.T) {
	c := startWithAnswers(t, ndbtest.DataNodes(1))
	slow, other := openOn(t, c, quiet), openOn(t, c)
	must(t, create(t.Context(), slow, "warm", 1))
	node, api := c.Nodes()[0], slow.Nodes()[0].APINode
	c.StallLink(api, node)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantKind(t, create(ctx, slow, "key", 2), store.ErrUnknownOutcome)
	must(t, create(t.Context(), other, "key", 3))
	c.ResumeLink(api, node)
	must(t, create(t.Context(), slow, "behind it on the link", 4))
	if err := create(t.Context(), slow, "key", 5); !isAnswered(err) {
		t.Errorf("got error %v, want the answer of the second try", err)
	}
	wantOnce(t, other, "key")
}

// The same, but the first one arrives before the second is made.
func TestCreateOnce_UnknownOutcome_IsLearntByTheNextTry(t *testing.T) {
	c := startWithAnswers(t, ndbtest.DataNodes(1))
	slow, other := openOn(t, c, quiet), openOn(t, c)
	must(t, create(t.Context(), slow, "warm", 1))
	node, api := c.Nodes()[0], slow.Nodes()[0].APINode
	c.StallLink(api, node)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantKind(t, create(ctx, slow, "key", 2), store.ErrUnknownOutcome)
	c.ResumeLink(api, node)
	must(t, create(t.Context(), slow, "behind it on the link", 4))
	if err := create(t.Context(), other, "key", 3); !isAnswered(err) {
		t.Errorf("got error %v, want the answer of the first try", err)
	}
	wantOnce(t, other, "key")
}

// Each key is tried by two gateways until one says that it is done, each try with
// another ID, while data nodes die at every step and links are cut. Then there is
// one employee for each key.
func TestCreateOnce_UnderFailures_EachKeyOnce(t *testing.T) {
	const workers, keys = 8, 30
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := startWithAnswers(t)
	roads := []*ndbapi.Store{openOn(t, c, quiet), openOn(t, c)}
	var lastID, unknown atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	try := func(rnd *rand.Rand, key string) (done bool) {
		limit := 50 * time.Millisecond
		if rnd.IntN(2) == 0 { // many commits are on their way then
			limit = time.Duration(100+rnd.IntN(1000)) * time.Microsecond
		}
		one, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := create(one, roads[rnd.IntN(2)], key, lastID.Add(1))
		if errors.Is(err, store.ErrUnknownOutcome) {
			unknown.Add(1)
		}
		if errors.Is(err, store.ErrUnavailable) { // at once, while no node is up
			<-time.After(time.Millisecond)
		}
		return err == nil && rnd.IntN(2) == 0 || isAnswered(err) // half of the answers are lost
	}
	keyOf := func(worker, n int) string { return fmt.Sprintf("key-%d-%d", worker, n) }
	var running sync.WaitGroup
	done := make(chan struct{})
	for worker := range workers {
		running.Go(func() { // ends with its keys, or the context
			rnd := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := range keys {
				for !try(rnd, keyOf(worker, n)) && ctx.Err() == nil {
				}
			}
		})
	}
	go func() { // ends with the workers
		running.Wait()
		close(done)
	}()
	spoil(t, c, roads, rand.New(rand.NewPCG(seed, workers)), done)
	if ctx.Err() != nil {
		t.Fatal("not all keys were done in time")
	}
	await(t, "the cluster is whole", func() bool { return roads[0].Ping(t.Context()) == nil })
	for worker := range workers {
		for n := range keys {
			wantOnce(t, roads[0], keyOf(worker, n))
		}
	}
	t.Logf("%d tries for %d keys, %d unknown outcomes", lastID.Load(), workers*keys, unknown.Load())
}

// spoil kills and starts data nodes, one at a time, and cuts links, until done.
func spoil(t *testing.T, c *ndbtest.Cluster, roads []*ndbapi.Store, rnd *rand.Rand, done <-chan struct{}) {
	t.Helper()
	for i := 0; ; i++ {
		node := c.Nodes()[i%2]
		for _, act := range []func(){
			func() {
				c.KillNodeAt(node, []ndbtest.Step{ndbtest.BeforeCommit, ndbtest.AfterCommit}[rnd.IntN(2)], rnd.IntN(5))
			},
			c.CutLinks,
			func() { c.KillNode(node) }, // where it had nothing to commit
			func() { must(t, c.StartNode(node)) },
		} {
			act()
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		for _, s := range roads { // lest the last node with all rows is killed
			await(t, "all data nodes can be used", func() bool {
				return !slices.ContainsFunc(s.Nodes(), func(n ndb.NodeInfo) bool { return !n.Usable })
			})
		}
	}
}

// hold inserts an answer under the key in a transaction that stays open.
func hold(t *testing.T, c *ndbtest.Cluster, key string) *ndbtest.LocalTx {
	t.Helper()
	rows, err := c.Rows("ndbtest", "idempotency")
	must(t, err)
	tx := c.Begin()
	a := answerOf(key, 0)
	must(t, tx.Insert(t.Context(), rows, []any{a.Caller, a.Key, a.Request, a.Made, a.Expires, a.Answer}))
	return tx
}

func TestCreateOnce_KeyHeldByAnother_WaitsForItsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		end func(tx *ndbtest.LocalTx) error
		ok  func(err error) bool
	}{
		"that commits":  {(*ndbtest.LocalTx).Commit, isAnswered},
		"that gives up": {func(tx *ndbtest.LocalTx) error { tx.Rollback(); return nil }, func(err error) bool { return err == nil }},
	} {
		for waits := range 3 { // lock waits of the database
			t.Run(fmt.Sprintf("%s after %d waits", name, waits), func(t *testing.T) {
				waiting := make(chan struct{}, 100)
				c := startWithAnswers(t, ndbtest.LockWaitTimeout(20*time.Millisecond), ndbtest.OnLockWait(func() { waiting <- struct{}{} }))
				s := openOn(t, c, quiet)
				tx := hold(t, c, "key")
				ended := make(chan error, 1)
				go func() { ended <- create(t.Context(), s, "key", 1) }() // ends after tx
				for range waits + 1 {
					<-waiting
				}
				must(t, test.end(tx))
				if err := <-ended; !test.ok(err) {
					t.Errorf("got error %v", err)
				}
			})
		}
	}
}

func TestCreateOnce_KeyHeldTillTheDeadline_IsInUse(t *testing.T) {
	c := startWithAnswers(t, ndbtest.LockWaitTimeout(20*time.Millisecond))
	s := openOn(t, c, quiet)
	tx := hold(t, c, "key")
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := create(ctx, s, "key", 1)
	wantKind(t, err, store.ErrKeyInUse)
	if errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("got error %v, which leaves it open", err)
	}
	if _, err := s.Get(t.Context(), 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got error %v, want no employee", err)
	}
}

// The employee is locked, not the key: that is no matter of keys.
func TestCreateOnce_EmployeeLocked_IsUnavailable(t *testing.T) {
	c := startWithAnswers(t, ndbtest.LockWaitTimeout(20*time.Millisecond))
	s := openOn(t, c, quiet)
	rows, err := c.Rows("ndbtest", "employee")
	must(t, err)
	tx := c.Begin()
	defer tx.Rollback()
	must(t, tx.Insert(t.Context(), rows, []any{int64(1), nil, nil, nil, nil, nil, int64(1)}))
	err = create(t.Context(), s, "key", 1)
	wantKind(t, err, store.ErrUnavailable)
	if errors.Is(err, store.ErrKeyInUse) {
		t.Errorf("got error %v", err)
	}
	must(t, create(t.Context(), s, "key", 2))
}

func TestAnswers_TableIsMissing_OnlyKeysAreRefused_UntilItIsThere(t *testing.T) {
	for name, table := range map[string]string{
		"missing":           "",
		"another one":       strings.Replace(answerTable(t), "expires BIGINT NOT NULL,", "", 1),
		"of another column": strings.Replace(answerTable(t), "made BIGINT NOT NULL", "made VARCHAR(9) NOT NULL", 1),
	} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			if table != "" {
				table = strings.Replace(table, "KEY idx_expires (expires)", "KEY idx_answer (answer)", 1)
				table = strings.Replace(table, ",\n  KEY idx_answer (answer)", "", 1)
				c.MustCreateTable(table)
			}
			s := openOn(t, c)
			for range 2 {
				errs := []error{create(t.Context(), s, "key", 1), s.CheckAnswers(t.Context())}
				_, err := s.FindAnswer(t.Context(), []byte{}, []byte("key"))
				errs = append(errs, err)
				_, err = s.ForgetAnswers(t.Context(), time.Now(), 1)
				for _, err := range append(errs, err) {
					wantKind(t, err, store.ErrNoAnswers)
					wantKind(t, err, store.ErrUnavailable)
				}
			}
			if !s.Status().Up {
				t.Errorf("got %+v, want it up", s.Status())
			}
			wantAllOperations(t, s, 1)
			if table != "" {
				must(t, c.DropTable("ndbtest", "idempotency"))
			}
			c.MustCreateTable(answerTable(t))
			await(t, "the table is found", func() bool { return s.CheckAnswers(t.Context()) == nil })
			must(t, create(t.Context(), s, "key", 1))
		})
	}
}

func TestAnswers_TableMadeAnew_GoesOnAtOnce(t *testing.T) {
	c := startWithAnswers(t)
	s := openOn(t, c, quiet)
	must(t, create(t.Context(), s, "key", 1))
	must(t, c.DropTable("ndbtest", "idempotency"))
	c.MustCreateTable(answerTable(t))
	must(t, create(t.Context(), s, "key", 2))
	must(t, c.AlterAddColumn("ndbtest", "idempotency", ndbtest.ColumnDef{Name: "more", Type: "INT"}))
	if err := create(t.Context(), s, "key", 3); !isAnswered(err) {
		t.Errorf("got error %v", err)
	}
	must(t, create(t.Context(), s, "other", 3))
	must(t, c.DropTable("ndbtest", "employee"))
	c.MustCreateTable(employeeTable)
	must(t, create(t.Context(), s, "third", 4))
}

// Without the index, expired answers are found all the same.
func TestForgetAnswers_WithoutIndex(t *testing.T) {
	c := startCluster(t)
	c.MustCreateTable(strings.Replace(answerTable(t), ",\n  KEY idx_expires (expires)", "", 1))
	s := openOn(t, c, quiet)
	for i := range 5 {
		must(t, create(t.Context(), s, fmt.Sprint(i), int64(i+1)))
	}
	if n, err := s.ForgetAnswers(t.Context(), time.Now().Add(2*time.Hour), 3); err != nil || n != 3 {
		t.Errorf("got %d (%v), want 3", n, err)
	}
	if n, err := s.ForgetAnswers(t.Context(), time.Now(), 3); err != nil || n != 0 {
		t.Errorf("got %d (%v), want none that has not expired", n, err)
	}
}
