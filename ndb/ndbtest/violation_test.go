package ndbtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// bareLink is a connection that sends any words, as no encoder does.
type bareLink struct {
	t  testing.TB
	nc net.Conn
	r  *bufio.Reader
}

func dialBare(t testing.TB, c *ndbtest.Cluster, id, node int) *bareLink {
	t.Helper()
	nc, err := c.Dial(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(c.Port(node))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	b := &bareLink{t: t, nc: nc, r: bufio.NewReader(nc)}
	b.write("ndbd TLS disabled\n\n")
	b.line("Cleartext ok\n")
	b.write(fmt.Sprintf("%d 1 %d 0\n", id, node))
	b.line(fmt.Sprintf("%d 1\n", node))
	return b
}

func (b *bareLink) write(text string) {
	if _, err := io.WriteString(b.nc, text); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bareLink) line(want string) {
	b.t.Helper()
	if got, err := b.r.ReadString('\n'); err != nil || got != want {
		b.t.Fatalf("got %q (%v), want %q", got, err, want)
	}
}

func (b *bareLink) send(gsn signal.GSN, receiver signal.Block, data []uint32, sections ...[]byte) {
	m := signal.Message{GSN: gsn, Sender: api, Receiver: receiver, Data: word.Append(nil, data...)}
	m.NumSections = copy(m.Sections[:], sections)
	b.write(string(signal.Format{SignalID: true}.Append(nil, &m)))
}

// message returns the bytes of the next message.
func (b *bareLink) message() []byte {
	b.t.Helper()
	head := make([]byte, word.SizeBytes)
	if _, err := io.ReadFull(b.r, head); err != nil {
		b.t.Fatal(err)
	}
	size := int(word.At(head, 0)>>8&0xffff) * word.SizeBytes
	message := append(head, make([]byte, size-len(head))...)
	if _, err := io.ReadFull(b.r, message[len(head):]); err != nil {
		b.t.Fatal(err)
	}
	return message
}

// read returns the data words of the next signal that is no announcement.
func (b *bareLink) read(want signal.GSN) []uint32 {
	b.t.Helper()
	for {
		m := b.next()
		var words []uint32
		err := signal.Unpack(&m, func(m *signal.Message) error {
			for i := range len(m.Data) / 4 {
				words = append(words, word.At(m.Data, i))
			}
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
		if m.GSN == want {
			return words
		}
	}
}

// awaitEnd returns when the data node has closed the connection.
func (b *bareLink) awaitEnd() { _, _ = io.Copy(io.Discard, b.r) }

func (b *bareLink) register() {
	b.send(signal.GSNAPIRegReq, signal.BlockQMGR, []uint32{0xfa2<<16 | rawNode, 0x090702, 0x090702})
	b.read(signal.GSNAPIRegConf)
}

// seize returns the pointer and the block of a record.
func (b *bareLink) seize(pointer uint32) (tcPointer uint32, tc signal.Block) {
	b.send(signal.GSNTCSeizeReq, signal.BlockDBTC, []uint32{pointer, 0x8000<<16 | rawNode, 0})
	conf := b.read(signal.GSNTCSeizeConf)
	return conf[1], signal.BlockRef(conf[2]).Block()
}

const (
	infoInsert = 0x840 // with start
	infoCommit = 0x010
	infoExec   = 0x400
	scanInfo   = 0x100a00 // a committed read, batches of 16
	noBuddy    = 0xffffffff
)

func TestViolations(t *testing.T) {
	const scanGSN, nextGSN = signal.GSNScanTabReq, signal.GSNScanNextReq
	key, insert := bigintKey(1), word.Append(nil, 8, 1, 0)
	receivers, nothing := word.Append(nil, 4, 8), word.Append(nil, 0, 0, 0, 0, 0)
	type state struct {
		*bareLink
		cluster           *ndbtest.Cluster
		tc                signal.Block
		record            uint32
		table, version    uint32
		ordered, version2 uint32
	}
	keyOp := func(s *state, record, table, info, trans uint32, sections ...[]byte) {
		s.send(signal.GSNTCKeyReq, s.tc, []uint32{record, 16, 0, table, info, s.version, trans, 1}, sections...)
	}
	scan := func(s *state, info, table, version uint32, attrInfo []byte, more ...uint32) {
		s.send(scanGSN, s.tc, append([]uint32{s.record, 0, info, table, version, 0xffff, 7, 1, noBuddy, 32768, info >> 16 & 0x3ff}, more...), receivers, attrInfo)
	}
	program := func(words ...uint32) []byte {
		return append(word.Append(nil, 0, uint32(len(words)), 0, 0, 0), word.Append(nil, words...)...)
	}
	for _, test := range []struct {
		name string
		do   func(s *state)
		want string // part of the rule
	}{
		{"commit without execute", func(s *state) { keyOp(s, s.record, s.table, infoInsert|infoCommit, 1, key, insert) }, "commit comes with execute"},
		{"table id beyond the pool", func(s *state) { keyOp(s, s.record, 4000, infoInsert|infoExec, 1, key, insert) }, "table ids are of the dictionary"},
		{"ordered index", func(s *state) { keyOp(s, s.record, s.ordered, infoInsert|infoExec, 1, key, insert) }, "not for ordered indexes"},
		{"no key section", func(s *state) { keyOp(s, s.record, s.table, infoInsert|infoExec, 1) }, "has a key section"},
		{"same transaction id twice", func(s *state) {
			other, tc := s.seize(0x2000)
			keyOp(s, s.record, s.table, infoInsert|infoExec, 1, key, insert)
			s.tc = tc
			keyOp(s, other, s.table, infoInsert|infoExec, 1, bigintKey(2), word.Append(nil, 8, 2, 0))
		}, "transaction ids are unique"},
		{"transaction id that is not acknowledged", func(s *state) {
			keyOp(s, s.record, s.table, infoInsert|infoExec|infoCommit, 1, key, insert)
			s.read(signal.GSNTCKeyConf)
			keyOp(s, s.record, s.table, infoInsert|infoExec|infoCommit, 1, key, insert)
		}, "transaction ids are unique"},
		{"commit that is not acknowledged", func(s *state) {
			keyOp(s, s.record, s.table, infoInsert|infoExec|infoCommit, 1, key, insert)
			s.read(signal.GSNTCKeyConf)
			keyOp(s, s.record, s.table, infoInsert|infoExec|infoCommit, 2, bigintKey(2), word.Append(nil, 8, 2, 0))
			s.read(signal.GSNTCKeyConf)
			_ = s.nc.Close()
		}, "every commit that has a marker is acknowledged"},
		{"start on an open transaction", func(s *state) {
			keyOp(s, s.record, s.table, infoInsert|infoExec, 1, key, insert)
			keyOp(s, s.record, s.table, infoInsert|infoExec, 1, key, insert)
		}, "one transaction at a time"},
		{"other transaction id", func(s *state) {
			keyOp(s, s.record, s.table, infoInsert|infoExec, 1, key, insert)
			keyOp(s, s.record, s.table, 0x40|infoExec, 2, key, insert)
		}, "one transaction at a time"},
		{"id beyond the schema file", func(s *state) {
			s.send(signal.GSNGetTabInfoReq, signal.BlockDBDICT, []uint32{4, 0x8000<<16 | rawNode, 2, 1000000, 0})
		}, "an id of the dictionary"},
		{"unknown signal", func(s *state) { s.send(700, signal.BlockDBDICT, []uint32{1, 2, 3}) }, "a block that knows it"},
		{"unknown block", func(s *state) { s.send(signal.GSNTCKeyReq, 0x1ff, []uint32{1, 2, 3}) }, "a block that knows it"},
		{"scan of a table with distribution key", func(s *state) { scan(s, scanInfo|1<<26, s.table, s.version, nothing, 0) }, "only ordered index scans"},
		{"scan without receivers", func(s *state) {
			s.send(scanGSN, s.tc, []uint32{s.record, 0, scanInfo, s.table, s.version, 0xffff, 7, 1, noBuddy, 32768, 16})
		}, "has its words and its receivers"},
		{"next batch without a scan", func(s *state) { s.send(nextGSN, s.tc, []uint32{s.record, 0, 7, 1, 0}) }, "while the record scans"},
		{"batch that was not delivered", func(s *state) {
			keyOp(s, s.record, s.table, infoInsert|infoExec|infoCommit, 1, key, insert)
			s.read(signal.GSNTCKeyConf)
			s.send(signal.GSNTCCommitAck, s.tc, []uint32{1, 1})
			scan(s, 0x10a00, s.table, s.version, nothing)
			s.read(signal.GSNScanTabConf)
			s.send(nextGSN, s.tc, []uint32{s.record, 0, 7, 1, 99})
		}, "was delivered, and is sent once"},
		{"constant whose length byte lies", func(s *state) {
			keyOp(s, s.record, s.table, infoInsert|infoExec|infoCommit, 1, key, word.Append(nil, 8, 1, 0, 1<<16|2, 0x4101))
			s.read(signal.GSNTCKeyConf)
			s.send(signal.GSNTCCommitAck, s.tc, []uint32{1, 1})
			// Jump over the refusal where column 1 is the constant.
			scan(s, scanInfo, s.table, s.version, program(4<<16|23, 1<<16|2, 0x41ff, 0x02720013, 0x12))
		}, "programs are well-formed"},
		{"heartbeat with bad byte order", func(s *state) { s.write(string(word.Append(nil, 0xffffffff, 1, 2, 3))) }, "messages are well-formed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := ndbtest.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.MustCreateTable(employeeTable)
			setup := newRawClient(t, c, 60)
			table, index := setup.table("ndbtest/def/employee"), setup.table("sys/def/7/PRIMARY")
			s := &state{
				bareLink: dialBare(t, c, rawNode, 2), cluster: c,
				table: table.ID, version: table.Version, ordered: index.ID, version2: index.Version,
			}
			s.register()
			s.record, s.tc = s.seize(0x1000)
			test.do(s)
			s.awaitEnd()
			c.Close() // waits for what was going on
			var v *ndbtest.Violation
			for _, err := range c.Violations() {
				if errors.As(err, &v) && strings.Contains(v.Rule, test.want) && v.APINode == rawNode {
					return
				}
			}
			t.Errorf("got %v, want a violation of %q", c.Violations(), test.want)
		})
	}
}

func TestUnregistered_SignalIsAViolation(t *testing.T) {
	c, err := ndbtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := dialBare(t, c, rawNode, 2)
	b.send(signal.GSNTCSeizeReq, signal.BlockDBTC, []uint32{4, 0x8000<<16 | rawNode, 0})
	b.awaitEnd()
	if got := c.Violations(); len(got) != 1 || !strings.Contains(got[0].Error(), "API_REGREQ") {
		t.Errorf("got %v", got)
	}
}

// What is harmless at a data node has a clean answer or none.
func TestHarmless_NoViolation(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	r := newRawClient(t, c, 60)
	table := r.table("ndbtest/def/employee")
	b := dialBare(t, c, rawNode, 2)
	b.register()
	record, tc := b.seize(0x1000)
	op := func(record, info, trans uint32, sections ...[]byte) {
		b.send(signal.GSNTCKeyReq, tc, []uint32{record, 16, 0, table.ID, info, table.Version, trans, 1}, sections...)
	}
	op(record+100, infoInsert|infoExec, 1, bigintKey(1), word.Append(nil, 8, 1, 0)) // not ours: no answer
	op(record, 0x40|infoExec, 2, bigintKey(1), word.Append(nil, 8, 1, 0))
	if got := b.read(signal.GSNTCRollbackRep)[3]; got != 202 {
		t.Errorf("no start: got %d, want 202", got)
	}
	op(record, infoInsert|infoExec, 3, nil)
	if got := b.read(signal.GSNTCRollbackRep)[3]; got != 208 {
		t.Errorf("empty key: got %d, want 208", got)
	}
	b.send(signal.GSNTCRollbackReq, tc, []uint32{record, 99, 1}) // another transaction: no answer
	b.send(signal.GSNTCRollbackReq, tc, []uint32{record, 3, 1})
	b.read(signal.GSNTCRollbackConf)
	b.send(signal.GSNGetTabInfoReq, signal.BlockDBDICT, []uint32{4, 0x8000<<16 | rawNode, 2, 100, 0})
	if got := b.read(signal.GSNGetTabInfoRef)[5]; got != 723 {
		t.Errorf("unused id: got %d, want 723", got)
	}
	b.send(signal.GSNGetTabInfoReq, signal.BlockDBDICT, []uint32{4, 0x8000<<16 | rawNode, 3, 4, 0}, []byte("abcd"))
	if got := b.read(signal.GSNGetTabInfoRef)[5]; got != 723 {
		t.Errorf("name without end: got %d, want 723", got)
	}
	b.send(signal.GSNTCReleaseReq, tc, []uint32{record, 0x8000<<16 | rawNode, 0x1000})
	b.read(signal.GSNTCReleaseConf)
	b.send(signal.GSNTCReleaseReq, tc, []uint32{record, 0x8000<<16 | rawNode, 0x1000})
	if got := b.read(signal.GSNTCReleaseRef)[1]; got != 229 {
		t.Errorf("second release: got %d, want 229", got)
	}
}
