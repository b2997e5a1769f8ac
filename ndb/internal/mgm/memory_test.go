package mgm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
)

// memoryDialog is a real server's conversation about memory.
func memoryDialog(t testing.TB) exchange {
	t.Helper()
	dialog := readDialog(t, "mgm-dialog-memory.txt")
	if len(dialog) != 1 {
		t.Fatalf("got %d exchanges, want 1", len(dialog))
	}
	return dialog[0]
}

var capturedMemory = []MemoryUse{
	{ID: 2, Data: Pages{57, 8178, 32768}, Index: Pages{14, 8135, 32768}},
	{ID: 3, Data: Pages{56, 8178, 32768}, Index: Pages{14, 8136, 32768}},
}

func TestMemoryUse_CapturedDialog(t *testing.T) {
	e := memoryDialog(t)
	s := open(t, func(nc net.Conn) {
		for range 2 {
			request := make([]byte, len(e.request))
			if _, err := io.ReadFull(nc, request); err != nil || string(request) != e.request {
				t.Errorf("got request %q, %v, want %q", request, err, e.request)
				_ = nc.Close()
				return
			}
			_, _ = io.WriteString(nc, e.reply)
		}
	})
	for range 2 { // the reply was read to its end
		if got, err := s.MemoryUse(t.Context()); err != nil || !slices.Equal(got, capturedMemory) {
			t.Errorf("got %+v, %v, want %+v", got, err, capturedMemory)
		}
	}
}

func TestMemoryUse_ReplyOfServe_IsUnderstood(t *testing.T) {
	known := true
	s := open(t, func(nc net.Conn) {
		err := Serve(context.Background(), nc, func(r *Request) *Reply {
			if r.Command != CommandEvents || !r.WantsMemoryUse() {
				return nil
			}
			if !known {
				return EventsRefusal("ndb_logevent_type 50 not supported")
			}
			return MemoryReply(capturedMemory)
		})
		if err != nil {
			t.Error(err)
		}
	})
	if got, err := s.MemoryUse(t.Context()); err != nil || !slices.Equal(got, capturedMemory) {
		t.Errorf("got %+v, %v, want %+v", got, err, capturedMemory)
	}
	known = false
	var refused *Error
	for range 2 { // the session goes on
		if got, err := s.MemoryUse(t.Context()); !errors.As(err, &refused) {
			t.Errorf("got %+v, %v, want a refusal", got, err)
		}
	}
}

func TestMemoryUse_NodeLostMeanwhile_IsLeftOut(t *testing.T) {
	reply := memoryDialog(t).reply
	reply = strings.Replace(reply, "events: 4", "events: 3", 1)
	end := strings.LastIndex(reply, headerEvent)
	s := open(t, answer(reply[:end]))
	if got, err := s.MemoryUse(t.Context()); err != nil || !slices.Equal(got, capturedMemory[1:]) {
		t.Errorf("got %+v, %v, want %+v", got, err, capturedMemory[1:])
	}
	s = open(t, answer("dump events reply\nresult: Ok\nevents: 0\n\n"))
	if got, err := s.MemoryUse(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("without data nodes: got %+v, %v, want nothing", got, err)
	}
}

func TestMemoryUse_MakesNoSense_ErrProtocol(t *testing.T) {
	good := memoryDialog(t).reply
	replaced := func(old, by string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("there is no %q in the captured reply", old)
		}
		return strings.Replace(good, old, by, 1)
	}
	tests := []struct{ name, reply string }{
		{"other header", replaced(headerEvents, "node status")},
		{"no number of events", replaced("events: 4\n", "")},
		{"negative number of events", replaced("events: 4", "events: -1")},
		{"too many events", replaced("events: 4", "events: 289")},
		{"header of no event", replaced(headerEvent, "log event")},
		{"other event", replaced("type=50", "type=51")},
		{"no type", replaced("type=50\n", "")},
		{"no node", replaced("source_nodeid=3\n", "")},
		{"node 0", replaced("source_nodeid=3", "source_nodeid=0")},
		{"node that is no data node", replaced("source_nodeid=3", "source_nodeid=145")},
		{"node twice", replaced("source_nodeid=3", "source_nodeid=2")},
		{"other block", replaced("block=249", "block=247")},
		{"no block", replaced("block=249\n", "")},
		{"block twice", replaced("block=249", "block=248")},
		{"used is negative", replaced("pages_used=56", "pages_used=-1")},
		{"used is no number", replaced("pages_used=56", "pages_used=many")},
		{"total too large", replaced("pages_total=8178", "pages_total=4294967296")},
		{"no total", replaced("pages_total=8178\n", "")},
		{"page of nothing", replaced("page_size_bytes=32768", "page_size_bytes=0")},
		{"page too large", replaced("page_size_bytes=32768", "page_size_bytes=1073741825")},
		{"line without a name", replaced("gth=0", "gth")},
		{"colon for an equals sign", replaced("gth=0", "gth: 0")},
		{"endless line", replaced("gth=0", "gth="+strings.Repeat("0", maxLineBytes))},
		{"endless event", replaced("gth=0\n", strings.Repeat("gth=0\n", maxLines))},
	}
	for _, test := range tests {
		s := open(t, answer(test.reply))
		got, err := s.MemoryUse(t.Context())
		if !errors.Is(err, ErrProtocol) || Temporary(err) || got != nil {
			t.Errorf("%s: got %+v, %v, temporary %v, want %v", test.name, got, err, Temporary(err), ErrProtocol)
		}
	}
}

