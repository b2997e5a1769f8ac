package transporter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// pipeDialer gives out one end of an in-memory connection. The test has the
// other.
func pipeDialer(t *testing.T) (DialFunc, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		_ = ours.Close()
		_ = theirs.Close()
	})
	return func(context.Context, string, string) (net.Conn, error) { return ours, nil }, theirs
}

// playDataNode reads the lines of the authentication and of the hello, and
// answers with the given text. It closes the connection where that is no whole
// answer.
func playDataNode(nc net.Conn, auth, hello string) (lines []string) {
	in := bufio.NewReader(nc)
	for _, step := range []struct {
		lines  int
		answer string
	}{{2, auth}, {1, hello}} {
		for range step.lines {
			line, err := in.ReadString('\n')
			if err != nil {
				return lines
			}
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		if step.answer == "" {
			break
		}
		if _, err := io.WriteString(nc, step.answer); err != nil {
			return lines
		}
	}
	if !strings.HasPrefix(hello, "2 1\n") && !strings.HasPrefix(hello, "3 1\n") {
		_ = nc.Close()
	}
	return lines
}

func TestDial_Answers(t *testing.T) {
	tests := []struct {
		name, auth, hello string
		want              error
	}{
		{"clear text", "Cleartext ok\n", "2 1\n", nil},
		{"old data node", "ok\n", "2 1\n", nil},
		{"requires TLS", "TLS required\n", "", ErrTLSRequired},
		{"not expected now", "Cleartext ok\n", "BYE\n", ErrNotExpected},
		{"does not like us", "Error\n", "", ErrHandshake},
		{"another node", "Cleartext ok\n", "3 1\n", ErrHandshake},
		{"another kind of transporter", "Cleartext ok\n", "2 3\n", ErrHandshake},
		{"endless line", strings.Repeat("x", 1000), "", ErrHandshake},
		{"ends in the first step", "", "", io.EOF},
		{"ends in the second step", "Cleartext ok\n", "", io.EOF},
		{"half a line", "Cleartext ok\n", "2 ", io.EOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dial, peer := pipeDialer(t)
			lines := make(chan []string)
			go func() { lines <- playDataNode(peer, test.auth, test.hello) }()
			c, err := Dial(t.Context(), dial, "x", testConfig(50, 2))
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
			if c != nil {
				c.Close()
			}
			sent := fmt.Sprint(<-lines)
			if want := "[ndbd TLS disabled  50 1 2 0]"; test.want == nil && sent != want {
				t.Errorf("sent %q, want %q", sent, want)
			}
			if err != nil && !strings.Contains(err.Error(), "node 2") {
				t.Errorf("error %q does not name the node", err)
			}
		})
	}
}

func TestDial_ConnectFails_ErrorIsTheCause(t *testing.T) {
	cause := errors.New("no route")
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, cause }
	if _, err := Dial(t.Context(), dial, "x", testConfig(50, 2)); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

func TestDial_SilentPeer_EachStepHasItsTime(t *testing.T) {
	for _, auth := range []string{"", "Cleartext ok\n"} {
		synctest.Test(t, func(t *testing.T) {
			dial, peer := pipeDialer(t)
			go func() {
				in := bufio.NewReader(peer)
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if line == "\n" && auth != "" {
						time.Sleep(2 * time.Second) // on the fake clock
						_, _ = io.WriteString(peer, auth)
					}
				}
			}()
			began := time.Now()
			_, err := Dial(t.Context(), dial, "x", testConfig(50, 2))
			want := DefaultStepTimeout
			if auth != "" {
				want += 2 * time.Second
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != want {
				t.Errorf("got %v after %v, want a timeout after %v", err, time.Since(began), want)
			}
		})
	}
}

func TestDial_ContextEnds_ConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, peer := pipeDialer(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = bufio.NewReader(peer).ReadString('\n')
			cancel()
		}()
		_, err := Dial(ctx, dial, "x", testConfig(50, 2))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if _, err := io.Copy(io.Discard, peer); err != nil {
			t.Errorf("the connection is not closed: %v", err)
		}
	})
}

func TestDial_SignalBehindTheHello_IsNotLost(t *testing.T) {
	dial, peer := pipeDialer(t)
	message := signal.AppendOutgoing(signal.Format{Checksum: true}, nil, signal.BlockAPI, &signal.TCSeizeReq{Pointer: 44})
	go playDataNode(peer, "ok\n", "2 1\n"+string(message))
	c, err := Dial(t.Context(), dial, "x", testConfig(50, 2))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := make(chan signal.GSN, 1)
	c.Start(func(m *signal.Message) { got <- m.GSN })
	if gsn := <-got; gsn != signal.GSNTCSeizeReq {
		t.Errorf("got %v", gsn)
	}
}

// dialog is one conversation of the captures with a data node.
type dialog struct {
	name    string
	client  []string
	server  []string // answers without their end of line
	refused bool     // the data node closed it in the end
}

