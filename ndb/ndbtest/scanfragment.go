package ndbtest

import (
	"errors"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/program"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// fragmentScan is the scan of the fragments that one receiver gets, one after
// another. Guarded by Cluster.mu.
//
// A row is locked first, where the scan locks, then looked at: it counts if it
// has a version that the scan sees, this lies where the row was found in the
// index, and the program accepts it. Locks of rows that count stay until the next
// batch is asked for.
type fragmentScan struct {
	scan      *scan
	pointer   uint32 // what the API node asks for the next batch with
	receiver  uint32
	cursor    *cursor
	serving   *dataNode
	delivered bool // the batch is out; the next may be asked for
	finished  bool // the receiver gets no more

	rows, words int // of the batch
	bytes       int // of the batch
	over        bool
	lastRow     int // number of the last row, for take-over
	held        []heldRow
	current     scannedRow // its row is nil unless its lock is waited for
}

// scannedRow is a row that the cursor has found.
type scannedRow struct {
	row         *rowEntry
	version     *version // that lies in the index; nil without one
	rangeNumber uint32
	taken       bool // the scan has locked it, and not an operation before it
}

// heldRow is a row of a batch whose lock the scan holds.
type heldRow struct {
	row      *rowEntry
	scanInfo uint32
	taken    bool
}

// proceed reads rows until the batch is full, the fragments are over, or a lock
// is waited for: then it is called again.
func (fs *fragmentScan) proceed() {
	s := fs.scan
	for !s.over && fs.find() {
		if !fs.lock() {
			return
		}
		found := fs.current
		fs.current = scannedRow{}
		fs.look(found)
	}
	if !s.over {
		s.batchDone(fs)
	}
}

// find goes to the next row, unless the batch has to end before it.
func (fs *fragmentScan) find() bool {
	for fs.current.row == nil {
		if fs.rows >= fs.scan.batchRows || fs.bytes >= fs.scan.batchBytes {
			return false
		}
		r, v, number := fs.cursor.next()
		if r != nil {
			fs.current = scannedRow{row: r, version: v, rangeNumber: number}
			return true
		}
		// Rows of two fragments do not come in one batch.
		fs.over = !fs.nextFragment()
		if fs.over || fs.rows > 0 {
			return false
		}
	}
	return true
}

// nextFragment goes on with a fragment that no receiver has.
func (fs *fragmentScan) nextFragment() bool {
	s := fs.scan
	if len(s.left) == 0 {
		return false
	}
	f := s.left[0]
	s.left = s.left[1:]
	fs.cursor = newCursor(s.table, f, s.index, s.ranges, s.descending)
	fs.serving = s.servingNode(f)
	return true
}

// lock locks the current row, where the scan locks. It is false where that
// waits.
func (fs *fragmentScan) lock() bool {
	s, r := fs.scan, fs.current.row
	if s.lockMode == lockNone || r.visible(&s.txn) == nil && !r.lock.inUse() {
		return true
	}
	fs.current.taken = fs.current.taken || !r.lock.holds(&s.txn, lockShared)
	return s.acquire(r, s.lockMode, fs.proceed)
}

// look counts a row, if it is one that the scan wants.
func (fs *fragmentScan) look(found scannedRow) {
	s := fs.scan
	v := found.row.visible(&s.txn)
	accepted := v != nil && (s.index == nil || s.index.isAt(indexEntry{found.row, found.version}, v))
	var answer []byte
	var err *opError
	if accepted && len(s.program) > 0 {
		accepted, err = fs.filter(v)
	}
	if accepted && err == nil {
		answer, err = found.row.appendReadInRange(nil, v, s.readList, found.rangeNumber)
	}
	switch {
	case err != nil:
		s.fail(err.code)
	case accepted:
		fs.deliver(found, answer)
	case found.taken && !s.over:
		s.unlock(found.row)
	}
}

// filter runs the program on a row.
func (fs *fragmentScan) filter(v *version) (accepted bool, _ *opError) {
	s := fs.scan
	result, err := newMachine(s.table.weigh, s.table.desc.Columns, v.value).Run(s.program)
	var code *program.CodeError
	switch {
	case errors.As(err, &code):
		return false, failure(uint32(code.Code))
	case err != nil:
		s.rec.link.badProgram(signal.GSNScanTabReq, err)
		return false, nil
	case result.Outcome == program.Refused && (result.Code == codeNoRow || result.Code == codeConditionFalse):
		return false, nil
	case result.Outcome == program.Refused:
		return false, failure(uint32(result.Code))
	case result.Outcome == program.AcceptedLast:
		fs.cursor.over = true
	}
	return true, nil
}

// codeConditionFalse is what programs refuse a row with that does not match;
// so is 626.
const codeConditionFalse = 899

// deliver sends a row, and its key where that is wanted.
func (fs *fragmentScan) deliver(found scannedRow, answer []byte) {
	s, r := fs.scan, found.row
	fs.rows++
	fs.lastRow++
	info := uint32(fs.lastRow)<<scanNumberBits&scanInfoMask | fs.pointer&scanNumberMask
	if s.lockMode != lockNone {
		fs.held = append(fs.held, heldRow{r, info, found.taken})
	}
	l := s.linkTo(fs.serving)
	if s.keyInfo {
		l.send(signal.Block(blockDBLQH).WithInstance(rowInstance), s.rec.apiBlock, &signal.KeyInfo20{
			Receiver: fs.receiver, ScanInfo: info, Fragment: uint32(r.fragment.number), TransID: s.id, Key: r.keyInfo,
		})
		fs.words += len(r.keyInfo) / word.SizeBytes
	}
	if len(answer) > 0 {
		l.send(signal.Block(blockDBTUP).WithInstance(rowInstance), s.rec.apiBlock,
			&signal.TransIDAI{Pointer: fs.receiver, TransID: s.id, Attributes: answer})
		fs.words += len(answer) / word.SizeBytes
		fs.bytes += len(answer)
	}
}

// Scan info of KEYINFO20: the number of the row above that of the scan.
const (
	scanNumberBits = 8
	scanNumberMask = 1<<scanNumberBits - 1
	scanInfoMask   = 1<<18 - 1
)

// release gives the locks of the batch back, but for those that operations have
// taken over.
func (fs *fragmentScan) release() {
	for _, h := range fs.held {
		if h.taken && slices.Contains(fs.scan.locked, h.row) {
			fs.scan.unlock(h.row)
		}
	}
	fs.held = nil
}

// nextBatch begins a batch.
func (fs *fragmentScan) nextBatch() {
	fs.release()
	fs.delivered, fs.rows, fs.words, fs.bytes = false, 0, 0, 0
	fs.proceed()
}

// appendReadInRange is appendRead for a row of a range.
func (r *rowEntry) appendReadInRange(dst []byte, v *version, list []byte, number uint32) ([]byte, *opError) {
	r.rangeNumber = number
	defer func() { r.rangeNumber = 0 }()
	return r.appendRead(dst, v, list)
}