func TestMemoryUse_CutOff_TemporaryAndBroken(t *testing.T) {
	e := memoryDialog(t)
	// Shorter ones are tested for all commands.
	for cut := strings.Index(e.reply, headerEvent); cut < len(e.reply); cut++ {
		s := &Session{nc: textConn{strings.NewReader(e.reply[:cut])}, in: newLines(strings.NewReader(e.reply[:cut]))}
		if got, err := s.MemoryUse(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || !Temporary(err) || got != nil {
			t.Fatalf("cut at %d: got %+v, %v, want %v", cut, got, err, io.ErrUnexpectedEOF)
		}
	}
}

func FuzzMemoryUse(f *testing.F) {
	f.Add(memoryDialog(f).reply)
	f.Add("dump events reply\nresult: no\n\n")
	f.Add("dump events reply\nresult: Ok\nevents: 1\n\nlog event reply\ntype=50\nsource_nodeid=2\nblock=248\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		nc := textConn{strings.NewReader(text)}
		nodes, err := (&Session{nc: nc, in: newLines(nc)}).MemoryUse(t.Context())
		if err != nil {
			return
		}
		reply := MemoryReply(nodes)
		again, err := appendText(nil, reply.Header, reply.Fields)
		if err != nil {
			t.Fatal(err)
		}
		nc = textConn{strings.NewReader(string(again) + reply.Body)}
		if got, err := (&Session{nc: nc, in: newLines(nc)}).MemoryUse(t.Context()); err != nil || !slices.Equal(got, nodes) {
			t.Errorf("got %+v, %v, want %+v", got, err, nodes)
		}
	})
}

func TestStatus_NodesOfARealServer(t *testing.T) {
	tests := []struct{ name, lines, want string }{
		{
			"killed", "node.2.type: NDB\nnode.2.status: NO_CONTACT\nnode.2.version: 0\nnode.2.mysql_version: 0\nnode.2.startphase: 0\n" +
				"node.2.dynamic_id: 0\nnode.2.node_group: 0\nnode.2.connect_count: 0\nnode.2.address: ",
			"{ID:2 Type:NDB Status:NO_CONTACT Version:0.0.0 MySQLVersion:0.0.0 StartPhase:0 DynamicID:0 NodeGroup:0 ConnectCount:0 Address:}",
		},
		{
			"just started", "node.2.type: NDB\nnode.2.status: NOT_STARTED\nnode.2.version: 591618\nnode.2.mysql_version: 591618\nnode.2.startphase: 0\n" +
				"node.2.dynamic_id: 0\nnode.2.node_group: -1\nnode.2.connect_count: 2\nnode.2.address: 127.0.0.1",
			"{ID:2 Type:NDB Status:NOT_STARTED Version:9.7.2 MySQLVersion:9.7.2 StartPhase:0 DynamicID:0 NodeGroup:-1 ConnectCount:2 Address:127.0.0.1}",
		},
		{
			"copies rows", "node.2.type: NDB\nnode.2.status: STARTING\nnode.2.version: 591618\nnode.2.mysql_version: 591618\nnode.2.startphase: 100\n" +
				"node.2.dynamic_id: 3\nnode.2.node_group: 0\nnode.2.connect_count: 2\nnode.2.address: 127.0.0.1\nnode.2.is_single_user: 0",
			"{ID:2 Type:NDB Status:STARTING Version:9.7.2 MySQLVersion:9.7.2 StartPhase:100 DynamicID:3 NodeGroup:0 ConnectCount:2 Address:127.0.0.1}",
		},
	}
	for _, test := range tests {
		s := open(t, answer("node status\nnodes: 1\n"+test.lines+"\n\n"))
		got, err := s.Status(t.Context())
		if err != nil || len(got) != 1 || fmt.Sprintf("%+v", got[0]) != test.want {
			t.Errorf("%s: got %+v, %v, want %s", test.name, got, err, test.want)
		}
	}
}
