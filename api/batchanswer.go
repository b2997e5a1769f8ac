package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

type gotAnswer struct {
	Employees []models.Employee `json:"employees"`
	Missing   []int64           `json:"missing"`
}

type writtenAnswer struct {
	Done      int               `json:"done"`
	Employees []models.Employee `json:"employees,omitempty"`
	IDs       []int64           `json:"ids,omitempty"`
}

// eachAnswer is that of a partial batch.
type eachAnswer struct {
	Done    int        `json:"done"`
	Failed  int        `json:"failed"`
	Unknown int        `json:"unknown"`
	Results []itemView `json:"results"`
}

type itemView struct {
	Index    int              `json:"index"`
	ID       int64            `json:"id,omitzero"` // absent where the item has none
	Status   int              `json:"status"`
	Employee *models.Employee `json:"employee,omitempty"`
	Problem  *itemProblem     `json:"problem,omitempty"`
}

// itemProblem is a problem of one item.
type itemProblem struct {
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail,omitempty"`
	Code   code    `json:"code"`
	Errors []fault `json:"errors,omitempty"`
}

// brokenItemError says that an item was not sent for the rules that it breaks.
type brokenItemError []fault

func (e brokenItemError) Error() string { return "the item breaks rules" }

// eachOf does the items that break no rule.
func eachOf(b *batchBody, do func(b *batchBody) []store.ItemResult) []store.ItemResult {
	if len(b.broken) == 0 {
		return do(b)
	}
	results := make([]store.ItemResult, len(b.ids))
	sound, places := b.sound()
	for i, faults := range b.broken {
		results[i].Err = brokenItemError(faults)
	}
	if len(places) == 0 {
		return results
	}
	for k, item := range do(sound) {
		results[places[k]] = item
		if b.employees != nil { // the IDs may be others now
			b.employees[places[k]], b.ids[places[k]] = sound.employees[k], sound.ids[k]
		}
	}
	return results
}

// sound returns the batch without the items that break rules, and where the others
// were.
func (b *batchBody) sound() (sound *batchBody, places []int) {
	sound = &batchBody{list: b.list, writes: b.writes, partial: b.partial}
	assigned := b.assigned
	for i, id := range b.ids {
		if len(b.broken[i]) > 0 {
			continue
		}
		if len(assigned) > 0 && assigned[0] == i {
			assigned, sound.assigned = assigned[1:], append(sound.assigned, len(places))
		}
		places, sound.ids = append(places, i), append(sound.ids, id)
		if b.employees != nil {
			sound.employees = append(sound.employees, b.employees[i])
		}
		if b.updates != nil {
			sound.updates = append(sound.updates, b.updates[i])
		}
	}
	return sound, places
}

// sendEach answers a partial batch; status is that of items that are done. Where
// the road could not serve at all, the error of the first item is returned.
func sendEach(x *exchange, b *batchBody, results []store.ItemResult, status int, show bool) error {
	answer := eachAnswer{Results: make([]itemView, len(results))}
	unserved := 0
	for i := range results {
		err, view := results[i].Err, &answer.Results[i]
		*view = itemView{Index: i, ID: b.ids[i], Status: status}
		switch {
		case err == nil:
			answer.Done++
			if show {
				view.Employee = &results[i].Employee
			}
			continue
		case isNotOnDisk(err):
			answer.Done++
		case errors.Is(err, store.ErrUnknownOutcome):
			answer.Unknown++
		default:
			answer.Failed++
			if isUnserved(err) {
				unserved++
			}
		}
		view.Problem = b.itemProblem(i, err)
		view.Status = view.Problem.Status
	}
	if unserved == len(results) {
		return results[0].Err
	}
	return x.json(http.StatusOK, answer)
}

func isNotOnDisk(err error) bool {
	_, ok := errors.AsType[*notOnDiskError](err)
	return ok
}

