package ndb

import (
	"context"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// phase is where a transaction record stands.
type phase uint8

const (
	phaseFree      phase = iota // seized, no transaction
	phaseSeizing                // TCSEIZEREQ is out
	phaseOpen                   // a transaction, nothing in flight
	phaseExecuting              // a batch is in flight
	phaseEnding                 // TC_COMMITREQ or TCROLLBACKREQ is out
	phaseScanning               // it runs a scan, and belongs to that
)

// txRecord is a transaction record of a coordinator: the right to run one
// transaction at a time over one link. A caller owns it between acquire and
// release; meanwhile reader goroutines of all links bring its answers.
//
// A caller that leaves before the end abandons it. Then it belongs to nobody
// until the cluster has said what became of the transaction, and goes back to
// the link by itself.
type txRecord struct {
	link  *link
	index uint32
	ready chan struct{} // one token when what the caller waits for is over

	// The owner's alone.
	fresh   bool       // it was seized just now
	started bool       // the transaction's first operation was sent
	item    *batchItem // what a Batch runs on it

	mu        sync.Mutex // guards all below
	tc        signal.TCRef
	tcPointer uint32
	phase     phase
	transID   signal.TransID
	ops       []opState // of the batch in flight
	waiting   int       // operations of it that are not complete
	commit    bool      // the batch asks for the commit
	writes    bool      // the transaction has written, or may have
	committed bool
	gci       uint64
	err       *Error
	aborted   *Error // why the cluster has ended the open transaction, which its owner has still to learn
	abandoned bool
	since     time.Time        // when it was abandoned
	orphaned  bool             // the link is lost, the verdict is not in yet
	sink      chan<- *txRecord // takes the record when it is over, in place of ready; has room for it
	slot      *admission       // given back when the transaction is over
	scan      *scanState       // that runs; else nil
}

// opState is what a record knows of one operation in flight.
type opState struct {
	op        *Operation // nil once the caller has left
	dirty     bool       // a committed read: its answer comes apart from TCKEYCONF
	reads     bool
	confirmed bool
	refused   bool
	complete  bool
	answered  bool // TRANSID_AI came
	wantWords uint32
	gotWords  uint32
	readNode  signal.NodeID // where a committed read is served
}

func newTxRecord(l *link, index uint32) *txRecord {
	return &txRecord{link: l, index: index, ready: make(chan struct{}, 1)}
}

// pointer is what names operation i of the record in signals.
func (rec *txRecord) pointer(i int) uint32 {
	return rec.index<<recordShift | uint32(i)<<operationShift
}

func operationOf(pointer uint32) int { return int(pointer >> operationShift & maxBatchOps) }

func (rec *txRecord) beginSeize() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.phase = phaseSeizing
}

// begin starts a transaction on a free record.
func (rec *txRecord) begin(id signal.TransID, slot *admission) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.transID, rec.slot = id, slot
	rec.started = false
	rec.writes, rec.committed, rec.abandoned = false, false, false
	rec.err, rec.aborted, rec.gci, rec.sink = nil, nil, 0, nil
	rec.phase = phaseOpen
}

// execute sends a batch: all operations, then, with commit, the end of the
// transaction in the same train. The answer comes through wait. An error says
// that nothing was sent.
func (rec *txRecord) execute(ops []*Operation, commit bool) error {
	if err := rec.prepare(ops, commit); err != nil {
		return err
	}
	first := !rec.started
	rec.started = true
	var err error
	if len(ops) == 1 {
		err = rec.sendOne(ops[0], first, commit)
	} else {
		err = rec.sendMany(ops, first, commit)
	}
	if err == nil {
		return nil
	}
	rec.started = !first
	return rec.unsent(err)
}

