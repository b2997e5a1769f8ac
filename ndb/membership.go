package ndb

import (
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// membership is what one of our API nodes knows of the cluster.
type membership struct {
	client    *Client
	api       *apiNode
	takeovers *takeovers
	reserving chan struct{} // holds a token while one asks the management server for the ID

	mu          sync.Mutex // guards all below
	connections int        // to data nodes: as long as there is one, the ID is ours
	reservedAt  time.Time  // when a management server gave us the ID; zero once it was used up
}

// node returns the data node with that ID, or nil.
func (m *membership) node(id signal.NodeID) *dataNode {
	for _, n := range m.api.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (m *membership) wakeAll() {
	for _, n := range m.api.nodes {
		n.wakeUp()
	}
}

// deliver ends the transactions that the verdicts are about.
func (m *membership) deliver(verdicts []verdict) {
	for _, v := range verdicts {
		if v.code == 0 {
			m.api.takenOver(v.node)
		} else {
			m.api.verdictOverdue(v.node, v.code)
		}
	}
}

// receive is the handler of a link: it runs on its reader goroutine, and never
// waits. The signals of transactions may be about those of any link.
func (n *dataNode) receive(l *link, m *signal.Message) {
	if m.Receiver == signal.BlockCluster {
		n.receiveCluster(l, m)
		return
	}
	var err error
	switch m.GSN {
	case signal.GSNGetTabInfoConf, signal.GSNGetTabInfoRef, signal.GSNListTablesConf,
		signal.GSNWaitGCPConf, signal.GSNWaitGCPRef:
		n.member.client.replies.deliver(m)
	case signal.GSNScanTabConf, signal.GSNScanTabRef, signal.GSNKeyInfo20:
		err = l.receiveScan(m)
	default:
		err = l.receiveTC(m)
	}
	if err != nil {
		l.conn.Fail(err)
	}
}

// receiveCluster handles what a data node says about itself and the others.
// Signals that we do not know need no answer. ARBIT_STARTREQ and its like come
// only to API nodes with an ArbitrationRank, which Connect refuses to be.
func (n *dataNode) receiveCluster(l *link, m *signal.Message) {
	var err error
	switch m.GSN {
	case signal.GSNAPIRegConf:
		var s signal.APIRegConf
		if err = s.Decode(m); err == nil {
			n.answered(&s)
		}
	case signal.GSNAPIRegRef:
		var s signal.APIRegRef
		if err = s.Decode(m); err == nil {
			n.refuse(&refusal{n.id, s.Error})
		}
	case signal.GSNNodeFailRep:
		var s signal.NodeFailRep
		if err = s.Decode(m); err == nil {
			n.member.receiveFailed(n.id, s.Failed)
		}
	case signal.GSNTakeOverTCConf:
		var s signal.TakeOverTCConf
		if err = s.Decode(m); err == nil {
			n.member.receiveDecided(n.id, s.Failed, false)
		}
	case signal.GSNNFCompleteRep:
		var s signal.NFCompleteRep
		if err = s.Decode(m); err == nil && s.Block.Block().Main() == signal.BlockQMGR {
			n.member.receiveDecided(n.id, s.Failed, true)
		}
	case signal.GSNAlterTableRep:
		var s signal.AlterTableRep
		if err = s.Decode(m); err == nil {
			n.member.client.dict.altered(s.Name)
		}
	}
	switch {
	case err != nil && m.GSN == signal.GSNAPIRegConf:
		l.conn.Fail(err)
	case err != nil:
		// What another version says about failures is no reason to lose this node
		// as well; waiting for it ends by itself.
		n.member.client.cfg.Logger.Warn("a signal of a data node makes no sense", "node", int(n.id), "error", err)
	}
}

func (n *dataNode) answered(s *signal.APIRegConf) {
	n.mu.Lock()
	n.conf = *s
	n.answers++
	n.mu.Unlock()
	n.wakeUp()
}

func (n *dataNode) refuse(err error) {
	n.mu.Lock()
	n.refused = err
	n.mu.Unlock()
	n.wakeUp()
}

// news is what the reader has brought since the connection began.
func (n *dataNode) news() (conf signal.APIRegConf, answers uint64, refused error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conf, n.answers, n.refused
}

func (m *membership) receiveFailed(reporter signal.NodeID, failed signal.NodeSet) {
	for id := range failed.All() {
		if id != reporter && m.takeovers.reportFailed(id) {
			m.node(id).wakeUp()
		}
	}
}

func (m *membership) receiveDecided(reporter, failed signal.NodeID, completed bool) {
	verdicts, known := m.takeovers.reportDecided(reporter, failed, completed)
	m.deliver(verdicts)
	if known {
		m.node(failed).wakeUp()
	}
}
