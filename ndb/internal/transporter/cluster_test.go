package transporter_test

import (
	"context"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

const connectstringVariable = "TEST_NDB_CONNECTSTRING"

// TestRealDataNodes_RegisterUs goes as far as the first answer, and leaves.
func TestRealDataNodes_RegisterUs(t *testing.T) {
	connectstring := os.Getenv(connectstringVariable)
	if connectstring == "" {
		t.Skip(connectstringVariable + " is not set: no cluster to connect to")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	servers, err := mgm.ParseConnectstring(connectstring)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mgm.Dial(ctx, new(net.Dialer).DialContext, servers)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	own, err := session.AllocNodeID(ctx, 0, "transporter test")
	if err != nil {
		t.Fatal(err)
	}
	config, err := session.Config(ctx, own)
	if err != nil {
		t.Fatal(err)
	}
	connections := config.ConnectionsOf(own)
	if len(connections) == 0 {
		t.Fatal("no connection with a data node")
	}
	for _, connection := range connections {
		port := connection.Port
		if port <= 0 {
			if port, err = session.ServerPort(ctx, own, connection.Peer); err != nil {
				t.Fatal(err)
			}
		}
		register(ctx, t, net.JoinHostPort(connection.Host, strconv.Itoa(port)), transporter.Config{
			Own:    own,
			Peer:   connection.Peer,
			Format: signal.Format{SignalID: connection.SignalID, Checksum: connection.Checksum},
		})
	}
}

func register(ctx context.Context, t *testing.T, addr string, cfg transporter.Config) {
	t.Helper()
	c, err := transporter.Dial(ctx, new(net.Dialer).DialContext, addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	// Not before the other data nodes are done: when one link of ours goes down,
	// they all end theirs.
	t.Cleanup(c.Close)
	conf := make(chan signal.APIRegConf, 1)
	c.Start(func(m *signal.Message) {
		var s signal.APIRegConf
		if m.GSN != signal.GSNAPIRegConf || len(conf) > 0 {
			return
		}
		if err := s.Decode(m); err != nil {
			c.Fail(err)
			return
		}
		conf <- s
	})
	if err := transporter.Send(c, signal.BlockCluster, &signal.APIRegReq{
		Ref:          signal.NewBlockRef(signal.BlockCluster, cfg.Own),
		Version:      uint32(mgm.ThisVersion),
		MySQLVersion: uint32(mgm.ThisVersion),
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-conf:
		if got.QMGR.Node() != cfg.Peer || got.StartLevel != signal.StartLevelStarted {
			t.Errorf("got %+v, want node %d started", got, cfg.Peer)
		}
	case <-c.Done():
		t.Error(c.Err())
	case <-ctx.Done():
		t.Errorf("no answer from node %d", cfg.Peer)
	}
}