func (rec *txRecord) prepare(ops []*Operation, commit bool) error {
	epoch := rec.link.api.client.cluster.epoch.Load()
	for _, op := range ops {
		if op.version.epoch != epoch {
			return errOtherCluster()
		}
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if over := rec.overAlready(); over != nil {
		return over
	}
	rec.ops = rec.ops[:0]
	for _, op := range ops {
		rec.ops = append(rec.ops, opState{op: op, dirty: op.committedRead(), reads: op.row != nil})
		rec.writes = rec.writes || op.kind.writes()
	}
	rec.waiting, rec.commit, rec.phase = len(ops), commit, phaseExecuting
	rec.link.api.client.operations.Add(uint64(len(ops)))
	return nil
}

// unsent takes back what was prepared, where it did not leave: the coordinator
// knows no more than before it.
func (rec *txRecord) unsent(cause error) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	select {
	case <-rec.ready: // The link was lost, which has ended it.
	default:
		rec.phase, rec.waiting, rec.ops = phaseOpen, 0, rec.ops[:0]
	}
	rec.err = nil
	return notSent(cause)
}

// The flags of the operation's place: the first of a transaction starts it, the
// last of a batch executes it, perhaps with the commit.
func placeFlags(first, last, commit bool) signal.KeyFlags {
	var flags signal.KeyFlags
	if first {
		flags |= signal.FlagStart
	}
	if last {
		flags |= signal.FlagExecute
	}
	if last && commit {
		flags |= signal.FlagCommit
	}
	return flags
}

func (rec *txRecord) sendOne(op *Operation, first, commit bool) error {
	req := op.request(rec, 0)
	req.Flags |= placeFlags(first, true, commit)
	if len(op.attrInfo) == 0 {
		return transporter.Send(rec.link.conn, signal.BlockAPI, &req, op.keyInfo)
	}
	return transporter.Send(rec.link.conn, signal.BlockAPI, &req, op.keyInfo, op.attrInfo)
}

func (rec *txRecord) sendMany(ops []*Operation, first, commit bool) error {
	var train transporter.Batch
	train.Reset(rec.link.conn)
	for i, op := range ops {
		req := op.request(rec, i)
		req.Flags |= placeFlags(first && i == 0, i == len(ops)-1, commit)
		if len(op.attrInfo) == 0 {
			transporter.Append(&train, signal.BlockAPI, &req, op.keyInfo)
			continue
		}
		transporter.Append(&train, signal.BlockAPI, &req, op.keyInfo, op.attrInfo)
	}
	return train.Send()
}

// wait returns when the batch, the seizing or the ending is over, or the
// context ends: then it abandons the record, which the caller must not touch
// again, and says so.
func (rec *txRecord) wait(ctx context.Context) (abandoned bool, err error) {
	select {
	case <-rec.ready:
		rec.mu.Lock()
		defer rec.mu.Unlock()
		return false, rec.result()
	case <-ctx.Done():
		return rec.abandon(ctx.Err())
	}
}

// result is the error of what has just ended, as a plain nil where there is
// none.
func (rec *txRecord) result() error {
	if rec.err != nil {
		return rec.err
	}
	return nil
}

// abandon leaves the record to itself. It returns the result where that has
// come in the meantime.
func (rec *txRecord) abandon(cause error) (abandoned bool, err error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	select {
	case <-rec.ready:
		return false, rec.result()
	default:
	}
	return true, rec.giveUp(cause)
}

// giveUp abandons a record with something in flight, and says what the caller
// can know of it. Called with the lock held.
func (rec *txRecord) giveUp(cause error) error {
	rec.abandoned, rec.since, rec.sink = true, time.Now(), nil
	for i := range rec.ops {
		rec.ops[i].op = nil // The caller's memory is no longer ours.
	}
	asked := rec.commit && (rec.phase == phaseExecuting || rec.phase == phaseEnding)
	if rec.phase == phaseExecuting {
		rec.sendRollback()
	}
	switch {
	case rec.committed:
		return &Error{Code: 4115, Status: StatusCommitted, Classification: ClassNodeRecovery, Cause: cause}
	case asked && rec.writes:
		return unknownOutcome(4012, cause)
	default:
		return &Error{Status: StatusTemporary, Classification: ClassTimeout, Cause: cause}
	}
}

