package signal

import "testing"

func committedRead() *TCKeyReq {
	return &TCKeyReq{
		TC: testTC, TCPointer: 0x70, OpPointer: 0x1000, TableID: 7, TableVersion: 1, Operation: OpRead,
		Flags: FlagDirty | FlagSimple | FlagStart | FlagExecute | FlagCommit | FlagIgnoreError, TransID: testTransID,
	}
}

func rawMessage(gsn GSN, receiver Block, data []byte) []byte {
	return Format{SignalID: true}.Append(nil, &Message{GSN: gsn, Sender: testTC.Block(), Receiver: receiver, Data: data})
}

func rawTCKeyConf() []byte {
	conf := &TCKeyConf{Pointer: 0x1ffc, GCI: 1 << 32, Committed: true, Marker: true, TransID: testTransID}
	conf.AddOp(0x1000, CommittedReadLength(2))
	data, _ := AppendPacked(nil, BlockAPI, conf.AppendTo(nil))
	return rawMessage(GSNTCKeyConf, BlockPacked, data)
}

// receiver decodes as a link does: without a new handler for each message.
type receiver struct {
	m       Message
	keyConf TCKeyConf
	data    TransIDAI
	keyRef  TCKeyRef
	abort   TCRollbackRep
	scan    ScanTabConf
	handler func(m *Message) error
}

func newReceiver() *receiver {
	r := &receiver{}
	r.handler = r.handle
	return r
}

func (r *receiver) handle(m *Message) error {
	switch m.GSN {
	case GSNTCKeyConf:
		return r.keyConf.Decode(m)
	case GSNTransIDAI:
		return r.data.Decode(m)
	case GSNTCKeyRef:
		return r.keyRef.Decode(m)
	case GSNTCRollbackRep:
		return r.abort.Decode(m)
	case GSNScanTabConf:
		return r.scan.Decode(m)
	default:
		panic(m.GSN)
	}
}

func (r *receiver) receive(t testing.TB, raw []byte) {
	if _, err := Parse(raw, &r.m); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(&r.m, r.handler); err != nil {
		t.Fatal(err)
	}
}

func TestHotSignals_DoNotAllocate(t *testing.T) {
	buffer := make([]byte, 0, 4096)
	format := Format{SignalID: true, Checksum: true}
	key, attributes := numbered(2), numbered(1)
	read, ack := committedRead(), &TCCommitAck{TC: testTC, TransID: testTransID}
	r := newReceiver()
	keyConf := rawTCKeyConf()
	data := rawMessage(GSNTransIDAI, BlockAPI, (&TransIDAI{Attributes: numbered(20)}).AppendTo(nil))
	keyRef := rawMessage(GSNTCKeyRef, BlockAPI, (&TCKeyRef{}).AppendTo(nil))
	abort := rawMessage(GSNTCRollbackRep, BlockAPI, (&TCRollbackRep{}).AppendTo(nil))
	scan := rawMessage(GSNScanTabConf, BlockAPI, (&ScanTabConf{ops: numbered(6)}).AppendTo(nil))
	for name, run := range map[string]func(){
		"encode TCKEYREQ":      func() { AppendOutgoing(format, buffer, BlockAPI, read, key, attributes) },
		"encode TC_COMMIT_ACK": func() { AppendOutgoing(format, buffer, BlockAPI, ack) },
		"decode TCKEYCONF":     func() { r.receive(t, keyConf) },
		"decode TRANSID_AI":    func() { r.receive(t, data) },
		"decode TCKEYREF":      func() { r.receive(t, keyRef) },
		"decode TCROLLBACKREP": func() { r.receive(t, abort) },
		"decode SCAN_TABCONF":  func() { r.receive(t, scan) },
	} {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, run); got != 0 {
				t.Errorf("got %v allocations, want none", got)
			}
		})
	}
}

func BenchmarkAppendTCKeyReq(b *testing.B) {
	buffer := make([]byte, 0, 4096)
	key, attributes, read := numbered(2), numbered(1), committedRead()
	b.SetBytes(int64(len(AppendOutgoing(Format{SignalID: true}, buffer, BlockAPI, read, key, attributes))))
	b.ReportAllocs()
	for b.Loop() {
		AppendOutgoing(Format{SignalID: true}, buffer, BlockAPI, read, key, attributes)
	}
}

func BenchmarkParseTCKeyConf(b *testing.B) {
	raw, r := rawTCKeyConf(), newReceiver()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		r.receive(b, raw)
	}
}
