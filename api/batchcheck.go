package api

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/store"
)

// check gives IDs to employees that have none, and returns the problem of what is
// wrong.
func (b *batchBody) check(ids *store.IDs) error {
	switch {
	case !b.given:
		b.addBadForm(jsontext.Pointer("/"+b.list), "required", "must be there")
	case len(b.ids) == 0 && b.badForms == 0:
		b.badValue = append(b.badValue, b.sizeFault())
	}
	if b.partial && b.chunk > 0 {
		b.badValue = append(b.badValue, bodyFault("/chunk", "excluded", "is not for a partial batch, of which each item is a transaction"))
	}
	if b.writes {
		b.identify(ids)
	}
	total := b.badForms + len(b.badValue)
	faults := slices.Concat(b.badForm, b.badValue)
	if b.badForms > 0 || !b.partial {
		for i := range b.ids {
			total += len(b.broken[i])
			faults = append(faults, b.broken[i][:min(len(b.broken[i]), max(0, maxListedFaults-len(faults)))]...)
		}
	}
	switch {
	case total == 0:
		return nil
	case b.badForms > 0:
		return newProblem(codeInvalidBody, listing("names a member", len(faults), total), faults...)
	default:
		return newProblem(codeValidationFailed, listing("names a property and its rule", len(faults), total), faults...)
	}
}

func listing(what string, listed, total int) string {
	text := "each entry of errors " + what
	if total > listed {
		text += fmt.Sprintf("; these are the first %d of %d", listed, total)
	}
	return text
}

// identify blames items whose ID another one before them has, and assigns those
// that are missing.
func (b *batchBody) identify(ids *store.IDs) {
	first := make(map[int64]int, len(b.ids))
	for i, id := range b.ids {
		if id < 1 {
			continue
		}
		if before, twice := first[id]; twice {
			at := b.at(i)
			if b.list != "ids" {
				at += "/id"
			}
			b.breaks(i, []fault{bodyFault(string(at), "unique", fmt.Sprintf("must not be that of item %d too", before))})
			continue
		}
		first[id] = i
	}
	for i := range b.employees {
		if b.ids[i] == 0 && len(b.broken[i]) == 0 {
			b.assigned = append(b.assigned, i)
		}
	}
	b.assign(ids, b.assigned)
	for _, i := range b.assigned {
		for _, taken := first[b.ids[i]]; taken; _, taken = first[b.ids[i]] {
			b.assign(ids, []int{i})
		}
	}
}

// assign gives the items IDs that follow each other.
func (b *batchBody) assign(ids *store.IDs, items []int) {
	if len(items) == 0 {
		return
	}
	id := ids.NextRun(len(items))
	for _, i := range items {
		b.employees[i].ID, b.ids[i] = id, id
		id++
	}
}
