package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/internal/chaos/history"
)

const (
	activeRows = 6       // that clients use at a time; more clients at one row, and the check takes too long
	rowOps     = 150     // after which another row takes the place of one, so that each can be checked
	rowUnknown = 6       // writes of unknown outcome, after which another one takes its place
	maxOps     = 400_000 // of all rows, some 100 MB
	idsASecond = 10_000  // far more rows than clients get through in one
)

// row is one row of the table and what clients were told about it.
type row struct {
	id int64

	mu   sync.Mutex // guards all below
	ops  []*history.Op
	open int                    // of unknown outcome among them
	tags map[string]history.Row // ETag → what it stood for
	last string                 // the ETag seen last
}

// rows are all rows of a run.
type rows struct {
	firstID int64

	mu     sync.Mutex // guards all below; taken before the one of a row
	all    []*row
	active []*row
	total  int      // operations
	wrong  []string // answers that must not be, at most maxWrong
}

const maxWrong = 20

// newRows takes IDs that no run before has used: every row is absent at first.
func newRows(begun time.Time) *rows {
	r := &rows{firstID: begun.Unix() * idsASecond}
	for range activeRows {
		r.active = append(r.active, r.fresh())
	}
	return r
}

func (r *rows) fresh() *row {
	fresh := &row{id: r.firstID + int64(len(r.all)), tags: map[string]history.Row{}}
	r.all = append(r.all, fresh)
	return fresh
}

// pick chooses a row. It returns nil when the history is full.
func (r *rows) pick(random *rand.Rand) *row {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total >= maxOps {
		return nil
	}
	return r.active[random.IntN(activeRows)]
}

// add takes an operation into the history of its row.
func (r *rows) add(row *row, o *history.Op) {
	row.mu.Lock()
	row.ops = append(row.ops, o)
	if o.Outcome == history.Unknown {
		row.open++
	}
	isFull := len(row.ops) >= rowOps || row.open >= rowUnknown
	row.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	if i := slices.Index(r.active, row); i >= 0 && isFull {
		r.active[i] = r.fresh()
	}
}

// complain notes an answer that must not be.
func (r *rows) complain(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) < maxWrong {
		r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
	}
}

// tagged notes what an ETag stands for. One tag has one row, and one row one tag.
func (r *row) tagged(tag string, value history.Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.tags[tag]
	if ok && known != value {
		return fmt.Errorf("ETag %s stands for %v and for %v", tag, known, value)
	}
	if !ok {
		for other, same := range r.tags {
			if same == value {
				return fmt.Errorf("%v has the ETags %s and %s", value, other, tag)
			}
		}
	}
	r.tags[tag], r.last = value, tag
	return nil
}

// seenLast is the ETag that some client saw last, and what it stands for.
func (r *row) seenLast() (tag string, value history.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.tags[r.last]
}
