package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/internal/chaos/link"
)

const (
	standInStart = 5 * time.Second // that a node or a gateway takes to start

	dies  = "dies"
	hangs = "hangs"
)

// standIns stand for all that fails in a run: they note what happens to them, and
// complain of what must not happen together.
type standIns struct {
	t     *testing.T
	begun time.Time

	mu       sync.Mutex        // guards all below
	failed   map[string]string // who → dies or hangs, until it is back
	modes    map[string]link.Mode
	lastLost time.Time // client of the cluster
	events   []string
}

func nodeName(id int) string { return fmt.Sprint("node ", id) }

// coreNodes are those of which at most one may fail at a time.
func coreNodes() []string {
	return []string{nodeName(mgm), nodeName(dataNodes[0]), nodeName(dataNodes[1])}
}

func (s *standIns) note(who, what string) {
	s.events = append(s.events, fmt.Sprintf("%v: %s %s", time.Since(s.begun), who, what))
}

func (s *standIns) fails(who, how string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(who, how)
	if before := s.failed[who]; before != "" {
		s.t.Errorf("%s %s, and %s before", who, how, before)
	}
	for other, was := range s.failed {
		if how == dies && was == dies {
			s.t.Errorf("%s dies while %s is dead", who, other)
		}
		if slices.Contains(coreNodes(), who) && slices.Contains(coreNodes(), other) {
			s.t.Errorf("%s %s while %s %s", who, how, other, was)
		}
	}
	isDataNode := who == nodeName(dataNodes[0]) || who == nodeName(dataNodes[1])
	switch lost := time.Since(s.lastLost); {
	case how != dies:
	case !isDataNode:
		s.lastLost = time.Now()
	case lost < settling:
		s.t.Errorf("%s dies %v after a client of the cluster, want at least %v", who, lost, settling)
	}
	s.failed[who] = how
	return nil
}

// returns brings back what has failed so; what runs stays as it is.
func (s *standIns) returns(who, from string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(who, "is back")
	if how := s.failed[who]; how != "" && how != from {
		s.t.Errorf("%s %s, and comes back as if it %s", who, how, from)
	}
	delete(s.failed, who)
	return nil
}

func (s *standIns) kill(id int) error { return s.fails(nodeName(id), dies) }

func (s *standIns) start(id int) error {
	pause(context.Background(), standInStart)
	return s.returns(nodeName(id), dies)
}

func (s *standIns) signal(id int, signal syscall.Signal) error {
	switch signal {
	case syscall.SIGSTOP:
		return s.fails(nodeName(id), hangs)
	case syscall.SIGCONT:
		return s.returns(nodeName(id), hangs)
	default:
		return fmt.Errorf("node %d gets the signal %v", id, signal)
	}
}

// standIn stands for a gateway or a link.
type standIn struct {
	name string
	all  *standIns
}

func (s *standIn) String() string { return s.name }

func (s *standIn) kill() error { return s.all.fails(s.name, dies) }

func (s *standIn) start(context.Context) error {
	pause(context.Background(), standInStart)
	return s.all.returns(s.name, dies)
}

func (s *standIn) Set(m link.Mode) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.note(s.name, m.String())
	s.all.modes[s.name] = m
}

func (s *standIns) named(names ...string) []*standIn {
	var list []*standIn
	for _, name := range names {
		list = append(list, &standIn{name, s})
	}
	return list
}

// schedule carries the faults of a run out on stand-ins, by a clock that need not be
// waited for, and returns what happened when, sorted as text.
func schedule(t *testing.T, seed uint64, length time.Duration) (events []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &standIns{t: t, begun: time.Now(), failed: map[string]string{}, modes: map[string]link.Mode{}}
		f := newFaults(s)
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		gateways := s.named("gateway 1", "gateway 2")
		front, back := s.named("front 1", "front 2"), s.named("back 1", "back 2", "back 3")
		var running sync.WaitGroup
		for i, lane := range lanesOf(ctx, f, gateways, front, back) {
			running.Go(func() { f.run(ctx, lane, settings{seed: seed}.random(uint64(i))) }) // ends with ctx
		}
		running.Wait()

		if took := time.Since(s.begun); took < length || took > length+standInStart {
			t.Errorf("the run took %v, want %v and at most one start", took, length)
		}
		if len(f.broken) > 0 || len(f.now()) > 0 || len(s.failed) > 0 {
			t.Errorf("got broken faults %v, under way %v, down %v, want none", f.broken, f.now(), s.failed)
		}
		for name, mode := range s.modes {
			if mode != link.Passing {
				t.Errorf("%s was left %v", name, mode)
			}
		}
		kinds := len(dataNodes) + len(sqlNodes) + 1 + len(gateways) + // deaths
			len(dataNodes) + len(sqlNodes) + // that hang
			(len(front)+len(back))*len(link.Modes)
		if len(f.count) != kinds {
			t.Errorf("got %d kinds of faults, want %d: %v", len(f.count), kinds, f.count)
		}
		events = s.events
	})
	slices.Sort(events) // of one moment any may be the first
	return events
}

func TestSchedule_EverythingReturnsInTime_AndTheSameSeedGivesTheSame(t *testing.T) {
	const length = time.Hour
	before := schedule(t, 0, length)
	for seed := range uint64(3) {
		first, second := schedule(t, seed, length), schedule(t, seed, length)
		if !slices.Equal(first, second) {
			t.Errorf("seed %d: got %d events, and others, %d of them, at the second time", seed, len(first), len(second))
		}
		if seed > 0 && slices.Equal(first, before) {
			t.Errorf("seed %d gives what the seed before it gave", seed)
		}
		before = first
	}
}

func TestRun_FaultThatDoesNotBegin_IsEndedAndNoneFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		refused, ended := errors.New("refused"), 0
		f := newFaults(&standIns{t: t})
		f.run(ctx, lane{"lane", time.Second, time.Second, func(*rand.Rand) fault {
			return fault{
				name: "fault", least: time.Second, most: time.Second, isDeath: true,
				begin: func() error { return refused },
				end:   func() error { ended++; return nil },
			}
		}}, settings{}.random(0))
		if ended != 1 || len(f.broken) != 1 || !errors.Is(f.broken[0], refused) || len(f.now()) != 0 || len(f.deaths) != 0 {
			t.Errorf("ended %d times, broken %v, under way %v, want one that was ended", ended, f.broken, f.now())
		}
	})
}
