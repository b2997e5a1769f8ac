package transporter

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(peerEnv); kind != "" {
		runPeer(kind)
		return
	}
	goleak.VerifyTestMain(m)
}

func testConfig(own, peer signal.NodeID) Config {
	return Config{Own: own, Peer: peer, Format: signal.Format{SignalID: true}}
}

func testTC() signal.TCRef {
	tc, err := signal.NewTCRef(signal.NewBlockRef(signal.BlockDBTC.WithInstance(1), 2))
	if err != nil {
		panic(err)
	}
	return tc
}

// testRequest is a committed read that names its caller.
func testRequest(caller int) *signal.TCKeyReq {
	return &signal.TCKeyReq{
		TC:        testTC(),
		TCPointer: 7,
		OpPointer: uint32(caller) * 4,
		TableID:   7,
		Flags:     signal.FlagStart | signal.FlagCommit | signal.FlagExecute | signal.FlagDirty | signal.FlagSimple,
		TransID:   signal.TransID{Low: uint32(caller), High: 1},
	}
}
