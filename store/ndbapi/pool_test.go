package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

func newTestPool(size, maxWaiting int) *pool {
	return &pool{newSession: func() *Session { return &Session{} }, max: size, maxWaiting: maxWaiting}
}

func mustGet(t *testing.T, p *pool) *Session {
	t.Helper()
	x, err := p.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestPool_SessionsAreUsedAgain_AndBounded(t *testing.T) {
	p := newTestPool(2, 0)
	a, b := mustGet(t, p), mustGet(t, p)
	if _, err := p.get(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got error %v with all in use and nobody to wait, want ErrUnavailable", err)
	}
	p.put(a)
	if c := mustGet(t, p); c != a {
		t.Error("got a new session, want the one that is idle")
	}
	p.put(a)
	p.put(b)
	if got, want := p.stats(), (poolStats{idle: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPool_WaitersAreServedInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 5
		p := newTestPool(1, waiters)
		x := mustGet(t, p)
		var order []int
		var running sync.WaitGroup
		for i := range waiters {
			running.Go(func() { // ends when its turn has come
				x, err := p.get(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				p.put(x)
			})
			synctest.Wait()
		}
		if got := p.stats(); got.waiting != waiters || got.inUse != 1 || got.waits != waiters {
			t.Errorf("got %+v, want %d that wait", got, waiters)
		}
		time.Sleep(time.Second) // of the bubble's clock
		p.put(x)
		running.Wait()
		if !slices.IsSorted(order) || len(order) != waiters {
			t.Errorf("got the order %v", order)
		}
		if got, want := p.stats(), (poolStats{idle: 1, waits: waiters, waitTime: waiters * time.Second}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// A session that comes back does not pass those who wait by.
func TestPool_NewcomerDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPool(1, 10)
		x := mustGet(t, p)
		got := make(chan string, 2)
		for _, name := range []string{"first", "second"} {
			go func() { // ends when its turn has come
				x, err := p.get(t.Context())
				got <- fmt.Sprint(name, err)
				p.put(x)
			}()
			synctest.Wait()
		}
		p.put(x)
		if name := <-got; name != "first<nil>" {
			t.Errorf("got %s first", name)
		}
		<-got
	})
}

func TestPool_WaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPool(1, 10)
		x := mustGet(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.get(ctx)
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want ErrUnavailable and the context's", err)
		}
		if got := p.stats(); got.waiting != 0 || got.waitTime != time.Second {
			t.Errorf("got %+v, want nobody waiting after 1s", got)
		}
		p.put(x)
		mustGet(t, p)
	})
}

// A session that was given to a caller who leaves at that moment is not lost.
func TestPool_ContextsEndWhileSessionsCome_NoneIsLost(t *testing.T) {
	const sessions, callers = 3, 40
	p := newTestPool(sessions, callers)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() { // ends after its rounds
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel() // at any moment
				x, err := p.get(ctx)
				if err == nil {
					p.put(x)
				}
			}
		})
	}
	running.Wait()
	for range sessions {
		mustGet(t, p)
	}
	if got := p.stats(); got.inUse != sessions || got.waiting != 0 {
		t.Errorf("got %+v, want %d in use", got, sessions)
	}
}

func TestPool_TooManyWait_RefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPool(1, 2)
		x := mustGet(t, p)
		for range 2 {
			go func() { // ends when it has had its session
				x, err := p.get(t.Context())
				if err != nil {
					t.Error(err)
				}
				p.put(x)
			}()
		}
		synctest.Wait()
		if _, err := p.get(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got error %v, want ErrUnavailable", err)
		}
		p.put(x)
		synctest.Wait()
	})
}

func TestPool_Close_EndsTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPool(2, 10)
		a, b := mustGet(t, p), mustGet(t, p)
		ended := make(chan error)
		go func() { // ends with close
			_, err := p.get(t.Context())
			ended <- err
		}()
		synctest.Wait()
		p.put(a)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		go func() { // ends with close
			_, err := p.get(t.Context())
			ended <- err
		}()
		synctest.Wait()
		p.close()
		if err := <-ended; !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, errClosed) {
			t.Errorf("got error %v, want ErrUnavailable", err)
		}
		if _, err := p.get(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("got error %v after the end", err)
		}
		p.put(b)
		if got := p.stats(); got.inUse != 1 || got.idle != 0 {
			t.Errorf("got %+v, want one in use and none idle", got)
		}
	})
}
