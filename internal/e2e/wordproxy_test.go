package e2e

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// wordProxy stands between a gateway and an SQL node, and acts when a word goes
// by for the first time.
type wordProxy struct {
	dsn      string // that leads through it
	target   string
	word     []byte
	answered bool // act once the server has answered, which the gateway does not learn
	act      atomic.Pointer[func()]

	once    sync.Once
	running sync.WaitGroup
}

func startWordProxy(t *testing.T, dsn, word string, answered bool) *wordProxy {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &wordProxy{target: c.Addr, word: []byte(word), answered: answered}
	c.Addr = l.Addr().String()
	p.dsn = c.FormatDSN()
	p.running.Go(func() { p.accept(l) }) // ends when the listener closes
	t.Cleanup(func() {
		l.Close()
		p.running.Wait()
	})
	return p
}

func (p *wordProxy) accept(l net.Listener) {
	for {
		gateway, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			gateway.Close()
			continue
		}
		p.running.Go(func() { p.forward(gateway, server) }) // ends with the gateway
	}
}

// forward passes on what both say; MySQL's protocol has them take turns.
func (p *wordProxy) forward(gateway, server net.Conn) {
	defer gateway.Close()
	seen := make(chan struct{})
	var back sync.WaitGroup
	back.Go(func() { // ends when the server's connection closes
		buffer := make([]byte, 16<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				return
			}
			select {
			case <-seen:
				p.once.Do(*p.act.Load())
				return
			default:
			}
			if _, err := gateway.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	buffer := make([]byte, 16<<10)
	for {
		n, err := gateway.Read(buffer)
		if err != nil {
			break
		}
		if bytes.Contains(buffer[:n], p.word) {
			if !p.answered {
				p.once.Do(*p.act.Load())
				break
			}
			close(seen)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			break
		}
		if p.answered && bytes.Contains(buffer[:n], p.word) {
			back.Wait()
			break
		}
	}
	server.Close()
	back.Wait()
}
