package sqlstore_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// proxy stands before a real SQL node and cuts connections at a chosen point.
type proxy struct {
	target   string
	listener net.Listener
	cutAt    atomic.Pointer[cutPoint]
	running  sync.WaitGroup
}

// cutPoint is a command of MySQL's protocol, and for a query its text.
type cutPoint struct {
	command byte
	query   string
	// answered: the server carries it out, but its answer is lost.
	answered bool
}

// startProxy returns a proxy and the DSN that leads through it.
func startProxy(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: c.Addr}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.running.Go(p.accept) // ends when the listener closes
	t.Cleanup(func() {
		p.listener.Close()
		p.running.Wait()
	})
	c.Addr = p.listener.Addr().String()
	return p, c.FormatDSN()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { // ends when the client closes its connection
			defer client.Close()
			server, err := net.Dial("tcp", p.target)
			if err != nil {
				return
			}
			defer server.Close()
			p.forward(client, server)
		})
	}
}

func (p *proxy) forward(client, server net.Conn) {
	var dropping atomic.Bool
	answered := make(chan struct{})
	p.running.Go(func() { // ends when the server's connection closes
		defer client.Close()
		defer close(answered)
		buffer := make([]byte, 16<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil || dropping.Load() {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	in := bufio.NewReader(client)
	for {
		packet, err := readPacket(in)
		if err != nil {
			return
		}
		cut := p.cutAt.Load()
		if cut == nil || !cut.matches(packet) {
			if _, err := server.Write(packet); err != nil {
				return
			}
			continue
		}
		if cut.answered {
			dropping.Store(true)
			if _, err := server.Write(packet); err == nil {
				<-answered
			}
		}
		return
	}
}

// matches asks for sequence number 0: a command, not part of a handshake.
func (c *cutPoint) matches(packet []byte) bool {
	return len(packet) > 4 && packet[3] == 0 && packet[4] == c.command && strings.HasPrefix(string(packet[5:]), c.query)
}

// readPacket returns a packet with its header.
func readPacket(in *bufio.Reader) ([]byte, error) {
	header, err := in.Peek(4)
	if err != nil {
		return nil, err
	}
	packet := make([]byte, 4+int(header[0])+int(header[1])<<8+int(header[2])<<16)
	_, err = io.ReadFull(in, packet)
	return packet, err
}
