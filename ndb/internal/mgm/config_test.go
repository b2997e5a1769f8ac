package mgm

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// The blobs of real management servers: one with all defaults and fixed ports,
// one of a config.ini that sets what it can.
var goldenBlobs = []string{"config-v2.bin", "config-tuned.bin"}

func decodeBlob(t testing.TB, src []byte) *Blob {
	t.Helper()
	var b Blob
	if err := b.Decode(src); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestBlob_Golden_EncodesToTheSame(t *testing.T) {
	for _, name := range goldenBlobs {
		golden := readFile(t, name)
		if got := decodeBlob(t, golden).AppendTo(nil); !slices.Equal(got, golden) {
			t.Errorf("%s: got\n%s", name, hex.Dump(got))
		}
	}
}

func TestBlob_Golden_Base64(t *testing.T) {
	reply := ConfigReply(decodeBlob(t, readFile(t, "config-v2.bin")))
	body, ended := strings.CutSuffix(reply.Body, "\n")
	if length := reply.Fields.Get("Content-Length"); length != strconv.Itoa(len(body)) || !ended {
		t.Errorf("got a length of %s, and %d bytes", length, len(body))
	}
	for line := range strings.Lines(body) {
		if n := len(strings.TrimSuffix(line, "\n")); n > base64Line || n < base64Line && strings.HasSuffix(line, "\n") {
			t.Errorf("got a line of %d bytes", n)
		}
	}
	golden := string(readFile(t, "config-v2.base64"))
	if got := strings.ReplaceAll(reply.Body, "\n", ""); got != strings.TrimSpace(golden) {
		t.Errorf("got\n%s", got)
	}
}

func TestConfig_Golden_Defaults(t *testing.T) {
	c, err := decodeBlob(t, readFile(t, "config-v2.bin")).Config()
	if err != nil {
		t.Fatal(err)
	}
	if c.SystemName != "MC_20261130103134" || len(c.Nodes) != 14 || len(c.Links) != 2 {
		t.Errorf("got %q, %d nodes, %d links", c.SystemName, len(c.Nodes), len(c.Links))
	}
	wantNodes := []Node{
		{ID: 1, Type: TypeMGM, Host: "127.0.0.1", ArbitrationRank: 1, Port: 11865},
		{ID: 2, Type: TypeData, Host: "127.0.0.1", DataNode: DataNodeConfig{
			HeartbeatInterval:              1500 * time.Millisecond,
			TransactionDeadlockDetection:   1200 * time.Millisecond,
			MaxConcurrentOperations:        32768,
			MaxDMLOperationsPerTransaction: 1<<32 - 1,
		}},
		{ID: 50, Type: TypeAPI, API: APINodeConfig{
			ScanBatchRows: 256, ScanBatchBytes: 16384, MaxScanBatchBytes: 262144, ConnectBackoffMax: 1500 * time.Millisecond,
		}},
	}
	for _, want := range wantNodes {
		if got, ok := c.Node(want.ID); !ok || got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	wantConnections := []Connection{
		{Peer: 2, Host: "127.0.0.1", Port: 11875, SignalID: true, SendBufferBytes: 2 << 20, ReceiveBufferBytes: 2 << 20},
		{Peer: 3, Host: "127.0.0.1", Port: 11876, SignalID: true, SendBufferBytes: 2 << 20, ReceiveBufferBytes: 2 << 20},
	}
	if got := c.ConnectionsOf(50); !slices.Equal(got, wantConnections) {
		t.Errorf("got %+v, want %+v", got, wantConnections)
	}
	if got := c.ConnectionsOf(51); len(got) != 0 {
		t.Errorf("node 51: got %+v, want nothing", got)
	}
}

func TestConfig_Golden_Tuned(t *testing.T) {
	c, err := decodeBlob(t, readFile(t, "config-tuned.bin")).Config()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.ArbitrationRank(53), 1; got != want {
		t.Errorf("arbitration rank: got %d, want %d", got, want)
	}
	if got := c.ArbitrationRank(54); got != 0 {
		t.Errorf("arbitration rank of another: got %d, want 0", got)
	}
	node, _ := c.Node(2)
	wantData := DataNodeConfig{
		HeartbeatInterval:              1500 * time.Millisecond,
		TransactionInactiveTimeout:     77777 * time.Millisecond,
		TransactionDeadlockDetection:   6666 * time.Millisecond,
		MaxConcurrentOperations:        111111,
		MaxDMLOperationsPerTransaction: 54321,
	}
	if node.DataNode != wantData {
		t.Errorf("got %+v, want %+v", node.DataNode, wantData)
	}
	own, _ := c.Node(53)
	if want := (APINodeConfig{ScanBatchRows: 222, ScanBatchBytes: 22222, MaxScanBatchBytes: 333333, ConnectBackoffMax: 4444 * time.Millisecond}); own.API != want {
		t.Errorf("got %+v, want %+v", own.API, want)
	}
	want := Connection{Peer: 2, Host: "127.0.0.1", Port: 0, SendBufferBytes: 3 << 20, ReceiveBufferBytes: 5 << 20}
	if got := c.ConnectionsOf(53); len(got) != 2 || got[0] != want {
		t.Errorf("got %+v, want first %+v", got, want)
	}
}

// testConfig has something in each field.
func testConfig() *Config {
	return &Config{
		SystemName: "test",
		Nodes: []Node{
			{ID: 1, Type: TypeMGM, Host: "m", ArbitrationRank: 2, Port: 77},
			{ID: 2, Type: TypeData, Host: "two", DataNode: DataNodeConfig{time.Second, 2 * time.Second, 3 * time.Second, 4, 5}},
			{ID: 255, Type: TypeAPI, ArbitrationRank: 1, API: APINodeConfig{1, 2, 3, time.Second}},
		},
		Links: []Link{
			{Node1: 255, Node2: 2, Host1: "a", Host2: "", Port: -77, Checksum: true, RequireTLS: true, SendBufferBytes: 1, ReceiveBufferBytes: 2},
			{Node1: 2, Node2: 255, Host1: "b", Host2: "c", Port: 78, SignalID: true, SendBufferBytes: 1, ReceiveBufferBytes: 2},
			{Node1: 255, Node2: 1, SendBufferBytes: 1, ReceiveBufferBytes: 2},
		},
	}
}

func TestConfig_RoundTrip(t *testing.T) {
	want := testConfig()
	got, err := decodeBlob(t, want.Blob().AppendTo(nil)).Config()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	wantConnections := []Connection{
		{Peer: 2, Host: "two", Port: -77, Checksum: true, RequireTLS: true, SendBufferBytes: 1, ReceiveBufferBytes: 2},
		{Peer: 2, Host: "b", Port: 78, SignalID: true, SendBufferBytes: 1, ReceiveBufferBytes: 2},
	}
	if got := got.ConnectionsOf(255); !slices.Equal(got, wantConnections) {
		t.Errorf("got %+v, want %+v", got, wantConnections)
	}
}

func TestConfig_ZeroSettings_TakeTheDefaults(t *testing.T) {
	c := &Config{Nodes: []Node{{ID: 2, Type: TypeData}, {ID: 3, Type: TypeAPI}}, Links: []Link{{Node1: 3, Node2: 2}}}
	got, err := decodeBlob(t, c.Blob().AppendTo(nil)).Config()
	if err != nil {
		t.Fatal(err)
	}
	golden, err := decodeBlob(t, readFile(t, "config-v2.bin")).Config()
	if err != nil {
		t.Fatal(err)
	}
	wantData, _ := golden.Node(2)
	wantAPI, _ := golden.Node(50)
	if got.Nodes[0].DataNode != wantData.DataNode || got.Nodes[1].API != wantAPI.API {
		t.Errorf("got %+v, want %+v and %+v", got.Nodes, wantData.DataNode, wantAPI.API)
	}
	if l := got.Links[0]; l.SendBufferBytes != golden.Links[0].SendBufferBytes || l.ReceiveBufferBytes != golden.Links[0].ReceiveBufferBytes {
		t.Errorf("got %+v, want the buffers of %+v", l, golden.Links[0])
	}
}

// resum makes the checksum right again.
func resum(blob []byte) []byte {
	sum := blobChecksum(blob[:len(blob)-wordBytes])
	binary.BigEndian.PutUint32(blob[len(blob)-wordBytes:], sum)
	return blob
}

func TestBlob_EveryPrefix_IsAnError(t *testing.T) {
	golden := testConfig().Blob().AppendTo(nil)
	for n := range golden {
		for _, prefix := range [][]byte{golden[:n], resum(append(slices.Clone(golden[:n/wordBytes*wordBytes]), 0, 0, 0, 0))} {
			var b Blob
			if err := b.Decode(prefix); !errors.Is(err, ErrConfig) {
				if len(prefix) == len(golden) {
					continue // that is all of it
				}
				t.Fatalf("%d bytes: got %v, want %v", len(prefix), err, ErrConfig)
			}
		}
	}
}

func TestBlob_OneWordChanged_NeverPasses(t *testing.T) {
	golden := readFile(t, "config-v2.bin")
	for i := range golden {
		changed := slices.Clone(golden)
		changed[i] ^= 0x10
		if err := new(Blob).Decode(changed); !errors.Is(err, ErrConfig) {
			t.Fatalf("byte %d: got %v, want %v", i, err, ErrConfig)
		}
	}
}

func TestBlobConfig_Wrong_IsAnError(t *testing.T) {
	tests := map[string]func(*Blob){
		"node without id":   func(b *Blob) { b.Nodes[1].Entries = b.Nodes[1].Entries[1:] },
		"node id too large": func(b *Blob) { b.Nodes[1].Entries[0].Number = 256 },
		"node stands twice": func(b *Blob) { b.Nodes[1].Entries[0].Number = 1 },
		"host is a number":  func(b *Blob) { b.Nodes[1].Entries[1] = number(keyHostName, 5) },
		"heartbeat is a text": func(b *Blob) {
			b.Nodes[1].Entries = append(b.Nodes[1].Entries[:2], text(keyHeartbeatIntervalDBAPI, "x"))
		},
		"node of no type":       func(b *Blob) { b.Nodes[1].Type = SectionTCP },
		"link without node":     func(b *Blob) { b.Connections[0].Entries = b.Connections[0].Entries[1:] },
		"port too large":        func(b *Blob) { b.Connections[0].Entries[4].Number = 65536 },
		"system name: a number": func(b *Blob) { b.System.Entries[0] = number(keySystemName, 5) },
	}
	for name, change := range tests {
		b := testConfig().Blob()
		change(b)
		if c, err := b.Config(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %+v, %v, want %v", name, c, err, ErrConfig)
		}
	}
}

func FuzzBlob(f *testing.F) {
	for _, name := range goldenBlobs {
		f.Add(readFile(f, name))
	}
	f.Add(testConfig().Blob().AppendTo(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) >= wordBytes {
			src = resum(slices.Clone(src)) // or the checksum keeps the fuzzer out
		}
		var b Blob
		if b.Decode(src) != nil {
			return
		}
		var again Blob
		if err := again.Decode(b.AppendTo(nil)); err != nil || !reflect.DeepEqual(again, b) {
			t.Fatalf("got %+v, %v, want %+v", again, err, b)
		}
		c, err := b.Config()
		if err != nil {
			return
		}
		for id := range 256 {
			c.ConnectionsOf(signal.NodeID(id))
		}
		b2 := c.Blob()
		if err := again.Decode(b2.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
	})
}
