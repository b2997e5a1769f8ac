package transporter

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// The sizes of reading one row of the employee table: a request of 124 bytes,
// and an answer of 60.
const (
	requestBytes = 124
	answerBytes  = 60
)

// peerEnv makes the test binary a peer: it runs in a process of its own, as a
// data node does. Its value is what the peer speaks.
const peerEnv = "TRANSPORTER_TEST_PEER"

// runPeer prints its address, and serves until its input ends.
func runPeer(kind string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			if kind == "signals" {
				go answerSignals(nc)
			} else {
				go echoBytes(nc)
			}
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// answerSignals answers each TCKEYREQ with a TRANSID_AI that names its caller.
func answerSignals(nc net.Conn) {
	c, err := Listener{Config: testConfig(2, 0)}.Accept(context.Background(), nc)
	if err != nil {
		panic(err)
	}
	answer := signal.Message{GSN: signal.GSNTransIDAI, Sender: signal.BlockDBTC, Receiver: signal.BlockAPI}
	answer.Data = make([]byte, answerBytes-4*word.SizeBytes)
	c.Start(func(m *signal.Message) {
		word.Put(answer.Data, 0, word.At(m.Data, opPointerWord))
		if err := c.SendMessage(&answer); err != nil {
			panic(err)
		}
	})
}

func echoBytes(nc net.Conn) {
	request := make([]byte, requestBytes)
	answer := make([]byte, answerBytes)
	for {
		if _, err := io.ReadFull(nc, request); err != nil {
			return
		}
		if _, err := nc.Write(answer); err != nil {
			return
		}
	}
}

const opPointerWord = 1 // of TCKEYREQ

// startPeer returns the address of a peer that lives as long as b.
func startPeer(b *testing.B, kind string) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peerEnv+"="+kind)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// runCallers shares out b.N rounds among callers, and gives each a function
// that does one.
func runCallers(b *testing.B, callers int, caller func(i int) (round func() error)) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range callers {
		round := caller(i)
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := round(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

var callerCounts = []int{1, 8, 64}

// BenchmarkPingPong is the round trip of a row's read, without the data node's
// work: callers share one link.
func BenchmarkPingPong(b *testing.B) {
	addr := startPeer(b, "signals")
	for _, callers := range callerCounts {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			c, err := Dial(b.Context(), new(net.Dialer).DialContext, addr, testConfig(50, 2))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			answers := make([]chan struct{}, callers)
			for i := range answers {
				answers[i] = make(chan struct{}, 1)
			}
			c.Start(func(m *signal.Message) { answers[word.At(m.Data, 0)/4] <- struct{}{} })
			runCallers(b, callers, func(i int) func() error {
				req := testRequest(i)
				key, attrs := make([]byte, 2*word.SizeBytes), make([]byte, 15*word.SizeBytes)
				return func() error {
					if err := Send(c, signal.BlockAPI, req, key, attrs); err != nil {
						return err
					}
					<-answers[i]
					return nil
				}
			})
			b.ReportMetric(float64(c.Stats().Writes)/float64(b.N), "writes/op")
			b.ReportMetric(float64(c.Stats().BytesSent)/float64(b.N), "sentbytes/op")
		})
	}
}

// BenchmarkTCPPingPong is the limit: the same bytes with a connection for each
// caller and nothing else.
func BenchmarkTCPPingPong(b *testing.B) {
	addr := startPeer(b, "bytes")
	for _, callers := range callerCounts {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			runCallers(b, callers, func(int) func() error {
				nc, err := net.Dial("tcp", addr)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = nc.Close() })
				request, answer := make([]byte, requestBytes), make([]byte, answerBytes)
				return func() error {
					if _, err := nc.Write(request); err != nil {
						return err
					}
					_, err := io.ReadFull(nc, answer)
					return err
				}
			})
		})
	}
}
