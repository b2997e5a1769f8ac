package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ndbgate/ndbgate/internal/chaos/link"
)

// fault is something that fails, and returns.
type fault struct {
	name        string
	begin, end  func() error
	least, most time.Duration // that it lasts
	isDeath     bool          // of a process; no two at the same time
}

// lane is a row of faults of which one is under way at a time. Lanes run beside
// each other, so what may never fail together is in one lane: both data nodes,
// and the management server with either, because a data node that loses the
// other asks an arbitrator whether it may go on.
type lane struct {
	name        string
	least, most time.Duration // between two faults
	draw        func(random *rand.Rand) fault
}

// nodes is what faults do to the nodes of the cluster.
type nodes interface {
	kill(id int) error
	start(id int) error // returns when the node is usable; one that runs stays as it is
	signal(id int, s syscall.Signal) error
}

// process is a gateway, or what stands for one.
type process interface {
	fmt.Stringer
	kill() error
	start(ctx context.Context) error // returns when it can be connected to
}

// failingLink is a link that has modes.
type failingLink interface {
	fmt.Stringer
	Set(m link.Mode)
}

// faults keeps book of what has failed.
type faults struct {
	nodes nodes

	// deaths holds a token from a death until the process is back. A data node that
	// dies seconds after a client of the cluster was seen to leave the other one
	// waiting for good for the end of that client's transactions ("Failure handling
	// of api 51 has not completed"), so that its node ID stays taken.
	deaths chan struct{}

	mu       sync.Mutex // guards all below
	underWay map[string]int
	count    map[string]int
	broken   []error   // faults that did not begin or end as they should
	lastLost time.Time // client of the cluster
}

func newFaults(n nodes) *faults {
	return &faults{nodes: n, deaths: make(chan struct{}, 1), underWay: map[string]int{}, count: map[string]int{}}
}

// lanesOf are all lanes of a run, in an order that is always the same: the place of
// one in it is the number of its random sequence.
func lanesOf[P process, L failingLink](ctx context.Context, f *faults, gateways []P, front, back []L) []lane {
	return []lane{
		f.clusterLane(ctx), f.sqlLane(), gatewayLane(f, gateways),
		linkLane("links of clients", front), linkLane("links of gateways", back), linkLane("more links of gateways", back),
	}
}

// settling is how long the data nodes may take after the loss of a client, to end
// what it did, and to agree on another arbitrator. No data node is killed before.
const settling = 10 * time.Second

// run draws faults until ctx is done, and ends the last one.
func (f *faults) run(ctx context.Context, l lane, random *rand.Rand) {
	for pause(ctx, between(random, l.least, l.most)) {
		fault := l.draw(random)
		if err := f.carryOut(ctx, fault, between(random, fault.least, fault.most)); err != nil {
			f.mu.Lock()
			f.broken = append(f.broken, fmt.Errorf("%s: %w", fault.name, err))
			f.mu.Unlock()
			return
		}
	}
}

// carryOut begins a fault, waits and ends it, whether or not it has begun as it
// should: half of it may have happened.
func (f *faults) carryOut(ctx context.Context, fault fault, lasts time.Duration) error {
	if fault.isDeath {
		select {
		case f.deaths <- struct{}{}:
			defer func() { <-f.deaths }()
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	f.note(fault.name, 1)
	defer f.note(fault.name, -1)
	err := fault.begin()
	pause(ctx, lasts)
	return errors.Join(err, fault.end())
}

// pause waits, or returns false when ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)+1))
}

func (f *faults) note(name string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay[name] += n
	if n > 0 {
		f.count[name]++
	}
	if f.underWay[name] == 0 {
		delete(f.underWay, name)
	}
}

// now lists what is failing.
func (f *faults) now() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.underWay))
}

// losesClient notes that a client of the cluster dies, which may have been the
// arbitrator.
func (f *faults) losesClient() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastLost = time.Now()
}

func (f *faults) unsettled() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(0, time.Until(f.lastLost.Add(settling)))
}

// clusterLane has the data nodes and the management server.
func (f *faults) clusterLane(ctx context.Context) lane {
	return lane{"cluster", 2 * time.Second, 8 * time.Second, func(random *rand.Rand) fault {
		node := dataNodes[random.IntN(len(dataNodes))]
		switch n := random.IntN(10); {
		case n < 5:
			return fault{
				name: fmt.Sprintf("data node %d is killed", node), least: time.Second, most: 8 * time.Second, isDeath: true,
				begin: func() error {
					for wait := f.unsettled(); wait > 0; wait = f.unsettled() {
						if !pause(ctx, wait) {
							return nil // and start a node that runs
						}
					}
					return f.nodes.kill(node)
				},
				end: func() error { return f.nodes.start(node) },
			}
		case n < 8: // for less than the others take for a failure
			return fault{
				name: fmt.Sprintf("data node %d hangs", node), least: 100 * time.Millisecond, most: 3 * time.Second,
				begin: func() error { return f.nodes.signal(node, syscall.SIGSTOP) },
				end:   func() error { return f.nodes.signal(node, syscall.SIGCONT) },
			}
		default:
			return fault{
				name: "the management server is killed", least: time.Second, most: 6 * time.Second, isDeath: true,
				begin: func() error { f.losesClient(); return f.nodes.kill(mgm) },
				end:   func() error { return f.nodes.start(mgm) },
			}
		}
	}}
}

func (f *faults) sqlLane() lane {
	return lane{"SQL nodes", 8 * time.Second, 25 * time.Second, func(random *rand.Rand) fault {
		node := sqlNodes[random.IntN(len(sqlNodes))]
		if random.IntN(3) == 0 {
			return fault{
				name: fmt.Sprintf("mysqld %d hangs", node), least: 100 * time.Millisecond, most: 6 * time.Second,
				begin: func() error { return f.nodes.signal(node, syscall.SIGSTOP) },
				end:   func() error { return f.nodes.signal(node, syscall.SIGCONT) },
			}
		}
		return fault{
			name: fmt.Sprintf("mysqld %d is killed", node), least: time.Second, most: 6 * time.Second, isDeath: true,
			begin: func() error { f.losesClient(); return f.nodes.kill(node) },
			end:   func() error { return f.nodes.start(node) },
		}
	}}
}

// gatewayLane has the gateways. One comes back when the run is over, too; its start has
// a limit of its own.
func gatewayLane[P process](f *faults, gateways []P) lane {
	return lane{"gateways", 5 * time.Second, 20 * time.Second, func(random *rand.Rand) fault {
		g := gateways[random.IntN(len(gateways))]
		return fault{
			name: g.String() + " is killed", least: 100 * time.Millisecond, most: 4 * time.Second, isDeath: true,
			begin: func() error { f.losesClient(); return g.kill() },
			end:   func() error { return g.start(context.Background()) },
		}
	}}
}

// linkLane has links of one kind, of which one at a time fails.
func linkLane[L failingLink](name string, links []L) lane {
	return lane{name, time.Second, 8 * time.Second, func(random *rand.Rand) fault {
		l := links[random.IntN(len(links))]
		mode := link.Modes[random.IntN(len(link.Modes))]
		return fault{
			name: fmt.Sprintf("%v is %v", l, mode), least: 50 * time.Millisecond, most: 6 * time.Second,
			begin: func() error { l.Set(mode); return nil },
			end:   func() error { l.Set(link.Passing); return nil },
		}
	}}
}
