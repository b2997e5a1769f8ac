package ndbtest

import (
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/program"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is scans as DBTC runs them:
//
//   - a scan has a record to itself, alone or beside the transaction of another
//     record of the same coordinator (its buddy), whose changes it sees and whose
//     locks are its own;
//   - each receiver gets one fragment at a time; those that are too many end at
//     once;
//   - SCAN_TABCONF ends a batch, with the pointer to ask for the next one with, or
//     without it when the receiver gets no more: at once where less than a batch
//     was left and nothing is locked. The last one says that the scan is over;
//   - SCAN_NEXTREQ lets go of the locks of its batches and begins the next, or
//     closes the scan. A pointer that was not delivered, or is there twice, stops
//     a real data node; so does a table scan with a distribution key. Without a
//     scan on the record the API node is dropped;
//   - refused at once: 285 for an id beyond the pool, 284, 241, 245 for too many
//     scans, 202 on a record with an open transaction. Later: 744, 4259 and 4110
//     for bounds, codes of programs, 274 for a lock that was waited for too long,
//     296 for an API node that does not go on, 270 for a node that has failed;
//     then the scan is to be closed.

const (
	codeNodeFailedScan = 270
	codeScanLockWait   = 274
	codeScanInactive   = 296
	codeTooManyScans   = 245
	codeBadTableID     = 285
)

// scan is a running scan. Guarded by Cluster.mu.
type scan struct {
	txn
	rec        *tcRecord
	buddy      *tcRecord // of the transaction that it belongs to; nil: it stands alone
	table      *table
	index      *orderedIndex
	ranges     []keyRange
	descending bool
	lockMode   lockMode
	keyInfo    bool
	readList   []byte
	program    []byte
	batchRows  int
	batchBytes int

	left      []*fragment // that no receiver has
	fragments []*fragmentScan
	failed    bool // and is to be closed
	idle      *timer
}

// Words of SCAN_TABREQ.
const (
	scanReqInfoWord  = 2
	scanReqTableWord = 3
	scanReqTransWord = 6
	scanReqWords     = 11
	scanRangeBit     = 1 << 15
	scanPrunedBit    = 1 << 26
)

func (l *link) onScanTabReq(m *signal.Message) {
	if len(m.Data) < scanReqWords*word.SizeBytes || m.NumSections == 0 {
		l.violates(m.GSN, "SCAN_TABREQ has its words and its receivers", effectStops, "%d bytes, %d sections", len(m.Data), m.NumSections)
		return
	}
	if info := word.At(m.Data, scanReqInfoWord); info&scanPrunedBit != 0 && info&scanRangeBit == 0 {
		l.violates(m.GSN, "only ordered index scans have a distribution key", effectStops, "table id %d", word.At(m.Data, scanReqTableWord))
		return
	}
	var req signal.ScanTabReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	rec := l.record(m)
	if rec == nil {
		return
	}
	if rec.scan != nil {
		rec.refuseScan(req.TransID, codeNoStart, false)
		return
	}
	s, code, ok := rec.newScan(&req)
	if !ok {
		return
	}
	if code != 0 {
		rec.refuseScan(req.TransID, code, false)
		return
	}
	s.begin(&req)
}

func (rec *tcRecord) refuseScan(id signal.TransID, code uint32, closeNeeded bool) {
	rec.send(&signal.ScanTabRef{Pointer: rec.apiPointer, TransID: id, Error: code, CloseNeeded: closeNeeded})
}

// newScan returns the scan, or the code that it is refused with. It is not ok
// where the request has broken a rule.
func (rec *tcRecord) newScan(req *signal.ScanTabReq) (s *scan, code uint32, ok bool) {
	c, n := rec.link.node.cluster, rec.link.node
	s = &scan{rec: rec, txn: txn{cluster: c, id: req.TransID, scans: true}}
	s.kill = func(uint32) { s.fail(codeScanLockWait) }
	id := req.Target.ID()
	desc := c.dictionary.description(id)
	if s.index = c.dictionary.ordered[id]; s.index != nil {
		s.table = s.index.base
	} else {
		s.table = c.dictionary.tables[id]
	}
	switch {
	case id >= maxTableID:
		return nil, codeBadTableID, true
	case desc == nil || req.Target.Index() != (s.index != nil):
		return nil, codeNoSuchTable, true
	case dictinfo.MajorVersion(desc.Version) != dictinfo.MajorVersion(req.Target.Version()):
		return nil, codeOtherVersion, true
	case n.level >= signal.StartLevelStopping1:
		return nil, n.stoppingCode(), true
	case c.singleUser != nil && c.singleUser != rec.link.api:
		return nil, codeSingleUserMode, true
	case n.scans >= c.opt.maxScans:
		return nil, codeTooManyScans, true
	case rec.tx != nil:
		return nil, codeNoStart, true
	}
	if code := c.refusal(rec.link, "scan", s.table); code != 0 {
		return nil, code, true
	}
	if req.InTransaction {
		s.buddy = rec.link.records[tcPointer{rec.tc.number, req.Buddy}]
		if s.buddy == nil || s.buddy == rec {
			rec.link.violates(signal.GSNScanTabReq, "a scan's buddy is a record of the same coordinator", effectStops, "pointer %#x", req.Buddy)
			return nil, 0, false
		}
	}
	if !rec.mayScan(s) {
		return nil, 0, false
	}
	s.lockMode = [...]lockMode{signal.ScanCommittedRead: lockNone, signal.ScanShared: lockShared, signal.ScanExclusive: lockExclusive}[req.Lock]
	s.keyInfo, s.descending = req.Flags&signal.ScanKeyInfo != 0, req.Flags&signal.ScanDescending != 0
	s.batchRows, s.batchBytes = req.BatchRows, int(req.BatchBytes)
	return s, 0, true
}

// mayScan checks that the transaction id belongs to nobody but the buddy.
func (rec *tcRecord) mayScan(s *scan) bool {
	c := rec.link.node.cluster
	l := c.live[s.id]
	switch {
	case l == nil && c.markers[s.id] == nil:
		return true
	case l != nil && s.buddy != nil && (l.main == s.buddy || l.buddy == s.buddy):
		return true
	}
	rec.link.violates(signal.GSNScanTabReq, transIDsAreUnique, effectStops, "%x is in use", s.id)
	return false
}

// begin starts the scan and reads the first batches.
func (s *scan) begin(req *signal.ScanTabReq) {
	c, rec := s.cluster, s.rec
	rec.scan, rec.last, rec.error, rec.told = s, s.id, 0, false
	c.addLive(s.id, func(l *liveTransaction) { l.scans++; l.buddy = s.buddy })
	rec.link.node.scans++
	var parts program.Interpreted
	if parts.Decode(req.AttrInfo) != nil {
		s.fail(codeBadAttrInfo)
		return
	}
	s.readList, s.program = slices.Clone(parts.InitialRead), slices.Clone(parts.Program)
	if s.index != nil {
		ranges, err := s.index.parseBounds(slices.Clone(req.Bounds))
		if err != nil {
			s.fail(err.code)
			return
		}
		s.ranges = ranges
	}
	s.left = slices.Clone(s.table.fragments)
	if hash, pruned := req.Target.Partition(); pruned {
		s.left = []*fragment{s.table.fragments[s.table.hashMap.Fragment(hash)]}
	}
	s.assign(req.Receivers)
}

// assign gives the receivers their fragments. What it begins goes on when all of
// them have theirs.
func (s *scan) assign(receivers []uint32) {
	var surplus []uint32
	for i, receiver := range receivers {
		if len(s.left) == 0 {
			surplus = receivers[i:]
			break
		}
		fs := &fragmentScan{scan: s, pointer: uint32(i), receiver: receiver}
		fs.nextFragment()
		s.fragments = append(s.fragments, fs)
	}
	if len(surplus) > 0 {
		conf := signal.ScanTabConf{Pointer: s.rec.apiPointer, TransID: s.id}
		for _, receiver := range surplus {
			conf.AddOp(receiver, signal.RNIL, 0, 0)
		}
		s.rec.send(&conf)
	}
	for _, fs := range s.fragments {
		fs.proceed()
	}
}

// batchDone tells of a batch that is out.
func (s *scan) batchDone(fs *fragmentScan) {
	// Locks stay as long as their batch does, so it is not the last word.
	fs.finished = fs.over && len(fs.held) == 0
	fs.delivered = !fs.finished
	conf := signal.ScanTabConf{Pointer: s.rec.apiPointer, TransID: s.id}
	pointer := fs.pointer
	if fs.finished {
		pointer = signal.RNIL
	}
	conf.AddOp(fs.receiver, pointer, uint32(fs.rows), uint32(fs.words))
	conf.EndOfData = !slices.ContainsFunc(s.fragments, func(fs *fragmentScan) bool { return !fs.finished })
	s.rec.send(&conf)
	if conf.EndOfData {
		s.end()
		return
	}
	s.touch()
}

// touch restarts the time that the API node may take.
func (s *scan) touch() {
	if s.idle != nil {
		s.idle.stop()
	}
	if s.cluster.opt.inactive > 0 {
		s.idle = s.cluster.after(s.cluster.opt.inactive, func() { s.fail(codeScanInactive) })
	}
}

// fail tells that the scan has failed. It waits to be closed.
func (s *scan) fail(code uint32) {
	if s.over {
		return
	}
	s.failed = true
	s.stopWork()
	s.rec.refuseScan(s.id, code, true)
}

// stopWork lets go of all that the scan has, but for its record.
func (s *scan) stopWork() {
	if s.idle != nil {
		s.idle.stop()
	}
	if !s.over {
		s.abort()
	}
}

// end ends the scan; its record is free.
func (s *scan) end() {
	s.stopWork()
	s.rec.scan = nil
	s.rec.link.node.scans--
	s.cluster.dropLive(s.id, func(l *liveTransaction) { l.scans-- })
}

// nodeFailed ends a scan that reads from a node that has failed.
func (s *scan) nodeFailed(n *dataNode) {
	for _, fs := range s.fragments {
		if fs.serving == n && !fs.finished {
			s.fail(codeNodeFailedScan)
			return
		}
	}
}

// servingNode is the node that reads a fragment.
func (s *scan) servingNode(f *fragment) *dataNode {
	own := s.rec.link.node
	if s.lockMode == lockNone && s.table.desc.ReadBackup && slices.Contains(f.replicas, own.id) {
		return own
	}
	if n := s.cluster.primary(f.replicas); n != nil {
		return n
	}
	return own
}

func (s *scan) linkTo(n *dataNode) *link {
	if l := s.rec.link.api.links[n.id]; l != nil && l.registered {
		return l
	}
	return s.rec.link
}

// Words of SCAN_NEXTREQ.
const (
	scanNextTransWord = 2
	scanNextWords     = 4
)

func (l *link) onScanNextReq(m *signal.Message) {
	rec := l.record(m)
	if rec == nil {
		return
	}
	if len(m.Data) < scanNextWords*word.SizeBytes || rec.scan == nil || rec.scan.id != transIDOf(m, scanNextTransWord) {
		l.violates(m.GSN, "the next batch is asked for while the record scans", effectEjected, "pointer %#x", rec.pointer)
		return
	}
	s := rec.scan
	pointers := m.Data[scanNextWords*word.SizeBytes:]
	if m.NumSections > 0 {
		pointers = m.Sections[0]
	}
	if word.At(m.Data, 1) == 1 {
		s.end()
		rec.send(&signal.ScanTabConf{Pointer: rec.apiPointer, TransID: s.id, EndOfData: true})
		return
	}
	if s.failed {
		return // the failure is on its way
	}
	var next []*fragmentScan
	for r := word.NewReader(pointers); r.Len() > 0; {
		fs := s.deliveredAs(r.Uint32())
		if fs == nil {
			l.violates(m.GSN, "each pointer of SCAN_NEXTREQ was delivered, and is sent once", effectStops, "pointers %x", pointers)
			return
		}
		fs.delivered = false
		next = append(next, fs)
	}
	s.touch()
	for _, fs := range next {
		if !s.over {
			fs.nextBatch()
		}
	}
}

func (s *scan) deliveredAs(pointer uint32) *fragmentScan {
	if int(pointer) >= len(s.fragments) || !s.fragments[pointer].delivered {
		return nil
	}
	return s.fragments[pointer]
}