// leave is called by the owner of a record with nothing in flight: an open
// transaction is rolled back in the background. The caller must not touch the
// record again.
func (rec *txRecord) leave() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.phase == phaseFree || !rec.started || rec.overAlready() != nil {
		rec.free()
		return
	}
	rec.abandoned, rec.since, rec.phase, rec.commit = true, time.Now(), phaseEnding, false
	rec.sendRollback()
}

// overAlready is why an open transaction has ended without its owner. Called
// with the lock held.
func (rec *txRecord) overAlready() *Error {
	if rec.orphaned {
		return classify(4010)
	}
	return rec.aborted
}

// sendRollback asks for the rollback of whatever the record does. Where it
// cannot be sent the link is as good as lost, and its end frees the record.
func (rec *txRecord) sendRollback() {
	if rec.orphaned {
		return
	}
	req := signal.TCRollbackReq{TC: rec.tc, TCPointer: rec.tcPointer, TransID: rec.transID}
	if err := transporter.Send(rec.link.conn, signal.BlockAPI, &req); err != nil {
		rec.link.conn.Fail(err)
	}
}

// end asks for the commit or the rollback of an open transaction; the answer
// comes through wait. An error says that nothing was sent. A transaction of
// which the coordinator knows nothing is over at once.
func (rec *txRecord) end(commit bool) (over bool, err error) {
	rec.mu.Lock()
	aborted := rec.overAlready()
	if rec.started && aborted == nil {
		rec.phase, rec.commit = phaseEnding, commit
	}
	rec.mu.Unlock()
	switch {
	case !rec.started:
		return true, nil
	case aborted != nil && commit:
		return true, aborted
	case aborted != nil:
		return true, nil
	case commit:
		err = transporter.Send(rec.link.conn, signal.BlockAPI, &signal.TCCommitReq{TC: rec.tc, TCPointer: rec.tcPointer, TransID: rec.transID})
	default:
		err = transporter.Send(rec.link.conn, signal.BlockAPI, &signal.TCRollbackReq{TC: rec.tc, TCPointer: rec.tcPointer, TransID: rec.transID})
	}
	if err != nil {
		return false, rec.unsent(err)
	}
	return false, nil
}

func (rec *txRecord) commitGCI() uint64 {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.gci
}

// finish ends the batch, the seizing or the ending in flight and leaves the
// record in the given phase. Called with the lock held.
func (rec *txRecord) finish(next phase) {
	rec.waiting, rec.phase = 0, next
	for i := range rec.ops {
		rec.ops[i] = opState{}
	}
	rec.ops = rec.ops[:0]
	if rec.abandoned {
		if next == phaseOpen {
			rec.phase, rec.commit = phaseEnding, false
			rec.sendRollback()
			return
		}
		rec.free()
		return
	}
	if rec.sink != nil {
		rec.sink <- rec
		return
	}
	rec.ready <- struct{}{} // empty: one wait takes one token
}

// free gives the record back to its link. Called with the lock held.
func (rec *txRecord) free() {
	rec.phase, rec.abandoned = phaseFree, false
	if rec.slot != nil {
		rec.slot.release()
		rec.slot = nil
	}
	if rec.orphaned {
		rec.link.api.records.remove(rec)
		return
	}
	rec.link.release(rec)
}

func (rec *txRecord) setSink(done chan<- *txRecord) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.sink = done
}

// outcome is the error of what has just ended, and the checkpoint of its commit.
func (rec *txRecord) outcome() (GCI, error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return GCI(rec.gci), rec.result()
}

// unsentToSink is unsent for a record that answers to a channel of many. Where
// the link was lost and has ended it, its token waits there and is not for it.
func (rec *txRecord) unsentToSink(cause error) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.phase == phaseExecuting {
		rec.phase, rec.waiting, rec.ops = phaseOpen, 0, rec.ops[:0]
	}
	rec.err, rec.sink = nil, nil
	return notSent(cause)
}

// abandonInFlight abandons a record that answers to a channel of many, unless
// it is over.
func (rec *txRecord) abandonInFlight(cause error) (over bool, err error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.phase != phaseExecuting {
		return true, nil
	}
	return false, rec.giveUp(cause)
}