// readDialogs reads the lines that look like
//
//	C: "text"
//	S: "text\n" <nil>
//
// in which the quotes may be missing.
func readDialogs(t *testing.T, file string) []dialog {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var dialogs []dialog
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		isDialog := strings.HasPrefix(trimmed, "C: ") || strings.HasPrefix(trimmed, "S: ") || strings.HasPrefix(trimmed, "end: ")
		if !isDialog {
			dialogs = append(dialogs, dialog{name: line})
			continue
		}
		d := &dialogs[len(dialogs)-1]
		kind, rest, _ := strings.Cut(trimmed, ": ")
		content, end := rest, ""
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			content, _ = strconv.Unquote(quoted)
			end = rest[len(quoted):]
		}
		switch {
		case kind == "C":
			d.client = append(d.client, content)
		case content != "":
			d.server = append(d.server, strings.TrimSuffix(content, "\n"))
		default:
			d.refused = strings.Contains(end, "EOF") || strings.Contains(end, "reset")
		}
	}
	return dialogs
}

func TestAccept_CapturedDialogs(t *testing.T) {
	for _, d := range readDialogs(t, "testdata/hello-variants.txt") {
		if len(d.client) == 0 {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			listener := Listener{Config: testConfig(2, 0)}
			switch {
			case strings.HasSuffix(d.client[2], " 1 3 0"):
				// The wrong data node was asked on purpose: its check must do.
			case strings.HasPrefix(d.client[2], "99 "):
				listener.Admit = func(signal.NodeID) Admission { return Refuse }
			case strings.HasPrefix(d.client[2], "58 "):
				listener.Admit = func(signal.NodeID) Admission { return NotNow }
			}
			type result struct {
				c   *ServerConn
				err error
			}
			results := make(chan result)
			go func() {
				c, err := listener.Accept(t.Context(), theirs)
				results <- result{c, err}
			}()
			go func() {
				for _, line := range d.client {
					_, _ = io.WriteString(ours, line+"\n")
				}
			}()
			in := bufio.NewReader(ours)
			for _, want := range d.server {
				got, err := in.ReadString('\n')
				if got != want+"\n" || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
			r := <-results
			if refused := r.err != nil; refused != d.refused {
				t.Errorf("refused: %v, %v, want %v", refused, r.err, d.refused)
			}
			if r.c != nil {
				if id := r.c.Peer(); !strings.HasPrefix(d.client[2], fmt.Sprintf("%d ", id)) {
					t.Errorf("got node %d from %q", id, d.client[2])
				}
				r.c.Close()
			}
			if _, err := in.ReadByte(); err == nil {
				t.Error("the connection is not closed")
			}
			_ = ours.Close()
		})
	}
}

// TestDial_CapturedDialog plays the data node with the answers of a real one.
func TestDial_CapturedDialog(t *testing.T) {
	text, err := os.ReadFile("testdata/hello.txt")
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for line := range strings.Lines(string(text)) {
		if answer, ok := strings.CutPrefix(line, "S: "); ok {
			answers = append(answers, answer)
		}
	}
	for i, node := range []signal.NodeID{2, 3} {
		dial, peer := pipeDialer(t)
		lines := make(chan []string)
		go func() { lines <- playDataNode(peer, answers[2*i], answers[2*i+1]) }()
		c, err := Dial(t.Context(), dial, "x", testConfig(50, node))
		if err != nil {
			t.Fatalf("node %d: %v", node, err)
		}
		c.Close()
		if sent, want := (<-lines)[2], fmt.Sprintf("C: 50 1 %d 0", node); !strings.Contains(string(text), want) || "C: "+sent != want {
			t.Errorf("node %d: sent %q, captured is %q", node, sent, want)
		}
	}
}

func TestAccept_RequiresTLS_ClientIsTold(t *testing.T) {
	dial, peer := pipeDialer(t)
	refused := make(chan error)
	go func() {
		_, err := Listener{Config: testConfig(2, 0), RequireTLS: true}.Accept(t.Context(), peer)
		refused <- err
	}()
	if _, err := Dial(t.Context(), dial, "x", testConfig(50, 2)); !errors.Is(err, ErrTLSRequired) {
		t.Errorf("got %v, want %v", err, ErrTLSRequired)
	}
	if err := <-refused; err == nil {
		t.Error("Accept took it")
	}
}

func TestAccept_BadHello_Refused(t *testing.T) {
	for _, hello := range []string{"", "50", "x 1 2 0", "0 1 2 0", "256 1 2 0", "-1 1 2 0", "50 2 2 0", "50 1 3 0", "50 1 2 0 0"} {
		if id, err := parseHello(hello, 2); err == nil {
			t.Errorf("%q: got node %d", hello, id)
		}
	}
}

// endlessConn answers with a text and then with nothing.
type endlessConn struct {
	net.Conn
	answers io.Reader
}

func (c endlessConn) Read(p []byte) (int, error) { return c.answers.Read(p) }
func (endlessConn) Write(p []byte) (int, error)  { return len(p), nil }
func (endlessConn) SetDeadline(time.Time) error  { return nil }
func (endlessConn) Close() error                 { return nil }

func FuzzHandshake(f *testing.F) {
	f.Add("Cleartext ok\n2 1\n")
	f.Add("ok\r\nBYE\n")
	f.Add("ndbd\n\n50 1 2 0\nrest")
	f.Fuzz(func(t *testing.T, text string) {
		nc := func() net.Conn { return endlessConn{answers: strings.NewReader(text)} }
		dial := func(context.Context, string, string) (net.Conn, error) { return nc(), nil }
		if c, err := Dial(t.Context(), dial, "x", testConfig(50, 2)); err == nil {
			c.Close()
		}
		if c, err := (Listener{Config: testConfig(2, 0)}).Accept(t.Context(), nc()); err == nil {
			c.Close()
		}
	})
}
