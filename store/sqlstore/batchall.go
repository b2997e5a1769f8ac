package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/store"
)

// noItem is the index of the item to blame where there is none.
const noItem = -1

// whole is a batch that is one transaction, on its way.
type whole struct {
	*batch
	store  *Store
	node   *node // that is asked
	limits batchLimits
	failed int // the item to blame, or noItem
}

// writeAll does a batch as one transaction.
func (s *Store) writeAll(ctx context.Context, b *batch) error {
	w := &whole{batch: b, store: s, failed: noItem}
	c := call{op: b.op + " all", write: true, oneShot: true, prepare: w.prepare, tooLarge: w.tooLarge}
	err := s.do(ctx, c, w.run)
	if err != nil && w.failed != noItem {
		return &store.BatchError{Index: w.failed, Err: fmt.Errorf("%s employee %d: %w", b.op, b.id(w.failed), err)}
	}
	return err
}

// prepare is done on each node before anything is written.
func (w *whole) prepare(n *node, db *gorm.DB) (err error) {
	w.node, w.failed = n, noItem
	if w.limits, err = n.limitsOfBatches(db); err != nil {
		return err
	}
	if rows := w.limits.rows(w.batch); rows > 0 && w.size > rows {
		return &store.BatchTooLargeError{Limit: rows, Setting: w.limits.setting}
	}
	if w.failed, err = w.firstBadValue(db, (*call).hasTextToLookAt); errors.Is(err, store.ErrInvalid) {
		// One before it may have no such text, and a value that is bad all the same.
		if i, before := w.firstBadValue(db, anyCall); i != noItem {
			w.failed, err = i, before
		}
	}
	return err
}

func anyCall(*call) bool { return true }

// firstBadValue returns the first item with a value that its column cannot hold,
// of those that are worth a look, and what is wrong with it.
func (w *whole) firstBadValue(db *gorm.DB, worth func(*call) bool) (int, error) {
	for i := range w.size {
		err := w.store.badValue(w.node, db, w.batch, i, worth)
		if errors.Is(err, store.ErrInvalid) {
			return i, err
		}
		if err != nil {
			return noItem, err
		}
	}
	return noItem, nil
}

// badValue returns what is wrong with the values of an item.
func (s *Store) badValue(n *node, db *gorm.DB, b *batch, i int, worth func(*call) bool) error {
	values, set := b.values(i)
	c := call{values: values, set: set}
	if len(set) == 0 || !worth(&c) {
		return nil
	}
	return n.checkValues(db, &s.columns, &c)
}

func (w *whole) run(db *gorm.DB) error {
	var items []int // of the step that failed
	var verdicts []error
	err := db.Transaction(func(tx *gorm.DB) (err error) {
		if w.once != nil {
			if err := w.once.keep(tx); err != nil {
				return err
			}
		}
		for first := 0; first < w.size; first += len(items) {
			items = w.nextStep(first, w.limits.stepBytes())
			if verdicts, err = w.step(tx, items); err != nil {
				return err
			}
			if err := errors.Join(verdicts...); err != nil {
				return errBlamed
			}
		}
		return nil
	})
	if w.once != nil && w.once.atKey {
		// Values that cannot be stored count before the key, whatever it has.
		if i, bad := w.firstBadValue(db, anyCall); i != noItem {
			w.once.atKey, w.failed = false, i
			return bad
		}
		return err
	}
	if errors.Is(err, errBlamed) || isOfItem(err) {
		return w.blame(db, items, verdicts, err)
	}
	return err
}

// errBlamed says that items of a step failed, which its verdicts tell.
var errBlamed = errors.New("items of the batch cannot be done")

// blame finds the item that is to blame for a step that failed and was rolled
// back: a value that cannot be stored anywhere in the batch comes first, then the
// first of the step.
func (w *whole) blame(db *gorm.DB, items []int, verdicts []error, cause error) (err error) {
	if w.failed, err = w.firstBadValue(db, anyCall); err != nil {
		return err
	}
	if len(verdicts) == 0 {
		if verdicts, err = w.look(db, items); err != nil {
			return cause // which says all that can be known
		}
	}
	for k, verdict := range verdicts {
		if verdict != nil {
			w.failed = items[k]
			return verdict
		}
	}
	return w.blameOne(db, items, cause)
}

// errTrial ends a transaction that was only to see what fails.
var errTrial = errors.New("only a trial")

// blameOne does the items one by one, and rolls back.
func (w *whole) blameOne(db *gorm.DB, items []int, cause error) error {
	err := db.Transaction(func(tx *gorm.DB) error {
		for _, i := range items {
			verdicts, err := w.step(tx, []int{i})
			if err = errors.Join(append(verdicts, err)...); err != nil {
				if isOfItem(err) {
					w.failed = i
				}
				return err
			}
		}
		return errTrial
	})
	if errors.Is(err, errTrial) {
		return cause
	}
	return err
}

// nextStep lists the items of the step that begins with first.
func (b *batch) nextStep(first int, stepBytes int64) []int {
	end, size := first, int64(0)
	for end < b.size && end < first+stepRows {
		if size += b.bytes(end); size > stepBytes && end > first {
			break
		}
		end++
	}
	return span(first, end)
}

func (b *batch) bytesOf(items []int) int64 {
	n := int64(0)
	for _, i := range items {
		n += b.bytes(i)
	}
	return n
}

// bytes is more than an item takes of a statement, or of its values.
func (b *batch) bytes(i int) int64 {
	const perItem, perProperty = 64, 48
	values, set := b.values(i)
	n := int64(perItem)
	for _, p := range set {
		text, _ := p.Value(values).(string)
		n += perProperty + int64(len(text))
	}
	return n
}

// tooLarge tells what a refusal for the size of the transaction means.
func (w *whole) tooLarge(cause error) error {
	e := &store.BatchTooLargeError{Cause: cause}
	if rows := w.limits.rows(w.batch); rows > 0 && rows < w.size {
		e.Limit, e.Setting = rows, w.limits.setting
	}
	return e
}
