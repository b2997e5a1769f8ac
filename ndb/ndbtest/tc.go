package ndbtest

import (
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is the records of DBTC, the transaction coordinator:
//
//   - TCSEIZEREQ gives records of the instances in turn; the numbers of records
//     are unique within an instance only; 219 when a node has given all, 280 and
//     281 when the node or the cluster shuts down;
//   - TCRELEASEREQ takes a record back, and rolls back what is open on it; 229
//     for one that was given back before;
//   - signals for records that are not the sender's have no answer;
//   - records, and what is open on them, go with the link.

const (
	tcInstances    = 2
	firstTCPointer = 0x10

	codeNodeStopping   = 280
	codeClusterStops   = 281
	codeNoRecord       = 219
	codeReleasedBefore = 229
)

// tcInstance is one of a node's coordinators. Guarded by Cluster.mu.
type tcInstance struct {
	node    *dataNode
	number  int
	records map[uint32]*tcRecord
	last    uint32
}

func (tc *tcInstance) block() signal.Block { return signal.BlockDBTC.WithInstance(tc.number) }

// tcPointer names a record on a node.
type tcPointer struct {
	instance int
	pointer  uint32
}

// tcRecord is the right to run one transaction at a time.
type tcRecord struct {
	tc         *tcInstance
	link       *link
	pointer    uint32       // ours
	apiPointer uint32       // the API node's
	apiBlock   signal.Block // where the answers go

	tx    *tcTransaction // nil: none is open
	scan  *scan          // nil: it does not scan
	last  signal.TransID // of the transaction that ended last
	error uint32         // why that was aborted; 0: it was not
	told  bool           // the API node knows that it was
	owes  *marker        // of the last commit, not acknowledged
}

func (rec *tcRecord) send(s signal.Incoming) { rec.link.send(rec.tc.block(), rec.apiBlock, s) }

func (l *link) handleTC(m *signal.Message) {
	switch m.GSN {
	case signal.GSNTCSeizeReq:
		l.onTCSeizeReq(m)
	case signal.GSNTCReleaseReq:
		l.onTCReleaseReq(m)
	case signal.GSNTCKeyReq, signal.GSNTCIndxReq:
		l.onTCKeyReq(m)
	case signal.GSNTCCommitReq:
		l.onTCCommitReq(m)
	case signal.GSNTCRollbackReq:
		l.onTCRollbackReq(m)
	case signal.GSNTCCommitAck:
		l.onTCCommitAck(m)
	case signal.GSNTCHbRep:
		l.onTCHbRep(m)
	case signal.GSNScanTabReq:
		l.onScanTabReq(m)
	case signal.GSNScanNextReq:
		l.onScanNextReq(m)
	default:
		l.unknownSignal(m)
	}
}

func (l *link) onTCSeizeReq(m *signal.Message) {
	var req signal.TCSeizeReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	refuse := func(code uint32) {
		l.send(signal.BlockDBTC, req.Ref.Block(), &signal.TCSeizeRef{Pointer: req.Pointer, Error: code})
	}
	n := l.node
	count := 0
	for i := range n.instances {
		count += len(n.instances[i].records)
	}
	refused := n.cluster.refusal(l, "seize", nil)
	switch {
	case refused != 0:
		refuse(refused)
		return
	case req.Pointer&1 != 0:
		l.violates(m.GSN, "bit 0 of an API node's pointers is 0", effectMarkers, "pointer %#x", req.Pointer)
		return
	case req.Instance > tcInstances:
		l.violates(m.GSN, "a record is asked of an instance that there is", effectStops, "instance %d", req.Instance)
		return
	case n.level >= signal.StartLevelStopping1:
		refuse(n.stoppingCode())
		return
	case count >= n.cluster.opt.maxTransactions:
		refuse(codeNoRecord)
		return
	}
	instance := req.Instance
	if instance == 0 {
		n.lastTC = n.lastTC%tcInstances + 1
		instance = n.lastTC
	}
	rec := n.instances[instance-1].seize(l, &req)
	tc, _ := signal.NewTCRef(signal.NewBlockRef(rec.tc.block(), n.id))
	l.send(signal.BlockDBTC, req.Ref.Block(), &signal.TCSeizeConf{Pointer: req.Pointer, TCPointer: rec.pointer, TC: tc})
}

func (tc *tcInstance) seize(l *link, req *signal.TCSeizeReq) *tcRecord {
	if tc.last == 0 {
		tc.last = firstTCPointer
	}
	tc.last++
	rec := &tcRecord{
		tc: tc, link: l, pointer: tc.last, apiPointer: req.Pointer, apiBlock: req.Ref.Block(),
	}
	tc.records[rec.pointer] = rec
	l.records[tcPointer{tc.number, rec.pointer}] = rec
	return rec
}

// stoppingCode says why a node that is shutting down refuses.
func (n *dataNode) stoppingCode() uint32 {
	for _, other := range n.cluster.nodes {
		if other.started() && other.level < signal.StartLevelStopping1 {
			return codeNodeStopping
		}
	}
	return codeClusterStops
}

// record finds the record that m is for, by its first word. Nil means that it
// is not the sender's.
func (l *link) record(m *signal.Message) *tcRecord {
	if len(m.Data) < word.SizeBytes {
		return nil
	}
	return l.records[tcPointer{m.Receiver.Instance(), word.At(m.Data, 0)}]
}

func (l *link) onTCReleaseReq(m *signal.Message) {
	var req signal.TCReleaseReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	rec := l.record(m)
	if rec == nil {
		l.send(m.Receiver, req.Ref.Block(), &signal.TCReleaseRef{Pointer: req.Pointer, Error: codeReleasedBefore})
		return
	}
	rec.drop()
	l.send(m.Receiver, req.Ref.Block(), &signal.TCReleaseConf{Pointer: req.Pointer})
}

// drop ends a record and what is open on it.
func (rec *tcRecord) drop() {
	if rec.tx != nil {
		rec.tx.abort()
	}
	if rec.scan != nil {
		rec.scan.end()
	}
	delete(rec.tc.records, rec.pointer)
	delete(rec.link.records, tcPointer{rec.tc.number, rec.pointer})
}

// dropRecords ends the records of a link, and the markers of its commits.
func (l *link) dropRecords() {
	for _, rec := range l.records {
		rec.drop()
	}
	l.node.cluster.dropMarkers(l)
}
