package transporter

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// network makes the two ends of a connection.
type network struct {
	name string
	pair func(t testing.TB) (api, node net.Conn)
}

var networks = []network{
	{"tcp", tcpPair},
	{"memory", func(testing.TB) (api, node net.Conn) { return net.Pipe() }},
	{"one byte at a time", func(t testing.TB) (api, node net.Conn) {
		api, node = tcpPair(t)
		return oneByteConn{api}, oneByteConn{node}
	}},
}

func tcpPair(t testing.TB) (dialed, accepted net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dialed, err = net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if accepted, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return dialed, accepted
}

// oneByteConn reads as little as it can.
type oneByteConn struct{ net.Conn }

func (c oneByteConn) Read(p []byte) (int, error) { return c.Conn.Read(p[:min(1, len(p))]) }

// link shakes hands over a connection. Both ends are closed with the test.
func link(t testing.TB, n network, cfg Config) (*Conn, *ServerConn) {
	t.Helper()
	api, node := n.pair(t)
	accepted := make(chan *ServerConn, 1)
	go func() {
		serverCfg := cfg
		serverCfg.Own = cfg.Peer
		c, err := Listener{Config: serverCfg}.Accept(context.Background(), node)
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	dial := func(context.Context, string, string) (net.Conn, error) { return api, nil }
	c, err := Dial(t.Context(), dial, "x", cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := <-accepted
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c, server
}

// receipt is a signal as it arrived.
type receipt struct {
	gsn      signal.GSN
	sender   signal.Block
	receiver signal.Block
	data     string
	sections [signal.MaxSections]string
}

func receiptOf(m *signal.Message) receipt {
	r := receipt{gsn: m.GSN, sender: m.Sender, receiver: m.Receiver, data: string(m.Data)}
	for i, section := range m.Sections {
		r.sections[i] = string(section)
	}
	return r
}

// receive starts c, and gives what arrives.
func receive(c *Conn) <-chan receipt {
	receipts := make(chan receipt, 10_000)
	c.Start(func(m *signal.Message) { receipts <- receiptOf(m) })
	return receipts
}

func ignore(*signal.Message) {}

func seizeReq(i int) *signal.TCSeizeReq {
	return &signal.TCSeizeReq{Pointer: uint32(i) * 2, Ref: signal.NewBlockRef(signal.BlockAPI, 50)}
}

func pointerOf(r receipt) int { return int(binary.LittleEndian.Uint32([]byte(r.data)) / 2) }

func TestSend_ArrivesWhole(t *testing.T) {
	large := make([]byte, 3900*word.SizeBytes)
	for i := range large {
		large[i] = byte(i * 7)
	}
	for _, n := range networks {
		for _, format := range []signal.Format{{}, {SignalID: true}, {Checksum: true}, {SignalID: true, Checksum: true}} {
			t.Run(fmt.Sprintf("%s %+v", n.name, format), func(t *testing.T) {
				cfg := testConfig(50, 2)
				cfg.Format = format
				c, server := link(t, n, cfg)
				atServer, atClient := receive(server.Conn), receive(c)
				req := testRequest(3)
				for range 3 {
					if err := Send(c, signal.BlockAPI, req, large, large); err != nil {
						t.Fatal(err)
					}
				}
				want := receipt{
					gsn: signal.GSNTCKeyReq, sender: signal.BlockAPI, receiver: testTC().Block(), data: string(req.AppendTo(nil)),
					sections: [signal.MaxSections]string{string(large), string(large)},
				}
				for range 3 {
					if got := <-atServer; got != want {
						t.Errorf("at the data node: got %v to %#x, %d bytes", got.gsn, got.receiver, len(got.data))
					}
				}
				answer := signal.Message{
					GSN: signal.GSNTransIDAI, Sender: signal.BlockDBTC, Receiver: signal.BlockAPI,
					Data: large[:20*word.SizeBytes], Sections: [signal.MaxSections][]byte{large}, NumSections: 1,
				}
				if err := errors.Join(server.SendMessage(&answer), server.SendFragments(&answer, 9, 240)); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if got, want := <-atClient, receiptOf(&answer); got != want {
						t.Errorf("at the API node: got %v to %#x, %d bytes", got.gsn, got.receiver, len(got.data))
					}
				}
			})
		}
	}
}

func TestSend_PackedSignals_ArriveOneByOne(t *testing.T) {
	c, server := link(t, networks[0], testConfig(50, 2))
	receive(server.Conn)
	receipts := receive(c)
	packed := signal.Message{GSN: signal.GSNTCKeyConf, Sender: signal.BlockDBTC, Receiver: signal.BlockPacked}
	for i := range 3 {
		packed.Data, _ = signal.AppendPacked(packed.Data, signal.BlockAPI+signal.Block(i), make([]byte, (3+i)*word.SizeBytes))
	}
	if err := server.SendMessage(&packed); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		got := <-receipts
		if got.receiver != signal.BlockAPI+signal.Block(i) || len(got.data) != (3+i)*word.SizeBytes {
			t.Errorf("signal %d: got %#x with %d bytes", i, got.receiver, len(got.data))
		}
	}
	c.Close()
	if got := c.Stats().SignalsReceived; got != 3 {
		t.Errorf("got %d signals counted, want 3", got)
	}
}

