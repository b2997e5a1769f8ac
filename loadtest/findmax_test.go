package loadtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

// narrow is a road that serves so many operations at once: the others wait.
type narrow struct {
	*fake
	places chan struct{}
}

func newNarrow(service time.Duration, places int) *narrow {
	return &narrow{newFake(service), make(chan struct{}, places)}
}

func (n *narrow) Open(context.Context) (target.Session, error) {
	return &narrowSession{fakeSession{n.fake}, n.places}, nil
}

type narrowSession struct {
	fakeSession
	places chan struct{}
}

func (s *narrowSession) Select(ctx context.Context, id int64, e *models.Employee) error {
	s.places <- struct{}{}
	defer func() { <-s.places }()
	return s.fakeSession.Select(ctx, id, e)
}

func TestFindMax_DoublesThreadsUntilNoMoreComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quick(road("ndb", newNarrow(10*time.Millisecond, 4)))
		c.FindMax = true
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Cells) != 4 || len(r.Maxima) != 1 || r.Maxima[0].Threads != 4 || !strings.Contains(r.Maxima[0].Stopped, "8 threads gave") {
			t.Errorf("got %d cells, %+v; want 1, 2, 4 and 8 threads, of which 4 are best", len(r.Cells), r.Maxima)
		}
	})
}

func TestFindMax_StopsAtTheLimitOfP99(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quick(road("ndb", newNarrow(10*time.Millisecond, 4)))
		c.FindMax, c.Threads, c.MaxP99 = true, []int{2}, 15*time.Millisecond
		c.Rate = 50
		c.Threads = []int{64}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		// Four places of 10 ms serve 400 in a second.
		if len(r.Maxima) != 1 || r.Maxima[0].Rate < 350 || r.Maxima[0].Rate > 410 || !strings.Contains(r.Maxima[0].Stopped, "p99 was") {
			t.Errorf("got %+v, want a rate of about 400", r.Maxima)
		}
	})
}

func TestFindMax_EvenTheFirstIsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quick(road("ndb", newNarrow(10*time.Millisecond, 1)))
		c.FindMax, c.MaxP99 = true, time.Millisecond
		r, err := loadtest.Run(t.Context(), c)
		if err != nil || len(r.Cells) != 1 || len(r.Maxima) != 1 || r.Maxima[0].Stopped == "" {
			t.Errorf("got %v, %+v", err, r.Maxima)
		}
	})
}
