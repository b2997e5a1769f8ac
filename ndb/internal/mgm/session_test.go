package mgm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// pipe gives out one end of an in-memory connection, and the other.
func pipe(t testing.TB) (DialFunc, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		_ = ours.Close()
		_ = theirs.Close()
	})
	return func(context.Context, string, string) (net.Conn, error) { return ours, nil }, theirs
}

func servers(t testing.TB, s string) Connectstring {
	t.Helper()
	cs, err := ParseConnectstring(s)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// open returns a session with the peer that serve plays. The end of serve is
// waited for.
func open(t testing.TB, serve func(nc net.Conn)) *Session {
	t.Helper()
	dial, peer := pipe(t)
	s, err := Dial(context.Background(), dial, servers(t, "mgm"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serve(peer)
	}()
	t.Cleanup(func() {
		s.Close()
		_ = peer.Close()
		<-ended
	})
	return s
}

// exchange is one request and its reply in a captured dialog.
type exchange struct{ request, reply string }

// readDialog reads lines "C: …" and "S: …". The place of the configuration is
// taken by a blob of the same size.
func readDialog(t testing.TB, name string) (exchanges []exchange) {
	t.Helper()
	for line := range strings.Lines(string(readFile(t, name))) {
		line = strings.TrimSuffix(line, "\n")
		side, text, _ := strings.Cut(line, ":")
		text = strings.TrimPrefix(text, " ")
		last := len(exchanges) - 1
		switch {
		case strings.HasPrefix(text, "<3464 bytes"):
			exchanges[last].reply += capturedSize(t)
		case side == "S":
			exchanges[last].reply += text + "\n"
		case last < 0 || exchanges[last].reply != "":
			exchanges = append(exchanges, exchange{request: text + "\n"})
		default:
			exchanges[last].request += text + "\n"
		}
	}
	return exchanges
}

// capturedSize is the golden configuration with a longer name, so that it is as
// long as the one of the dialog, which was not kept.
func capturedSize(t testing.TB) string {
	b := decodeBlob(t, readFile(t, "config-v2.bin"))
	for {
		reply := ConfigReply(b)
		if reply.Fields.Get("Content-Length") == "3464" {
			return reply.Body
		}
		if b.System.Entries[2].Text += "x"; len(b.System.Entries[2].Text) > 200 {
			t.Fatal("no blob has the captured size")
		}
	}
}

// TestSession_CapturedDialog checks what the client asks and understands against
// a real server's conversation.
func TestSession_CapturedDialog(t *testing.T) {
	type call func(ctx context.Context, s *Session) (any, error)
	calls := map[string]call{
		"get version\n\n": func(ctx context.Context, s *Session) (any, error) { return s.Version(ctx) },
		"get nodeid\n":    func(ctx context.Context, s *Session) (any, error) { return s.AllocNodeID(ctx, 50, "spike") },
		"get config_v2\n": func(ctx context.Context, s *Session) (any, error) {
			c, err := s.Config(ctx, 50)
			if err != nil {
				return nil, err
			}
			return len(c.ConnectionsOf(50)), nil
		},
		"get connection parameter\nnode1: 50\nnode2: 2\n": func(ctx context.Context, s *Session) (any, error) { return s.ServerPort(ctx, 50, 2) },
		"get connection parameter\nnode1: 50\nnode2: 3\n": func(ctx context.Context, s *Session) (any, error) { return s.ServerPort(ctx, 50, 3) },
		"get status\n": func(ctx context.Context, s *Session) (any, error) {
			nodes, err := s.Status(ctx)
			if err != nil {
				return nil, err
			}
			return fmt.Sprintf("%d %+v", len(nodes), nodes[1]), nil
		},
	}
	tests := []struct {
		file string
		want []string // result or error of each call
	}{
		{"mgm-dialog.txt", []string{
			"9.7.2", "50", "2",
			"Server port for 50 -> 2 is not marked as dynamic, value: 11871",
			"Server port for 50 -> 3 is not marked as dynamic, value: 11872",
			"14 {ID:3 Type:NDB Status:STARTED Version:9.7.2 MySQLVersion:9.7.2 StartPhase:0 DynamicID:2 NodeGroup:0 ConnectCount:0 Address:127.0.0.1}",
		}},
		{"mgm-dialog-dynamic-port.txt", []string{"44711", "Unable to find connection between nodes 50 -> 3"}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			dialog := readDialog(t, test.file)
			s := open(t, func(nc net.Conn) {
				for _, e := range dialog {
					if _, ok := find(calls, e.request); !ok {
						continue
					}
					request := make([]byte, len(e.request))
					if _, err := io.ReadFull(nc, request); err != nil || string(request) != e.request {
						t.Errorf("got request %q, %v, want %q", request, err, e.request)
						_ = nc.Close()
						return
					}
					_, _ = io.WriteString(nc, e.reply)
				}
			})
			var got []string
			for _, e := range dialog {
				if c, ok := find(calls, e.request); ok {
					result, err := c(t.Context(), s)
					var refused *Error
					switch {
					case errors.As(err, &refused):
						got = append(got, refused.Text)
					case err != nil:
						t.Fatalf("%q: %v", e.request, err)
					default:
						got = append(got, fmt.Sprint(result))
					}
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// find returns the value whose key begins the request.
func find[V any](m map[string]V, request string) (v V, ok bool) {
	for prefix, v := range m {
		if strings.HasPrefix(request, prefix) {
			return v, true
		}
	}
	return v, false
}

// answer plays a server that gives one reply to all requests.
func answer(reply string) func(net.Conn) {
	return func(nc net.Conn) {
		in := newLines(nc)
		for {
			if _, err := readRequest(in); err != nil {
				return
			}
			if _, err := io.WriteString(nc, reply); err != nil {
				return
			}
		}
	}
}

func TestAllocNodeID_Refused_ErrorTellsWhetherToRetry(t *testing.T) {
	tests := []struct {
		reply     string
		code      int
		text      string
		temporary bool
	}{
		{"get nodeid reply\nresult: Id 51 already allocated by another node.\nerror_code: 1101\n\n", 1101, "Id 51 already allocated by another node.", true},
		{"get nodeid reply\nresult: Cluster not ready for nodeid allocation.\nerror_code: 1101\n\n", 1101, "Cluster not ready for nodeid allocation.", true},
		{"get nodeid reply\nresult: No node defined with id=200 in config file.\nerror_code: 1102\n\n", 1102, "No node defined with id=200 in config file.", false},
		{"get nodeid reply\nresult:x\nerror_code:1103\n\n", 1103, "x", true},
		{"get nodeid reply\nresult: x\nerror_code: 1702\n\n", 1702, "x", false},
		{"get nodeid reply\nresult: x\nerror_code: 1703\n\n", 1703, "x", true},
		{"get nodeid reply\nresult: x\nerror_code: 1705\n\n", 1705, "x", true},
		{"get nodeid reply\nresult: x\n\n", 0, "x", true},
	}
	for _, test := range tests {
		s := open(t, answer(test.reply))
		for range 2 { // the session goes on
			_, err := s.AllocNodeID(t.Context(), 51, "test")
			var refused *Error
			if !errors.As(err, &refused) || *refused != (Error{test.code, test.text}) || Temporary(err) != test.temporary {
				t.Errorf("%q: got %v, temporary %v, want %v", test.reply, err, Temporary(err), test.temporary)
			}
		}
	}
}

func TestSession_ReplyMakesNoSense_ErrProtocol(t *testing.T) {
	tests := []struct{ name, reply string }{
		{"other header", "get config reply\n\n"},
		{"unknown command", "result: Unknown command, 'get version'\n\n\n"},
		{"unknown argument", "result: Unknown argument, 'foo'\n\n"},
		{"missing argument", "result: Missing arg., '\n'\n\n"},
		{"no fields", "version\n\n"},
		{"not a number", "version\nid: x\n\n"},
		{"line without a name", "version\nid\n\n"},
		{"endless line", "version\nid: " + strings.Repeat("1", 1000) + "\n\n"},
		{"endless lines", "version\n" + strings.Repeat("x: 1\n", maxLines) + "\n"},
		{"endless empty lines", strings.Repeat("\n", maxLines+1)},
	}
	for _, test := range tests {
		s := open(t, answer(test.reply))
		v, err := s.Version(t.Context())
		if !errors.Is(err, ErrProtocol) || Temporary(err) {
			t.Errorf("%s: got %v, %v, temporary %v, want %v", test.name, v, err, Temporary(err), ErrProtocol)
		}
	}
}

func TestSession_TLSRequired(t *testing.T) {
	s := open(t, answer("Authorization failed\nError: Requires TLS\n\n"))
	_, err := s.AllocNodeID(t.Context(), 0, "test")
	if !errors.Is(err, ErrTLSRequired) || Temporary(err) {
		t.Errorf("got %v, temporary %v, want %v", err, Temporary(err), ErrTLSRequired)
	}
}

func TestSession_EmptyLineBeforeReply_IsPassedOver(t *testing.T) {
	s := open(t, answer("\n\nversion\nid:591618\n\n"))
	for range 2 {
		if v, err := s.Version(t.Context()); err != nil || v != ThisVersion {
			t.Errorf("got %v, %v, want %v", v, err, ThisVersion)
		}
	}
}

func TestConfig_BadBody_IsAnError(t *testing.T) {
	head := func(length string) string { return "get config reply\nresult: Ok\nContent-Length: " + length + "\n\n" }
	tests := []struct {
		reply     string
		want      error
		temporary bool
	}{
		{head("8") + "AAAAAAA=\n", ErrConfig, false},
		{head("8") + "********\n", ErrConfig, false},
		{head("8") + "AAAAAAA=xxxx\n", ErrProtocol, false},
		{head("-1") + "\n", ErrProtocol, false},
		{head("99999999") + "\n", ErrProtocol, false},
		{head("") + "\n", ErrProtocol, false},
	}
	for _, test := range tests {
		s := open(t, answer(test.reply))
		if _, err := s.Config(t.Context(), 50); !errors.Is(err, test.want) || Temporary(err) != test.temporary {
			t.Errorf("%q: got %v, temporary %v, want %v", test.reply, err, Temporary(err), test.want)
		}
	}
	var refused *Error
	s := open(t, answer("get config reply\nresult: not now\n\n"))
	if _, err := s.Config(t.Context(), 50); !errors.As(err, &refused) || !Temporary(err) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestStatus_MakesNoSense_ErrProtocol(t *testing.T) {
	for _, lines := range []string{
		"nodes: 2\nnode.2.type: NDB", "nodes: 1\nnode.2.type: XXX", "nodes: 1\nnode.x.type: NDB", "nodes: 1\nnode.256.type: NDB",
		"nodes: 1\nnode.2.version: -1", "nodes: 256", "nodes: 1\nnode..type: NDB", "node.2.type: NDB",
		"nodes: 1\nnode.2.status: STARTED", "nodes: 1\nnode.2.type: NDB\nnode.2.type: NDB\nnode.2.status: STARTED",
		"nodes: 1\nnode.2.type: NDB\nnode.2.status:", "nodes: 1\nnode.2.type: NDB\nnode.2.status: STARTED\nnode.2.dynamic_id: x",
	} {
		s := open(t, answer("node status\n"+lines+"\n\n"))
		if got, err := s.Status(t.Context()); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: got %v, %v, want %v", lines, got, err, ErrProtocol)
		}
	}
}

func TestSession_ServerLeaves_TemporaryAndBroken(t *testing.T) {
	s := open(t, func(nc net.Conn) {
		in := newLines(nc)
		_, _ = readRequest(in)
		_, _ = io.WriteString(nc, "version\nid: 5916")
		_ = nc.Close()
	})
	for range 2 {
		if _, err := s.Version(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || !Temporary(err) {
			t.Errorf("got %v, temporary %v, want %v", err, Temporary(err), io.ErrUnexpectedEOF)
		}
	}
}

func TestSession_ServerSilent_EndsWithContextOrInTime(t *testing.T) {
	for _, limit := range []time.Duration{time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			_, err := s.Version(ctx)
			if want := min(limit, callTimeout); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != want {
				t.Errorf("got %v after %v, want the end after %v", err, time.Since(began), want)
			}
			if _, err := s.Version(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("afterwards: got %v, want it broken", err)
			}
		})
	}
}

func TestSession_NameWithNewline_IsNotSent(t *testing.T) {
	s := open(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
	for _, name := range []string{"a\nnodeid: 2", strings.Repeat("x", maxLineBytes)} {
		if _, err := s.AllocNodeID(t.Context(), 1, name); !errors.Is(err, ErrProtocol) {
			t.Errorf("got %v, want %v", err, ErrProtocol)
		}
	}
}

func TestDial_TriesServersInOrder_NextTimeTheNext(t *testing.T) {
	down := errors.New("down")
	var tried []string
	dial := func(_ context.Context, _, addr string) (net.Conn, error) {
		tried = append(tried, addr)
		if addr == "a:1186" {
			return nil, down
		}
		ours, theirs := net.Pipe()
		_ = theirs.Close()
		return ours, nil
	}
	cs := servers(t, "a,b,c")
	for range 3 {
		s, err := Dial(t.Context(), dial, cs)
		if err != nil {
			t.Fatal(err)
		}
		tried = append(tried, "ok "+s.Addr())
		s.Close()
	}
	want := []string{"a:1186", "b:1186", "ok b:1186", "c:1186", "ok c:1186", "a:1186", "b:1186", "ok b:1186"}
	if !slices.Equal(tried, want) {
		t.Errorf("got %q, want %q", tried, want)
	}
	_, err := Dial(t.Context(), dial, servers(t, "a"))
	if !errors.Is(err, down) || !Temporary(err) || !strings.Contains(err.Error(), "a:1186") {
		t.Errorf("got %v, temporary %v, want %v of a:1186", err, Temporary(err), down)
	}
	if _, err := Dial(t.Context(), dial, Connectstring{}); err == nil {
		t.Error("no servers: no error")
	}
}

func TestServe_ClientUnderstandsAll(t *testing.T) {
	config := testConfig()
	status := []NodeStatus{
		{ID: 2, Type: TypeData, Status: StatusStarted, Version: ThisVersion, MySQLVersion: ThisVersion, DynamicID: -1, NodeGroup: 1, Address: "10.0.0.1"},
		{ID: 255, Type: TypeAPI, Status: StatusNoContact, StartPhase: 3, ConnectCount: 4, Address: "0.0.0.0"},
	}
	handle := func(r *Request) *Reply {
		switch r.Command {
		case CommandVersion:
			return VersionReply(ThisVersion)
		case CommandNodeID:
			wanted, name, err := r.WantedNodeID()
			if err != nil || name != "test: 1" {
				return NodeIDRefusal(&Error{CodeNotConfigured, fmt.Sprintf("%s, %v", name, err)})
			}
			if wanted == 7 {
				return NodeIDRefusal(&Error{CodeNotNow, "taken"})
			}
			return NodeIDReply(max(wanted, 9))
		case CommandConfig:
			if id, err := r.ConfigNodeID(); id != 255 || err != nil {
				return nil
			}
			return ConfigReply(config.Blob())
		case CommandServerPort:
			own, dataNode, err := r.PortNodeIDs()
			if err != nil || own != 255 || dataNode > 3 {
				return PortRefusal("no such connection")
			}
			return PortReply(map[signal.NodeID]int{2: 40000}[dataNode])
		case CommandStatus:
			return StatusReply(status)
		default:
			return nil
		}
	}
	s := open(t, func(nc net.Conn) {
		if err := Serve(context.Background(), nc, handle); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	if v, err := s.Version(ctx); v != ThisVersion || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	var refused *Error
	for wanted, want := range map[signal.NodeID]signal.NodeID{0: 9, 50: 50} {
		if id, err := s.AllocNodeID(ctx, wanted, "test: 1"); id != want || err != nil {
			t.Errorf("got %d, %v, want %d", id, err, want)
		}
	}
	if id, err := s.AllocNodeID(ctx, 7, "test: 1"); !errors.As(err, &refused) || *refused != (Error{CodeNotNow, "taken"}) {
		t.Errorf("got %d, %v, want a refusal", id, err)
	}
	if c, err := s.Config(ctx, 255); err != nil || !reflect.DeepEqual(c, config) {
		t.Errorf("got %+v, %v, want %+v", c, err, config)
	}
	if port, err := s.ServerPort(ctx, 255, 2); port != 40000 || err != nil {
		t.Errorf("got port %d, %v", port, err)
	}
	for _, node := range []signal.NodeID{3, 4} { // not up, not there
		if port, err := s.ServerPort(ctx, 255, node); !errors.As(err, &refused) || !Temporary(err) {
			t.Errorf("node %d: got port %d, %v, want a refusal", node, port, err)
		}
	}
	if nodes, err := s.Status(ctx); err != nil || !slices.Equal(nodes, status) {
		t.Errorf("got %+v, %v, want %+v", nodes, err, status)
	}
	if _, err := s.Config(ctx, 1); !errors.Is(err, ErrProtocol) {
		t.Errorf("unknown command: got %v, want %v", err, ErrProtocol)
	}
}

func TestServe_TLSRequired_ClientIsTold(t *testing.T) {
	s := open(t, func(nc net.Conn) { _ = Serve(context.Background(), nc, func(*Request) *Reply { return TLSRequired() }) })
	if _, err := s.Status(t.Context()); !errors.Is(err, ErrTLSRequired) {
		t.Errorf("got %v, want %v", err, ErrTLSRequired)
	}
}

func TestServe_ContextEnds(t *testing.T) {
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- Serve(ctx, theirs, func(*Request) *Reply { return nil }) }()
	cancel()
	<-served
	if _, err := ours.Write([]byte("x")); err == nil {
		t.Error("the connection is not closed")
	}
}

func FuzzReply(f *testing.F) {
	f.Add("version\nid: 591618\n\n")
	f.Add("\nresult: Unknown command, 'x'\n\n")
	f.Add("get config reply\nresult: Ok\nContent-Length: 4\n\nAAAA\n")
	f.Add("node status\nnodes: 1\nnode.2.type: NDB\n\n")
	f.Add("get nodeid reply\nnodeid: 5\nresult: Ok\n\n")
	f.Add("get connection parameter reply\nvalue: -5\nresult: Ok\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, call := range []func(*Session) error{
			func(s *Session) error { _, err := s.Version(t.Context()); return err },
			func(s *Session) error { _, err := s.AllocNodeID(t.Context(), 1, "x"); return err },
			func(s *Session) error { _, err := s.Config(t.Context(), 1); return err },
			func(s *Session) error { _, err := s.ServerPort(t.Context(), 1, 2); return err },
			func(s *Session) error { _, err := s.Status(t.Context()); return err },
		} {
			nc := textConn{strings.NewReader(text)}
			_ = call(&Session{nc: nc, in: newLines(nc)})
		}
		_, _ = readRequest(newLines(strings.NewReader(text)))
	})
}

// textConn is a connection that gives a text and takes anything.
type textConn struct{ *strings.Reader }

func (textConn) Write(p []byte) (int, error)      { return len(p), nil }
func (textConn) Close() error                     { return nil }
func (textConn) LocalAddr() net.Addr              { return nil }
func (textConn) RemoteAddr() net.Addr             { return nil }
func (textConn) SetDeadline(time.Time) error      { return nil }
func (textConn) SetReadDeadline(time.Time) error  { return nil }
func (textConn) SetWriteDeadline(time.Time) error { return nil }