func TestSend_ManyCallers_EachInOrderAndOnce(t *testing.T) {
	const callers, each = 16, 500
	for _, n := range networks[:2] {
		t.Run(n.name, func(t *testing.T) {
			c, server := link(t, n, testConfig(50, 2))
			var batches [callers]Batch
			var next [callers]atomic.Int32
			var received atomic.Int32
			done := make(chan struct{})
			server.Start(func(m *signal.Message) {
				if err := server.SendMessage(m); err != nil {
					t.Error(err)
				}
			})
			c.Start(func(m *signal.Message) {
				caller, i := int(m.Sender-signal.BlockAPI), pointerOf(receiptOf(m))
				if want := int(next[caller].Add(1)) - 1; i != want {
					t.Errorf("caller %d: got signal %d, want %d", caller, i, want)
				}
				if received.Add(1) == callers*each {
					close(done)
				}
			})
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					sender := signal.BlockAPI + signal.Block(i)
					b := &batches[i]
					b.Reset(c)
					for j := range each {
						if i%2 == 0 {
							if err := Send(c, sender, seizeReq(j)); err != nil {
								t.Error(err)
							}
							continue
						}
						if Append(b, sender, seizeReq(j)); b.Len() == 10 {
							if err := b.Send(); err != nil || b.Len() != 0 {
								t.Errorf("got %v, %d left", err, b.Len())
							}
						}
					}
				})
			}
			wg.Wait()
			<-done
			c.Close()
			s := c.Stats()
			if s.SignalsSent != callers*each || s.SignalsReceived != callers*each || s.BytesSent != s.BytesReceived || s.Writes > callers*each {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// TestSend_FromHandler_LeavesInOneWrite: one acknowledgement for each commit,
// but not one write.
func TestSend_FromHandler_LeavesInOneWrite(t *testing.T) {
	for _, n := range networks[:2] {
		t.Run(n.name, func(t *testing.T) {
			c, server := link(t, n, testConfig(50, 2))
			atServer := receive(server.Conn)
			var batch []byte
			for i := range 100 {
				batch = signal.AppendOutgoing(c.Format(), batch, signal.BlockAPI, seizeReq(i))
			}
			// All arrive with one read: they wait in the buffer of the handshake.
			c.in.start, c.in.end = 0, copy(c.in.buf, batch)
			c.Start(func(m *signal.Message) {
				if err := Send(c, signal.BlockAPI, &signal.TCCommitAck{TC: testTC()}); err != nil {
					t.Error(err)
				}
			})
			for range 100 {
				if got := (<-atServer).gsn; got != signal.GSNTCCommitAck {
					t.Errorf("got %v", got)
				}
			}
			c.Close() // counts are complete when the writer has ended
			if got := c.Stats().Writes; got != 1 {
				t.Errorf("got %d writes, want 1", got)
			}
		})
	}
}

func TestBatch_LeavesInOneWrite(t *testing.T) {
	for _, n := range networks[:2] {
		c, server := link(t, n, testConfig(50, 2))
		receipts := receive(server.Conn)
		c.Start(ignore)
		var b Batch
		b.Reset(c)
		for i := range 200 {
			Append(&b, signal.BlockAPI, seizeReq(i))
		}
		if err := b.Send(); err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			if got := pointerOf(<-receipts); got != i {
				t.Errorf("%s: got signal %d, want %d", n.name, got, i)
			}
		}
		c.Close()
		if got := c.Stats().Writes; got != 1 {
			t.Errorf("%s: got %d writes, want 1", n.name, got)
		}
	}
}

// fillQueue sends until the queue of a peer that reads nothing is full, and
// returns how many signals it took.
func fillQueue(t *testing.T, c *Conn) int {
	t.Helper()
	for sent := 0; ; sent++ {
		err := Send(c, signal.BlockAPI, seizeReq(sent))
		if errors.Is(err, ErrQueueFull) {
			return sent
		}
		if err != nil || sent > 1e6 {
			t.Fatalf("after %d signals: %v", sent, err)
		}
	}
}

func TestSend_PeerStopsReading_FullQueueThenGoesOn(t *testing.T) {
	for _, n := range networks[:2] {
		t.Run(n.name, func(t *testing.T) {
			cfg := testConfig(50, 2)
			cfg.MaxQueueBytes = 20_000
			c, server := link(t, n, cfg)
			c.Start(ignore)
			sent := fillQueue(t, c)

			var b Batch
			b.Reset(c)
			Append(&b, signal.BlockAPI, seizeReq(0))
			if err := b.Send(); !errors.Is(err, ErrQueueFull) || b.Len() != 1 {
				t.Errorf("batch: got %v and %d signals kept, want %v and 1", err, b.Len(), ErrQueueFull)
			}

			reserved := func(s func() error) int {
				for i := 0; ; i++ {
					if err := s(); errors.Is(err, ErrQueueFull) {
						return i
					} else if err != nil {
						t.Fatal(err)
					}
				}
			}
			acks := reserved(func() error { return Send(c, signal.BlockAPI, &signal.TCCommitAck{TC: testTC()}) })
			heartbeats := reserved(func() error { return Send(c, signal.BlockCluster, &signal.APIRegReq{}) })
			if acks < 1000 || heartbeats < 1000 {
				t.Errorf("got room for %d acknowledgements and %d heartbeats, want thousands", acks, heartbeats)
			}

			receipts := receive(server.Conn)
			for i := range sent {
				if got := <-receipts; got.gsn != signal.GSNTCSeizeReq || pointerOf(got) != i {
					t.Fatalf("got %v %d, want number %d", got.gsn, pointerOf(got), i)
				}
			}
			for range acks + heartbeats {
				<-receipts
			}
			// All has arrived; our writer may not know yet.
			err := b.Send()
			for ; errors.Is(err, ErrQueueFull); err = b.Send() {
				runtime.Gosched()
			}
			if err != nil {
				t.Errorf("after the queue is empty: %v", err)
			}
			<-receipts
		})
	}
}

func TestSend_AfterWritesPileUp_QueueDrainsInFewWrites(t *testing.T) {
	c, server := link(t, networks[1], testConfig(50, 2))
	c.Start(ignore)
	const signals = 10_000
	for i := range signals {
		if err := Send(c, signal.BlockAPI, seizeReq(i)); err != nil {
			t.Fatal(err)
		}
	}
	receipts := receive(server.Conn)
	for range signals {
		<-receipts
	}
	c.Close()
	if s := c.Stats(); s.Writes > 3+s.BytesSent/pieceBytes {
		t.Errorf("got %d writes of %d bytes, want few large ones", s.Writes, s.BytesSent)
	}
}

func TestClose_WhileSending_ErrClosedAndNothingAfter(t *testing.T) {
	for _, n := range networks[:2] {
		t.Run(n.name, func(t *testing.T) {
			c, server := link(t, n, testConfig(50, 2))
			server.Start(func(m *signal.Message) { _ = server.SendMessage(m) })
			var closed atomic.Bool
			started := make(chan struct{})
			var once sync.Once
			c.Start(func(*signal.Message) {
				once.Do(func() { close(started) })
				if closed.Load() {
					t.Error("handler called after Close")
				}
			})
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for {
						err := Send(c, signal.BlockAPI, seizeReq(1))
						if errors.Is(err, ErrQueueFull) {
							continue
						}
						if err != nil {
							if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "node 2") {
								t.Errorf("got %v, want %v of node 2", err, ErrClosed)
							}
							return
						}
					}
				})
			}
			<-started
			c.Close()
			closed.Store(true)
			wg.Wait()
			c.Close()
			<-c.Done()
			if err := c.Err(); !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want %v", err, ErrClosed)
			}
			<-server.Done()
			if err := server.Err(); err == nil {
				t.Error("the other end does not know")
			}
		})
	}
}

