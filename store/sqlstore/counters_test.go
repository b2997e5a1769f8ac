package sqlstore_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

func TestCounters_CallOnAnotherNode_IsARetry(t *testing.T) {
	a, _, s, _ := openTwo(t)
	a.on("EXECUTE SELECT", cut)
	for range 2 { // one of the two begins with node a
		mustGet(t, s)
	}
	if got, want := s.Counters(), (store.Counters{Retries: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCounters_WriteCutOff_IsAnUnknownOutcome(t *testing.T) {
	a, b, s, _ := openTwo(t)
	a.on("EXECUTE", cut)
	b.on("EXECUTE", cut)
	wantError(t, s.Create(t.Context(), employee(1)), store.ErrUnknownOutcome, nil)
	if got, want := s.Counters(), (store.Counters{UnknownOutcomes: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestStatus_CallWithoutAConnection_Waits(t *testing.T) {
	server := startServer(t)
	busy := make(chan struct{}, 1)
	server.onRequest(func(request string) reply {
		if strings.HasPrefix(request, "EXECUTE SELECT") {
			busy <- struct{}{}
			return silent
		}
		return reply{}
	})
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, MaxOpenConns: 1})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() { // ends with ctx
			_, err := s.Get(ctx, 1)
			ended <- err
		}()
	}
	<-busy
	for s.Status().Nodes[0].Waits == 0 { // until the second one has come so far
		runtime.Gosched()
	}
	if got := s.Status().Nodes[0]; got.InUse != 1 || got.Waiting != 1 {
		t.Errorf("got %+v, want one in use and one that waits", got)
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	}
}
