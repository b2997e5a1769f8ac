package loadtest_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/target"
)

// pipes is a network in memory with one server, so that HTTP runs in the time of
// a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, errors.New("connection refused")
	}
}

// stalling answers in a millisecond, but for a second in which it answers
// nothing.
type stalling struct {
	once  sync.Once
	began time.Time
	at    time.Duration // since the first request

	answers target.NullGateway
}

func (s *stalling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.once.Do(func() { s.began = time.Now() })
	if since := time.Since(s.began); since >= s.at && since < s.at+time.Second {
		time.Sleep(s.at + time.Second - since)
	}
	time.Sleep(time.Millisecond)
	s.answers.ServeHTTP(w, r)
}

// runStalling measures reads of a server that stalls for a second in the third.
func runStalling(t *testing.T, change func(*loadtest.Config)) *loadtest.Cell {
	t.Helper()
	var cell *loadtest.Cell
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		server := &http.Server{Handler: &stalling{at: 3 * time.Second}}
		served := make(chan error, 1)
		go func() { served <- server.Serve(network) }() // ends with Close
		defer func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}()
		c := quick(road("ndb", &target.HTTP{URL: &url.URL{Scheme: "http", Host: "gateway"}, Timeout: 5 * time.Second, Dial: network.dial}))
		c.Unchecked, c.Rows, c.Duration, c.Warmup = true, 20, 10*time.Second, time.Second
		change(&c)
		r, err := loadtest.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		cell = &r.Cells[0]
	})
	return cell
}

func TestRun_FixedRate_StallShowsInP99(t *testing.T) {
	for _, arrivals := range []loadtest.Arrivals{loadtest.Constant, loadtest.Poisson} {
		cell := runStalling(t, func(c *loadtest.Config) {
			c.Rate, c.Threads, c.Arrivals = 200, []int{32}, arrivals
		})
		// A tenth of the operations was scheduled while the server stalled.
		if cell.Latency.P99 < 850 || cell.Latency.Max < 950 || cell.Latency.P50 > 3 || cell.Dropped > 0 || len(cell.Errors) > 0 {
			t.Errorf("%s: got p50 %v, p99 %v, max %v ms, %d dropped, errors %v", arrivals, cell.Latency.P50, cell.Latency.P99, cell.Latency.Max, cell.Dropped, cell.Errors)
		}
		// All 32 connections waited, and so operations were sent late: those that the
		// server itself has not seen stall.
		if cell.Late < 100 || cell.Service == nil || cell.Service.P99 < 850 || cell.Ops < 1900 {
			t.Errorf("%s: got %d late of %d, service %+v", arrivals, cell.Late, cell.Ops, cell.Service)
		}
		dip := false
		for _, p := range cell.Series {
			dip = dip || p.OpsPerSecond == 0
		}
		if !dip {
			t.Errorf("%s: the series has no dip", arrivals)
		}
	}
}

func TestRun_ClosedLoop_StallHidesInP99(t *testing.T) {
	cell := runStalling(t, func(*loadtest.Config) {})
	// One operation of some nine thousand saw it: why there is an open loop.
	if cell.Latency.P99 > 3 || cell.Latency.Max < 950 {
		t.Errorf("got p99 %v, max %v ms", cell.Latency.P99, cell.Latency.Max)
	}
}

func TestRun_FixedRate_TooMuch_IsDropped(t *testing.T) {
	cell := runStalling(t, func(c *loadtest.Config) {
		c.Rate, c.Threads, c.MaxLag = 2000, []int{1}, 200*time.Millisecond // one thread can do 1000 at most
	})
	if all := cell.Ops + cell.Dropped; cell.Dropped < 9000 || all < 19_000 || all > 20_500 {
		t.Errorf("got %d done and %d dropped, want more than 9,000 dropped of 20,000", cell.Ops, cell.Dropped)
	}
}

func TestRun_FixedRate_KeepsTheRate(t *testing.T) {
	cell := runStalling(t, func(c *loadtest.Config) {
		c.Rate, c.Threads = 50, []int{8}
	})
	if cell.Throughput < 48 || cell.Throughput > 52 || cell.LateTimer > 0 {
		t.Errorf("got %v in a second, want 50; %d late by the timer", cell.Throughput, cell.LateTimer)
	}
}
