package ndb

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

func TestNode_StateChanges_AreTracedAndLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu    sync.Mutex // guards trace
			trace []NodeInfo
			log   bytes.Buffer
		)
		c := prepareTestCluster(t, Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Trace: &Trace{NodeChanged: func(i NodeInfo) {
				mu.Lock()
				defer mu.Unlock()
				trace = append(trace, i)
			}},
		}, 2)
		c.launch()
		synctest.Wait()
		c.nodes[2].setLevel(signal.StartLevelStopping1)
		synctest.Wait()
		c.nodes[2].kill()
		c.pass(5 * retryPause) // attempts that fail are not worth a line each
		c.Close()

		want := []NodeState{NodeRegistering, NodeStarted, NodeStopping, NodeDisconnected}
		if len(trace) != len(want) {
			t.Fatalf("got %+v, want the states %v", trace, want)
		}
		for i, info := range trace {
			if info.State != want[i] || info.Usable != (want[i] == NodeStarted) || info.ID != 2 || info.APINode != int(testAPINode) {
				t.Errorf("got %+v, want node 2 of API node 53 %v", info, want[i])
			}
		}
		if trace[3].LastError == nil {
			t.Error("got no reason for the lost link, want one")
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != len(want) || !strings.Contains(lines[2], "level=WARN") || !strings.Contains(lines[2], "state=stopping") ||
			!strings.Contains(lines[3], "error=") {
			t.Errorf("got the log\n%s\nwant %v, the third as a warning, the last with its reason", log.String(), want)
		}
	})
}

func TestNodeState_String(t *testing.T) {
	for state, want := range map[NodeState]string{NodeDisconnected: "disconnected", NodeStopping: "stopping", 99: "NodeState(99)"} {
		if got := state.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
