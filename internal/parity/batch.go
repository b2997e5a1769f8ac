package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// batch is a request about many rows at once.
type batch struct {
	method  batchMethod
	items   []item
	options []pair // members of the body beside the items
	query   []pair
	headers []pair
	raw     string // the body, where it is not of items
}

type batchMethod string

const (
	batchGet    batchMethod = "batchGet"
	batchCreate batchMethod = "batchCreate"
	batchUpdate batchMethod = "batchUpdate"
	batchDelete batchMethod = "batchDelete"
)

// list is the member of the body with the items.
func (m batchMethod) list() string {
	switch m {
	case batchCreate:
		return "employees"
	case batchUpdate:
		return "updates"
	default:
		return "ids"
	}
}

func (b *batch) request() *request {
	raw := b.raw
	if raw == "" {
		texts := make([]string, len(b.items))
		for i, it := range b.items {
			texts[i] = it.text()
		}
		raw = object(append([]pair{{b.method.list(), "[" + strings.Join(texts, ",") + "]"}}, b.options...))
	}
	return &request{method: http.MethodPost, path: employeesPath + ":" + string(b.method), query: b.query, headers: b.headers, raw: raw, hasBody: true}
}

// do implements action.
func (b *batch) do(ctx context.Context, s *side, m *memory) outcome {
	a := b.request().send(ctx, s, m)
	o := a.outcome(s, string(b.method))
	shown := readBatchAnswer(a.body)
	o.rows = shown.rows
	if shown.partial {
		o.name += " partial"
	}
	if a.isReplayed() {
		o.name += " replayed"
	}
	if b.method == batchCreate {
		b.tidy(ctx, s, m, &o, shown.ids)
	}
	return o
}

// tidy reads and deletes by the other road the rows whose IDs the gateway has
// assigned: they are others on each twin. Which they are does not count.
func (b *batch) tidy(ctx context.Context, s *side, m *memory, o *outcome, ids []int64) {
	given := numbersIn(b.request().raw)
	ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(given, id) })
	if len(ids) == 0 {
		return
	}
	o.name += " with assigned ids"
	maps.DeleteFunc(o.rows, func(id int64, _ string) bool { return slices.Contains(ids, id) })
	other := *s
	other.road = otherRoad(s.road)
	for _, then := range []*batch{
		{method: batchGet, items: idItems(ids)},
		{method: batchDelete, items: idItems(ids), options: []pair{{"partial", "true"}}},
	} {
		a := then.request().send(ctx, &other, m)
		o.same += fmt.Sprintf("\nthen %s: %s", then.method, a.body)
	}
	for i, id := range ids {
		o.same = strings.ReplaceAll(o.same, fmt.Sprint(id), fmt.Sprintf("{id %d}", i))
	}
}

func idItems(ids []int64) []item {
	items := make([]item, len(ids))
	for i, id := range ids {
		items[i] = item{id: id, raw: fmt.Sprint(id)}
	}
	return items
}

// batchAnswer is what the answer of a batch shows.
type batchAnswer struct {
	ids     []int64          // in the order of the items, each once
	rows    map[int64]string // as they were shown
	partial bool
}

func readBatchAnswer(body string) batchAnswer {
	var text struct {
		Employees []json.RawMessage
		IDs       []int64
		ID        int64 // of the item that is to blame
		Results   []struct {
			ID       int64
			Employee json.RawMessage
		}
	}
	a := batchAnswer{rows: map[int64]string{}}
	if json.Unmarshal([]byte(body), &text) != nil {
		return a
	}
	add := func(id int64, row json.RawMessage) {
		if id != 0 && !slices.Contains(a.ids, id) {
			a.ids = append(a.ids, id)
		}
		if row != nil {
			a.rows[id] = string(row)
		}
	}
	for _, row := range text.Employees {
		add(idOf(string(row)), row)
	}
	for _, id := range append(text.IDs, text.ID) {
		add(id, nil)
	}
	for _, r := range text.Results {
		add(r.ID, r.Employee)
	}
	a.partial = text.Results != nil
	return a
}

// smaller implements action.
func (b *batch) smaller() []action {
	var all []action
	for items := range smallerItems(b.items) {
		less := *b
		less.items = items
		all = append(all, &less)
	}
	for _, list := range []func(*batch) *[]pair{
		func(b *batch) *[]pair { return &b.headers },
		func(b *batch) *[]pair { return &b.query },
		func(b *batch) *[]pair { return &b.options },
	} {
		for i := range *list(b) {
			less := *b
			*list(&less) = slices.Delete(slices.Clone(*list(b)), i, i+1)
			all = append(all, &less)
		}
	}
	return all
}

// String implements action.
func (b *batch) String() string {
	q := b.request()
	if b.raw != "" {
		return q.String()
	}
	q.hasBody = false
	text := q.String() + " -d {" + b.method.list() + ": [" + itemsForPeople(b.items, ", ") + "]"
	for _, o := range b.options {
		text += ", " + o.name + ": " + asASCII(o.value)
	}
	return text + "}"
}