// isUnserved tells that nothing was done for want of a road, or of time.
func isUnserved(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// itemProblem is what the client hears of item i.
func (b *batchBody) itemProblem(i int, err error) *itemProblem {
	p := b.problemOfItem(i, err)
	return &itemProblem{Type: p.Type, Title: p.Title, Status: p.Status, Detail: p.Detail, Code: p.Code, Errors: p.Errors}
}

// problemOfItem is the problem of an error that item i is to blame for.
func (b *batchBody) problemOfItem(i int, err error) *problem {
	var invalid *models.ValidationError
	if broken, ok := errors.AsType[brokenItemError](err); ok {
		return validationProblem(broken)
	}
	switch {
	case errors.Is(err, store.ErrInvalid) && errors.As(err, &invalid):
		return validationProblem(invalidFaultsAt(b.at(i), invalid))
	case errors.Is(err, store.ErrConflict) && b.partial:
		return newProblem(codeAlreadyExists, "an employee with this id exists; :batchUpdate changes it")
	case errors.Is(err, store.ErrConflict):
		return newProblem(codeAlreadyExists, "an employee with this id exists; leave the item out, or ask for partial to create the others")
	default:
		return toProblem(err)
	}
}

// causedProblem is a problem whose cause the log gets.
type causedProblem struct {
	*problem
	cause error
}

func (p *causedProblem) Error() string { return p.cause.Error() }

// Unwrap gives the problem alone: what the cause is does not change the answer.
func (p *causedProblem) Unwrap() error { return p.problem }

// problem is that of a batch which has failed at its items from first on up to
// end; those before them are written. At the end of the batch, all are.
func (b *batchBody) problem(x *exchange, first, end int, err error) error {
	p := toProblem(err)
	done := "nothing was written"
	if first > 0 {
		done = fmt.Sprintf("the first %d items are written, no others", first)
	}
	failed, blamed := errors.AsType[*store.BatchError](err)
	switch {
	case isNotOnDisk(err):
		p.Detail = "all items are committed in the memory of the data nodes; "
		if x.once != nil {
			p.Detail += waitOnAgain
		} else {
			p.Detail += "do not repeat the batch"
		}
	case p.Code == codeOutcomeUnknown:
		p.Uncertain = end - first
		p.Detail = fmt.Sprintf("the items %d to %d are all written, or none of them: read one to see; those before them are written, those behind are not", first, end-1)
		if x.once != nil {
			p.Detail = "all items are written, or none of them: " + resolveAgain
		}
	case p.Code == codeBatchTooLarge:
		tooLarge, _ := errors.AsType[*store.BatchTooLargeError](err)
		p.addLimit(x.road, tooLarge, done)
	case blamed:
		i := first + failed.Index
		p = b.problemOfItem(i, err)
		p.Index, p.ID = &i, b.ids[i]
		p.Detail = fmt.Sprintf("item %d: %s; %s", i, p.Detail, done)
	case first > 0:
		p.Detail = done
	}
	if b.chunk > 0 && !isNotOnDisk(err) {
		p.Committed = &first
	}
	if len(b.assigned) > 0 && (p.Uncertain > 0 || first > 0) {
		p.IDs = b.ids
	}
	return &causedProblem{problem: p, cause: err}
}

// addLimit says what one transaction by a road may hold, as far as that is known.
func (p *problem) addLimit(road string, tooLarge *store.BatchTooLargeError, done string) {
	if tooLarge == nil || tooLarge.Limit == 0 {
		p.Detail = done + ": the data nodes refused the transaction for its size; give a chunk, for transactions of so many items each, or ask for partial"
		return
	}
	p.Limit = tooLarge.Limit
	p.Detail = fmt.Sprintf("%s: by the backend %s a transaction holds at most %d items of such a batch, due to %s; "+
		"give a chunk of no more, for several transactions, or ask for partial", done, road, tooLarge.Limit, tooLarge.Setting)
}
