package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/internal/chaos/history"
	"github.com/ndbgate/ndbgate/internal/chaos/link"
)

const (
	clients          = 32
	gatewayProcesses = 2
	progressInterval = 10 * time.Second

	// Beside CHAOS_TIME a run takes at most this, whatever hangs.
	repairLimit = 5 * time.Minute
	readLimit   = time.Minute // of the last reads
	checkLimit  = 3 * time.Minute
)

// run is what a run is made of.
type run struct {
	t *testing.T
	settings
	gateways []*gateway
	load     *load
	faults   *faults
}

func TestEveryAnswerCanBeTrue_WhileEverythingFails(t *testing.T) {
	r := &run{t: t, settings: readSettings(t), faults: newFaults(realNodes{})}
	t.Logf("%v; the same seed draws the same faults in the same order", r.settings)
	defer func() {
		if t.Failed() {
			t.Logf("%v; logs of the gateways are in %s", r.settings, r.dir)
		}
	}()
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r.open(ctx)
	r.chaos(ctx)
	if ctx.Err() != nil {
		t.Fatal("interrupted; nothing was checked")
	}
	r.repair(ctx)
	r.readLast(ctx)
	r.check()
}

// open builds the gateway and starts it with all its links.
func (r *run) open(ctx context.Context) {
	r.t.Helper()
	binary := filepath.Join(r.t.TempDir(), "gateway")
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/ndbgate/ndbgate/cmd/gateway").CombinedOutput(); err != nil {
		r.t.Fatalf("build the gateway: %v\n%s", err, output)
	}
	r.t.Cleanup(func() { // whatever happens, leave a whole cluster
		if err := clusterScript("up"); err != nil {
			r.t.Error(err)
		}
	})
	var urls []string
	for i := range gatewayProcesses {
		g, err := newGateway(fmt.Sprint("gateway ", i+1), binary, r.connectstring, strings.Fields(r.dsns), r.dir)
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() {
			if err := g.close(); err != nil {
				r.t.Error(err)
			}
		})
		if err := g.start(ctx); err != nil {
			r.t.Fatal(err)
		}
		r.gateways = append(r.gateways, g)
		urls = append(urls, "http://"+g.front.Addr())
	}
	r.awaitGateways(ctx)
	r.load = newLoad(urls)
}

func (r *run) awaitGateways(ctx context.Context) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, nodeLimit)
	defer cancel()
	for _, g := range r.gateways {
		if err := g.awaitRoads(ctx); err != nil {
			r.t.Fatal(err)
		}
	}
}

// chaos has clients and faults run for the given time, and longer as far as the
// last faults take to end.
func (r *run) chaos(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.length)
	defer cancel()
	var front, back []*link.Link
	for _, g := range r.gateways {
		front, back = append(front, g.front), append(back, g.back...)
	}
	var running sync.WaitGroup
	for i, lane := range lanesOf(ctx, r.faults, r.gateways, front, back) {
		running.Go(func() { r.faults.run(ctx, lane, r.random(uint64(i))) }) // ends with ctx
	}
	for client := range clients {
		running.Go(func() { r.load.run(ctx, client, r.random(uint64(1000+client))) }) // ends with ctx
	}
	ended := make(chan struct{})
	go func() { // ends with all of them
		running.Wait()
		close(ended)
	}()
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	limit := time.NewTimer(r.length + repairLimit)
	defer limit.Stop()
	for {
		select {
		case <-tick.C:
			r.progress()
		case <-limit.C:
			r.t.Fatalf("after %v still under way: %v", r.length+repairLimit, r.faults.now())
		case <-ended:
			r.progress()
			return
		}
	}
}

func (r *run) progress() {
	l := r.load
	l.rows.mu.Lock()
	rows, total := len(l.rows.all), l.rows.total
	l.rows.mu.Unlock()
	var told int64
	for outcome := range history.Unknown {
		told += l.count[outcome].Load()
	}
	r.t.Logf("%v: %d operations on %d rows in the history: %d answered, %d of unknown outcome; beside it %d surely not done. Failing: %s",
		time.Since(l.begun).Round(time.Second), total, rows, told, l.count[history.Unknown].Load(), l.refused.Load(),
		strings.Join(r.faults.now(), ", "))
}

// repair makes everything whole again.
func (r *run) repair(ctx context.Context) {
	r.t.Helper()
	for _, err := range r.faults.broken {
		r.t.Errorf("a fault did not go as it should: %v", err)
	}
	for _, g := range r.gateways {
		for _, l := range g.links() {
			l.Set(link.Passing)
		}
		if !g.isRunning() {
			r.t.Errorf("%s has ended by itself", g.name)
			if err := g.start(ctx); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if err := clusterScript("up"); err != nil {
		r.t.Fatal(err)
	}
	r.awaitGateways(ctx)
	// What a gateway still works on ends by its deadline.
	pause(ctx, requestTimeout)
}

// readLast closes the history of every row with a read by each road.
func (r *run) readLast(ctx context.Context) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	for _, row := range r.load.rows.all {
		for i, road := range roads {
			for read := false; !read; {
				o := &history.Op{Client: clients, Road: road, Kind: history.Get, Settled: true}
				read = r.load.do(row, o, r.load.gateways[i], false)
				if !read && !pause(ctx, 100*time.Millisecond) {
					r.t.Fatalf("row %d cannot be read by %s though all is repaired", row.id, road)
				}
			}
		}
	}
}
