package ndbtest

import (
	"errors"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// apiNode is an API node of the configuration. Guarded by Cluster.mu.
type apiNode struct {
	id       signal.NodeID
	links    map[signal.NodeID]*link // by data node
	arriving int                     // connections that shake hands
	reserved *timer                  // the ID was allocated and has no link yet
	closing  int                     // quarantines after links that were closed
}

// link is a connection of an API node to a data node. What is not said to be
// fixed is guarded by Cluster.mu.
type link struct {
	node *dataNode               // fixed
	api  *apiNode                // fixed
	conn *transporter.ServerConn // fixed

	down       bool // cut, or lost
	registered bool
	missed     int       // heartbeat intervals without a heartbeat
	heard      time.Time // of the last heartbeat
	records    map[tcPointer]*tcRecord
	fragmentID uint32
	stalled    chan struct{} // nothing is received or sent until it is closed; nil: no stall

	outbox   []*outgoing
	flushing bool // somebody sends what is in the outbox
}

// outgoing is a signal on its way to an API node.
type outgoing struct {
	message  signal.Message
	unhooked bool
	pieces   int     // of sections in words, for signals that are sent in fragments; 0: whole
	marker   *marker // of the commit that it tells of; may be nil
}

// receive is called by the link's reader for each signal. It holds no lock.
func (l *link) receive(m *signal.Message) {
	c := l.node.cluster
	l.awaitStall()
	switch d := l.decide(ToDataNode, m); {
	case d.drop:
		return
	case d.delay > 0:
		late := cloneMessage(m)
		c.do(func() { c.after(d.delay, func() { l.handle(&late) }) })
		return
	case d.double:
		c.do(func() { l.handle(m) })
	}
	c.do(func() { l.handle(m) })
}

// handle gives a signal to the block that it is for.
func (l *link) handle(m *signal.Message) {
	if l.down || l.node.diesOfSignal() {
		return
	}
	if m.Receiver == signal.BlockQMGR && m.GSN == signal.GSNAPIRegReq {
		l.onAPIRegReq(m)
		return
	}
	if !l.registered {
		l.violates(m.GSN, "nothing but API_REGREQ is sent before the first API_REGCONF", effectIgnored, "to block %#x", uint16(m.Receiver))
		return
	}
	switch {
	case m.Receiver.Main() == signal.BlockDBTC && m.Receiver.Instance() <= tcInstances:
		l.handleTC(m)
	case m.Receiver == signal.BlockDBDICT && m.GSN == signal.GSNGetTabInfoReq:
		l.onGetTabInfoReq(m)
	case m.Receiver == signal.BlockDBDICT && m.GSN == signal.GSNListTablesReq:
		l.onListTablesReq(m)
	case m.Receiver == signal.BlockDBDIH && m.GSN == signal.GSNWaitGCPReq:
		l.onWaitGCPReq(m)
	default:
		l.unknownSignal(m)
	}
}

func (l *link) unknownSignal(m *signal.Message) {
	l.violates(m.GSN, "a signal goes to a block that knows it", effectStops, "to block %#x", uint16(m.Receiver))
}

// malformed reports a signal that does not decode.
func (l *link) malformed(m *signal.Message, err error) {
	l.violates(m.GSN, "signals are as the protocol says", effectStops, "%v", err)
}

// cut closes the connection, and does at once what its loss means.
func (l *link) cut() {
	if l.down {
		return
	}
	l.lost()
	l.conn.Fail(errCut)
}

var errCut = errors.New("cut by the data node")

// ended is called when the connection is down and its reader has ended.
func (l *link) ended() {
	if err := l.conn.Err(); errors.Is(err, signal.ErrMessage) {
		l.violates(0, "messages are well-formed", effectDropped, "%v", err)
	}
	if !l.down {
		l.lost()
	}
}

// lost does what the end of a connection means: what was open over it is rolled
// back.
func (l *link) lost() {
	c := l.node.cluster
	l.down, l.outbox = true, nil
	delete(l.node.links, l.api.id)
	delete(l.api.links, l.node.id)
	l.dropRecords()
	l.node.dropWaiters(l)
	api := l.api
	api.closing++
	c.after(c.opt.quarantine, func() { api.closing-- })
}

// send queues a signal of the data node's block sender for the API node's block
// receiver.
func (l *link) send(sender, receiver signal.Block, s signal.Incoming) {
	l.enqueue(&outgoing{message: toMessage(sender, receiver, s)})
}

func (l *link) sendUnhooked(sender, receiver signal.Block, s signal.Incoming) {
	l.enqueue(&outgoing{message: toMessage(sender, receiver, s), unhooked: true})
}

func toMessage(sender, receiver signal.Block, s signal.Incoming) signal.Message {
	m := signal.Message{GSN: s.GSN(), Sender: sender, Receiver: receiver, Data: s.AppendTo(nil)}
	if carrier, ok := s.(signal.Sectioned); ok {
		m.NumSections = copy(m.Sections[:], carrier.Sections())
	}
	return m
}

func (l *link) enqueue(o *outgoing) {
	if l.down {
		return
	}
	if len(l.outbox) == 0 && !l.flushing {
		l.node.cluster.dirty = append(l.node.cluster.dirty, l)
	}
	l.outbox = append(l.outbox, o)
}

// flush sends what is in the outbox. One goroutine does it at a time, so that
// the order stays; a hook that makes more to send only adds to the outbox.
func (l *link) flush() {
	c := l.node.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.flushing {
		return
	}
	l.flushing = true
	for len(l.outbox) > 0 && l.stalled == nil {
		batch := l.outbox
		l.outbox = nil
		c.mu.Unlock()
		l.sendAll(batch)
		c.mu.Lock()
	}
	l.flushing = false
}

// sendAll asks the hooks and packs what fits into packed messages.
func (l *link) sendAll(batch []*outgoing) {
	var p packer
	for _, o := range batch {
		copies := 1
		if !o.unhooked {
			switch d := l.decide(ToAPINode, &o.message); {
			case d.drop:
				continue
			case d.delay > 0:
				c := l.node.cluster
				c.do(func() { c.after(d.delay, func() { l.enqueue(&outgoing{o.message, true, o.pieces, o.marker}) }) })
				continue
			case d.double:
				copies = 2
			}
		}
		for range copies {
			l.sendOne(o, &p)
		}
	}
	p.flush(l)
}

func (l *link) sendOne(o *outgoing, p *packer) {
	if o.marker != nil {
		o.marker.told.Store(true)
	}
	if o.pieces > 0 {
		p.flush(l)
		l.fragmentID++ // only who flushes uses it
		l.check(l.conn.SendFragments(&o.message, l.fragmentID, o.pieces))
		return
	}
	if p.add(l, &o.message) {
		return
	}
	p.flush(l)
	l.check(l.conn.SendMessage(&o.message))
}

// check gives up a link whose peer does not read.
func (l *link) check(err error) {
	if errors.Is(err, transporter.ErrQueueFull) {
		l.conn.Fail(err)
	}
}

// packer gathers signals for packed messages.
type packer struct {
	message signal.Message
}

// packable are the signals that data nodes pack.
func packable(gsn signal.GSN) bool {
	return gsn == signal.GSNTCKeyConf || gsn == signal.GSNTransIDAI
}

// add is false for what cannot be packed.
func (p *packer) add(l *link, m *signal.Message) bool {
	if !packable(m.GSN) || m.NumSections > 0 || len(m.Data) > (signal.MaxDataWords-1)*word.SizeBytes {
		return false
	}
	if p.message.GSN != m.GSN || p.message.Sender != m.Sender {
		p.flush(l)
	}
	data, fits := signal.AppendPacked(p.message.Data, m.Receiver, m.Data)
	if !fits {
		p.flush(l)
		data, _ = signal.AppendPacked(p.message.Data, m.Receiver, m.Data)
	}
	p.message = signal.Message{GSN: m.GSN, Sender: m.Sender, Receiver: signal.BlockPacked, Data: data}
	return true
}

func (p *packer) flush(l *link) {
	if len(p.message.Data) > 0 {
		l.check(l.conn.SendMessage(&p.message))
	}
	p.message = signal.Message{Data: p.message.Data[:0]}
}
