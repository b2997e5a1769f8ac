package link

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that says what it hears. Its connections come out of accepted.
func echo(t *testing.T) (address string, accepted <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 8)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns <- conn
			running.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn) // ends with the connection
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		for len(conns) > 0 {
			(<-conns).Close()
		}
		running.Wait()
	})
	return listener.Addr().String(), conns
}

func open(t *testing.T, target string) *Link {
	t.Helper()
	l, err := New("test", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func dial(t *testing.T, l *Link) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// refused opens a connection that is reset, at once or in a moment.
func refused(t *testing.T, l *Link) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr())
	if err != nil {
		return
	}
	defer conn.Close()
	hearEnd(t, conn)
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// hearNothing lets a moment pass in which nothing may come.
func hearNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %d bytes, %v, want silence", n, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// patience is how long a test waits for what comes at once where all is well.
const patience = 20 * time.Second

// hearEnd waits until the connection is closed.
func hearEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience)) // which fails where it is closed already
	if n, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %d bytes, %v, want the end", n, err)
	}
}

// awaitNoPairs waits until the link carries no connection any more.
func awaitNoPairs(t *testing.T, l *Link) {
	t.Helper()
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		l.mu.Lock()
		n := len(l.pairs)
		l.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %d connections of which nothing is left, want none", n)
		}
	}
}

func TestLink_Passes(t *testing.T) {
	target, _ := echo(t)
	conn := dial(t, open(t, target))
	say(t, conn, "hello")
	hear(t, conn, "hello")
}

func TestLink_Cut_BothEndsHearOfIt_NewConnectionsAreReset(t *testing.T) {
	target, accepted := echo(t)
	l := open(t, target)
	conn := dial(t, l)
	say(t, conn, "a")
	hear(t, conn, "a")
	<-accepted
	l.Set(Cut)
	hearEnd(t, conn)
	refused(t, l)
	l.Set(Passing)
	conn = dial(t, l)
	say(t, conn, "b")
	hear(t, conn, "b")
}

func TestLink_Stalled_LosesNothing(t *testing.T) {
	target, _ := echo(t)
	l := open(t, target)
	conn := dial(t, l)
	say(t, conn, "a")
	hear(t, conn, "a")
	l.Set(Stalled)
	say(t, conn, "b")
	hearNothing(t, conn)
	late := dial(t, l)
	say(t, late, "c")
	hearNothing(t, late)
	l.Set(Passing)
	hear(t, conn, "b")
	hear(t, late, "c")
}

func TestLink_Slow_TakesItsTime(t *testing.T) {
	target, _ := echo(t)
	l := open(t, target)
	conn := dial(t, l)
	say(t, conn, "a")
	hear(t, conn, "a")
	l.Set(Slow)
	begun := time.Now()
	say(t, conn, "b")
	hear(t, conn, "b")
	if took := time.Since(begun); took < 2*slowness {
		t.Errorf("there and back took %v, want at least %v", took, 2*slowness)
	}
}

func TestLink_ServerLost_CallerHearsNothingUntilItPassesAgain(t *testing.T) {
	target, accepted := echo(t)
	l := open(t, target)
	conn := dial(t, l)
	say(t, conn, "a")
	hear(t, conn, "a")
	server := <-accepted
	l.Set(ServerLost)
	hearEnd(t, server)
	say(t, conn, "b")
	hearNothing(t, conn)
	l.Set(Passing)
	hearEnd(t, conn)
	awaitNoPairs(t, l)
}

func TestLink_CallerLost_ServerHearsNothingUntilItPassesAgain(t *testing.T) {
	target, accepted := echo(t)
	l := open(t, target)
	conn := dial(t, l)
	say(t, conn, "a")
	hear(t, conn, "a")
	server := <-accepted
	l.Set(CallerLost)
	say(t, conn, "b")
	hearNothing(t, conn)
	conn.Close()
	say(t, server, "are you there?") // still open
	if err := server.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	l.Set(Passing)
	var err error
	for err == nil {
		_, err = server.Write([]byte("?")) // fails once the reset has come
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server's connection is still open after %v", patience)
	}
}

func TestLink_NewTarget_GetsNewConnections(t *testing.T) {
	l := open(t, "127.0.0.1:1")
	refused(t, l)
	target, _ := echo(t)
	l.SetTarget(target)
	conn := dial(t, l)
	say(t, conn, "a")
	hear(t, conn, "a")
}

func TestLink_CloseWhileItStandsStill(t *testing.T) {
	target, _ := echo(t)
	l, err := New("test", target)
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, l)
	say(t, conn, "a")
	hear(t, conn, "a")
	l.Set(Stalled)
	say(t, conn, "b")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	hearEnd(t, conn)
}
