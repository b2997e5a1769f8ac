package parity

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// item is one of many rows in a body.
type item struct {
	id      int64  // 0: it names none, or not as it should
	members []pair // of the JSON object that it is: names, and values as JSON
	raw     string // the text, where it is not of members
}

func (i item) text() string {
	if i.members == nil {
		return i.raw
	}
	return object(i.members)
}

// object is a JSON object of names, and values as JSON.
func object(members []pair) string {
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = strconv.Quote(m.name) + ":" + m.value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func idsOf(items []item) []int64 {
	var ids []int64
	for _, i := range items {
		if i.id != 0 && !slices.Contains(ids, i.id) {
			ids = append(ids, i.id)
		}
	}
	return ids
}

// smallerItems yields the items without half of them, without a quarter and so on
// down to single ones, then with one member less.
func smallerItems(items []item) iter.Seq[[]item] {
	return func(yield func([]item) bool) {
		for without := range withoutSome(items) {
			if !yield(without) {
				return
			}
		}
		for i, it := range items {
			for k, m := range it.members {
				if m.name == "id" {
					continue
				}
				less := slices.Clone(items)
				less[i].members = slices.Delete(slices.Clone(it.members), k, k+1)
				if !yield(less) {
					return
				}
			}
		}
	}
}

// withoutSome yields a list without half of it, without a quarter and so on.
func withoutSome[T any](list []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for size := (len(list) + 1) / 2; size > 0; size /= 2 {
			for start := 0; start < len(list); start += size {
				if !yield(slices.Delete(slices.Clone(list), start, min(start+size, len(list)))) {
					return
				}
			}
		}
	}
}

// itemsForPeople shows items that are equal and follow each other once.
func itemsForPeople(items []item, separator string) string {
	var parts []string
	for len(items) > 0 {
		text, n := items[0].text(), 1
		for n < len(items) && items[n].text() == text {
			n++
		}
		shown := asASCII(text)
		if n > 1 {
			shown += " (" + strconv.Itoa(n) + " times)"
		}
		parts, items = append(parts, shown), items[n:]
	}
	return strings.Join(parts, separator)
}