func TestClose_NeverStarted(t *testing.T) {
	c, _ := link(t, networks[0], testConfig(50, 2))
	c.Close()
	<-c.Done()
	c.Start(func(*signal.Message) { t.Error("handler called") })
	if err := Send(c, signal.BlockAPI, seizeReq(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}

func TestConn_PeerCloses_ErrSaysSo(t *testing.T) {
	for _, n := range networks[:2] {
		c, server := link(t, n, testConfig(50, 2))
		c.Start(ignore)
		if err := c.Err(); err != nil {
			t.Errorf("%s: got %v while it is up", n.name, err)
		}
		server.Close()
		<-c.Done()
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "closed by the peer") {
			t.Errorf("%s: got %v", n.name, err)
		}
	}
}

func TestConn_MalformedMessage_LinkGoesDown(t *testing.T) {
	good := signal.AppendOutgoing(signal.Format{}, nil, signal.BlockAPI, seizeReq(1))
	bad := map[string][]byte{
		"other byte order": word.Append(nil, 0x81000081, 0, 0),
		"no length":        word.Append(nil, 0, 0, 0),
		"packed too short": signal.Format{}.Append(nil, &signal.Message{Receiver: signal.BlockPacked, Data: make([]byte, 4)}),
		"middle fragment":  signal.Format{}.Append(nil, &signal.Message{Fragment: signal.FragmentMiddle, Data: make([]byte, 4)}),
	}
	for name, message := range bad {
		t.Run(name, func(t *testing.T) {
			c, server := link(t, networks[0], testConfig(50, 2))
			receipts := receive(c)
			if _, err := server.nc.Write(append(append([]byte{}, good...), message...)); err != nil {
				t.Fatal(err)
			}
			<-c.Done()
			if err := c.Err(); !errors.Is(err, signal.ErrMessage) {
				t.Errorf("got %v, want %v", err, signal.ErrMessage)
			}
			if len(receipts) != 1 {
				t.Errorf("got %d signals, want the good one", len(receipts))
			}
		})
	}
}

func TestFail_ByHandler_LinkGoesDownWithItsError(t *testing.T) {
	c, server := link(t, networks[0], testConfig(50, 2))
	cause := errors.New("makes no sense")
	c.Start(func(*signal.Message) { c.Fail(cause) })
	server.Start(ignore)
	if err := server.SendSignal(signal.BlockQMGR, signal.BlockCluster, &signal.APIRegConf{}); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if err := c.Err(); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	<-server.Done()
}

func TestSend_EncoderPanics_LinkStaysUsable(t *testing.T) {
	c, server := link(t, networks[0], testConfig(50, 2))
	receipts := receive(server.Conn)
	c.Start(ignore)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = Send(c, signal.BlockAPI, seizeReq(1), []byte{1, 2, 3})
	}()
	if err := Send(c, signal.BlockAPI, seizeReq(2)); err != nil {
		t.Fatal(err)
	}
	if got := pointerOf(<-receipts); got != 2 {
		t.Errorf("got signal %d, want 2", got)
	}
}

func TestConn_InMemoryNetwork_FakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, server := link(t, networks[1], testConfig(50, 2))
		receipts := receive(server.Conn)
		c.Start(ignore)
		time.Sleep(time.Hour) // on the fake clock: no deadline of the handshake is left
		if err := Send(c, signal.BlockCluster, &signal.APIRegReq{}); err != nil {
			t.Fatal(err)
		}
		if got := (<-receipts).gsn; got != signal.GSNAPIRegReq {
			t.Errorf("got %v", got)
		}
	})
}

func TestSend_AllocatesNothing(t *testing.T) {
	c, server := link(t, networks[0], testConfig(50, 2))
	var received atomic.Int64
	server.Start(func(*signal.Message) { received.Add(1) })
	c.Start(ignore)
	req, key, attrs := testRequest(1), make([]byte, 8), make([]byte, 60)
	allocs := testing.AllocsPerRun(1000, func() {
		if err := Send(c, signal.BlockAPI, req, key, attrs); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("got %v allocations for a signal", allocs)
	}
}
