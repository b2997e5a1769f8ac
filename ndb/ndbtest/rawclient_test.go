package ndbtest_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// rawClient is an API node that sends what a test tells it to, and hands over
// what it gets, one signal at a time.
type rawClient struct {
	t       testing.TB
	cluster *ndbtest.Cluster
	id      signal.NodeID
	links   map[int]*transporter.Conn
	arrived chan *signal.Message

	mu        sync.Mutex // guards all below
	lastTrans uint32
}

const (
	rawNode    = 53
	waitForAll = 10 * time.Second
	api        = signal.BlockAPI
)

// newRawClient connects to all data nodes and registers.
func newRawClient(t testing.TB, c *ndbtest.Cluster, id int) *rawClient {
	t.Helper()
	r := &rawClient{t: t, cluster: c, id: signal.NodeID(id), links: map[int]*transporter.Conn{}, arrived: make(chan *signal.Message, 10000)}
	for _, node := range c.Nodes() {
		r.connect(node)
	}
	return r
}

func (r *rawClient) ref() signal.BlockRef { return signal.NewBlockRef(api, r.id) }

func (r *rawClient) dial(node int) (*transporter.Conn, error) {
	address := net.JoinHostPort("127.0.0.1", fmt.Sprint(r.cluster.Port(node)))
	cfg := transporter.Config{Own: r.id, Peer: signal.NodeID(node), Format: signal.Format{SignalID: true}}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return r.cluster.Dial(ctx, network, address)
	}
	return transporter.Dial(r.t.Context(), dial, address, cfg)
}

func (r *rawClient) connect(node int) {
	r.t.Helper()
	conn, err := r.dial(node)
	if err != nil {
		r.t.Fatal(err)
	}
	r.links[node] = conn
	r.t.Cleanup(conn.Close)
	conn.Start(func(m *signal.Message) {
		clone := *m
		clone.Data = append([]byte(nil), m.Data...)
		for i := range clone.Sections {
			clone.Sections[i] = append([]byte(nil), m.Sections[i]...)
		}
		r.arrived <- &clone
	})
	r.register(node)
	await[*signal.APIRegConf](r)
}

func (r *rawClient) register(node int) {
	send(r, node, signal.BlockCluster, &signal.APIRegReq{Ref: signal.NewBlockRef(signal.BlockCluster, r.id), Version: 0x090702, MySQLVersion: 0x090702})
}

func send[S signal.Outgoing](r *rawClient, node int, sender signal.Block, s S, sections ...[]byte) {
	r.t.Helper()
	if err := transporter.Send(r.links[node], sender, s, sections...); err != nil {
		r.t.Errorf("send: %v", err)
	}
}

// incoming is a signal that can be decoded.
type incoming interface {
	signal.Incoming
	Decode(*signal.Message) error
}

// next returns the next signal, passing over heartbeats and what is announced.
func (r *rawClient) next() *signal.Message {
	r.t.Helper()
	select {
	case m := <-r.arrived:
		return m
	case <-time.After(waitForAll):
		r.t.Fatal("no signal came")
		return nil
	}
}

// await returns the next signal, which must be an S.
func await[S interface {
	*T
	incoming
}, T any](r *rawClient) S {
	r.t.Helper()
	s := S(new(T))
	m := r.next()
	if err := s.Decode(m); err != nil || m.GSN != s.GSN() {
		r.t.Fatalf("got %v %x (%v), want %v", m.GSN, m.Data, err, s.GSN())
	}
	return s
}

// row awaits the row and the confirmation of a read, which come in any order.
func (r *rawClient) row() []byte {
	r.t.Helper()
	var ai signal.TransIDAI
	var conf signal.TCKeyConf
	for range 2 {
		m := r.next()
		if m.GSN == signal.GSNTransIDAI && ai.Decode(m) != nil || m.GSN == signal.GSNTCKeyConf && conf.Decode(m) != nil {
			r.t.Fatalf("got a malformed %v", m.GSN)
		}
	}
	if ai.Attributes == nil || conf.Len() != 1 {
		r.t.Fatalf("got row %x, confirmation %+v", ai.Attributes, conf)
	}
	return ai.Attributes
}

// rawRecord is a transaction record.
type rawRecord struct {
	*rawClient
	node      int
	pointer   uint32
	tc        signal.TCRef
	tcPointer uint32
	id        signal.TransID
	started   bool
}

func (r *rawClient) seize(node int, pointer uint32) *rawRecord {
	r.t.Helper()
	send(r, node, api, &signal.TCSeizeReq{Pointer: pointer, Ref: r.ref()})
	conf := await[*signal.TCSeizeConf](r)
	if conf.Pointer != pointer {
		r.t.Fatalf("got record %#x, want %#x", conf.Pointer, pointer)
	}
	return &rawRecord{rawClient: r, node: node, pointer: pointer, tc: conf.TC, tcPointer: conf.TCPointer}
}

// begin makes the next operation the first of a transaction.
func (rec *rawRecord) begin() signal.TransID {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.lastTrans++
	rec.id = signal.TransID{Low: rec.lastTrans, High: uint32(rec.rawClient.id) << 8}
	rec.started = false
	return rec.id
}

// op sends an operation; its number i becomes its pointer.
func (rec *rawRecord) op(i int, table *dictinfo.Table, operation signal.Operation, flags signal.KeyFlags, key, attrs []byte) {
	rec.t.Helper()
	if !rec.started {
		flags |= signal.FlagStart
		rec.started = true
	}
	req := signal.TCKeyReq{
		TC: rec.tc, TCPointer: rec.tcPointer, OpPointer: rec.pointer + uint32(i)*4, TableID: table.ID, TableVersion: table.Version,
		Operation: operation, Flags: flags, TransID: rec.id, UniqueIndex: table.Type == dictinfo.ObjectUniqueIndex,
	}
	if len(attrs) == 0 {
		send(rec.rawClient, rec.node, api, &req, key)
		return
	}
	send(rec.rawClient, rec.node, api, &req, key, attrs)
}

func (rec *rawRecord) ack() {
	send(rec.rawClient, rec.node, api, &signal.TCCommitAck{TC: rec.tc, TransID: rec.id})
}

const (
	execute       = signal.FlagExecute
	executeCommit = signal.FlagExecute | signal.FlagCommit
	ignoreError   = signal.FlagIgnoreError
	committedRead = signal.FlagDirty | signal.FlagSimple | signal.FlagIgnoreError
)

// table asks the dictionary.
func (r *rawClient) table(name string) *dictinfo.Table {
	r.t.Helper()
	req, err := signal.NewGetTabInfoByName(8, r.ref(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	send(r, r.cluster.Nodes()[0], api, req, req.Section())
	conf := await[*signal.GetTabInfoConf](r)
	desc, err := dictinfo.Decode(conf.Properties)
	if err != nil {
		r.t.Fatal(err)
	}
	return desc
}

func bigintKey(id int64) []byte { return word.Append(nil, uint32(id), uint32(id>>32)) }

// attrs are values of columns, by name.
func attrs(t testing.TB, table *dictinfo.Table, values ...any) []byte {
	t.Helper()
	var dst []byte
	for i := 0; i < len(values); i += 2 {
		c := table.ColumnByName(values[i].(string))
		var err error
		if dst, err = row.AppendValue(dst, row.FormAttr, c, values[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return dst
}

// readList asks for columns by name.
func readList(table *dictinfo.Table, names ...string) []byte {
	var dst []byte
	for _, name := range names {
		dst = row.AppendAttrHeader(dst, table.ColumnByName(name).ID, 0)
	}
	return dst
}
