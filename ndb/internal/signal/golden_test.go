package signal

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// capture is one message as it was seen between an API node and a data node of
// version 9.7.2.
type capture struct {
	Name      string
	Direction string
	Meaning   string
	Hex       string
}

// captures calls use for every message of testdata/captures.
func captures(t testing.TB, use func(name string, fromAPI bool, raw []byte)) {
	t.Helper()
	files, err := filepath.Glob("testdata/captures/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []capture
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range list {
			raw, err := hex.DecodeString(c.Hex)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			use(filepath.Base(file)+" "+c.Name, c.Direction == "api->db", raw)
		}
	}
}

func TestCaptures_DecodeAndEncodeTheSame(t *testing.T) {
	count := 0
	captures(t, func(name string, fromAPI bool, raw []byte) {
		count++
		var m Message
		size, err := Parse(raw, &m)
		if err != nil || size != len(raw) {
			t.Fatalf("%s: got %d bytes, %v, want %d", name, size, err, len(raw))
		}
		testAppendAgain(t, name, fromAPI, raw, &m)
		if fromAPI {
			testOutgoingCapture(t, name, raw, &m)
			return
		}
		err = Unpack(&m, func(m *Message) error {
			testIncomingCapture(t, name, m)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	if count < 400 {
		t.Errorf("got %d messages, want all", count)
	}
}

// format is that of a captured message.
func format(raw []byte) Format {
	w := word.At(raw, 0)
	return Format{SignalID: w&signalIDBit != 0, Checksum: w&checksumBit != 0}
}

func testAppendAgain(t *testing.T, name string, fromAPI bool, raw []byte, m *Message) {
	t.Helper()
	encoded := format(raw).Append(nil, m)
	if fromAPI {
		if !bytes.Equal(encoded, raw) {
			t.Errorf("%s: got\n%x, want\n%x", name, encoded, raw)
		}
		return
	}
	// What a data node sends has a trace number and a signal id, too.
	var again Message
	if _, err := Parse(encoded, &again); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got, want := messageText(&again), messageText(m); got != want {
		t.Errorf("%s: got\n%s, want\n%s", name, got, want)
	}
}

func testOutgoingCapture(t *testing.T, name string, raw []byte, m *Message) {
	t.Helper()
	st, known := findSignalTest(m.GSN)
	if !known {
		if mayGo(m.GSN, m.Receiver) {
			t.Errorf("%s: may be sent and has no test", name)
		}
		return
	}
	tc, _ := NewTCRef(NewBlockRef(m.Receiver, 2))
	x := st.make(tc)
	if err := x.Decode(m); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	sections := m.Sections[:m.NumSections]
	if s, ok := x.(Sectioned); ok {
		sections = s.Sections()
	}
	if got := AppendOutgoing(format(raw), nil, m.Sender, x.(Outgoing), sections...); !bytes.Equal(got, raw) {
		t.Errorf("%s: got\n%x, want\n%x", name, got, raw)
	}
}

func testIncomingCapture(t *testing.T, name string, m *Message) {
	t.Helper()
	st, known := findSignalTest(m.GSN)
	if !known {
		return
	}
	x, err := st.decode(m)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var again Message
	if _, err := Parse(AppendIncoming(Format{}, nil, m.Sender, m.Receiver, x.(Incoming)), &again); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got, want := again, *m
	got.Data, want.Data = slices.Clone(got.Data), slices.Clone(want.Data)
	if info := word.At(want.Data, 2); m.GSN == GSNTCKeyConf && info&keyConfCommitted == 0 {
		word.Put(want.Data, 2, info&^keyConfMarker) // set without meaning
	}
	for _, i := range st.unknownWords {
		word.Put(got.Data, i, 0)
		word.Put(want.Data, i, 0)
	}
	if got, want := messageText(&got), messageText(&want); got != want {
		t.Errorf("%s: got\n%s, want\n%s", name, got, want)
	}
}

func TestCaptures_ValuesAreWhatWasMeant(t *testing.T) {
	decode := func(text string, x codec) {
		t.Helper()
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		var m Message
		if _, err := Parse(raw, &m); err != nil {
			t.Fatal(err)
		}
		if err := Unpack(&m, func(m *Message) error { return x.Decode(m) }); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, hex string
		x         codec
		want      codec
	}{
		{
			"API_REGCONF", "241a005801000000fc00a20ffb8003000200fc00020709009600000002070900020709000300000000000000ffffffff00000000000000000000000000000000ffffffff0e0000000000040000000000000000000000000000000000000000000000000002070900",
			&APIRegConf{},
			&APIRegConf{
				QMGR: NewBlockRef(BlockQMGR, 2), Version: 0x90702, Heartbeat: 1500e6, MySQLVersion: 0x90702, MinDBVersion: 0x90702, StartLevel: StartLevelStarted,
				DynamicID: 0xffffffff, Connected: NewNodeSet(1, 2, 3, 50), MinAPIVersion: 0x90702,
			},
		},
		{
			"NODE_FAILREP", "2409000c1a008004fc00a20f4f9304000200000002000000010000000100000008000000",
			&NodeFailRep{}, &NodeFailRep{FailureNumber: 2, Master: 2, Failed: NewNodeSet(3)},
		},
		{
			"NF_COMPLETEREP", "240900141b008000fc00a20fa00905000000fc00020000000300000000000000b42d0000",
			&NFCompleteRep{}, &NFCompleteRep{Block: NewBlockRef(BlockQMGR, 0), Reporting: 2, Failed: 3},
		},
		{
			"TAKE_OVERTCCONF", "2407000c8f018000fc00a20faaa30400030000000200fc0000000000",
			&TakeOverTCConf{}, &TakeOverTCConf{Failed: 3, Ref: NewBlockRef(BlockQMGR, 2)},
		},
		{
			"TCKEY_FAILCONF", "2407000c08008000f502008090970400457e0a00ed9e020000320000",
			&TCKeyFailConf{}, &TCKeyFailConf{OpPointer: 0xa7e44, Marker: true, TransID: TransID{0x29eed, 0x3200}},
		},
		{
			"SCAN_TABREF", "240900141f008000f502008075930400240000008f990200003200000e01000001000000",
			&ScanTabRef{}, &ScanTabRef{Pointer: 0x24, TransID: TransID{0x2998f, 0x3200}, Error: 270, CloseNeeded: true},
		},
		{
			"KEYINFO20", "240a001821000000f7020080546d020030000000010000000c0010000978dd89003200008a130000",
			&KeyInfo20{}, &KeyInfo20{Receiver: 0x30, ScanInfo: 0xc, Fragment: 1, TransID: TransID{0x89dd7809, 0x3200}, Key: []byte{0x8a, 0x13, 0, 0}},
		},
		{
			"TC_COMMITCONF", "2409001411000000f5020080420c06001d0000000978dd89003200002501000001000000",
			&TCCommitConf{}, &TCCommitConf{Pointer: 0x1c, Marker: true, TransID: TransID{0x89dd7809, 0x3200}, GCI: 0x12500000001},
		},
		{
			"packed TCKEYCONF", "300d00240a000000f502ff0705000080fc1f0000450100000100030008000000003200000010000000000000000000007a33fca3",
			&TCKeyConf{}, &TCKeyConf{Pointer: 0x1ffc, GCI: 0x14500000000, Committed: true, Marker: true, TransID: TransID{8, 0x3200}, ops: []byte{0, 0x10, 0, 0, 0, 0, 0, 0}},
		},
		{
			"WAIT_GCP_CONF", "24080010f5010000f60000808fbb050038000000fe0200000000000000000000",
			&WaitGCPConf{}, &WaitGCPConf{RequestID: 0x38, GCI: 0x2fe00000000},
		},
		{
			"ALTER_TABLE_REP", "2428000c5e020004fc00a20f65ed0400090000000400000001000000200000006e6462746573742f6465662f616c747400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
			&AlterTableRep{}, &AlterTableRep{TableID: 9, OldVersion: 4, Change: TableAltered, Name: "ndbtest/def/altt"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			decode(tt.hex, tt.x)
			if got, want := show(tt.x), show(tt.want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestKeyInfo20_TakeOverAsCaptured(t *testing.T) {
	// scan-takeover.json: the second row of fragment 0 and the row of fragment 1.
	for _, tt := range []struct {
		key                        KeyInfo20
		wantScanInfo, wantFragment uint32
	}{
		{KeyInfo20{ScanInfo: 0x10c, Fragment: 0}, 0x219, 0},
		{KeyInfo20{ScanInfo: 0xc, Fragment: 1}, 0x100019, 1},
	} {
		if scanInfo, fragment := tt.key.TakeOver(); scanInfo != tt.wantScanInfo || fragment != tt.wantFragment {
			t.Errorf("got %#x, %d, want %#x, %d", scanInfo, fragment, tt.wantScanInfo, tt.wantFragment)
		}
	}
}
