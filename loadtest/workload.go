package loadtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Op is an operation on rows.
type Op string

// The operations.
const (
	Insert Op = "insert"
	Select Op = "select" // of one row by its ID
	Update Op = "update" // of two columns of a row
	Delete Op = "delete"
	List   Op = "list"  // of up to 100 rows by city
	Bulk   Op = "batch" // an insert of 100 rows in one transaction
)

// Ops are all of them.
func Ops() []Op { return []Op{Insert, Select, Update, Delete, List, Bulk} }

// Workload is one operation, or a mix of several.
type Workload struct {
	Name string  `json:"name"`
	Mix  []Share `json:"mix"`
}

// Share is the part of an operation in a mix: its weight against the sum of all.
type Share struct {
	Op     Op  `json:"op"`
	Weight int `json:"weight"`
}

// Single is a workload of one operation.
func Single(op Op) Workload { return Workload{Name: string(op), Mix: []Share{{op, 1}}} }

// ParseMix reads a mix such as "read-heavy=select:95,update:5".
func ParseMix(text string) (Workload, error) {
	name, shares, ok := strings.Cut(text, "=")
	w := Workload{Name: strings.TrimSpace(name)}
	if !ok {
		return w, fmt.Errorf("mix %q: want NAME=OP:WEIGHT,OP:WEIGHT", text)
	}
	for part := range strings.SplitSeq(shares, ",") {
		op, weight, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.Atoi(weight)
		if err != nil {
			return w, fmt.Errorf("mix %s: %q: want OP:WEIGHT, such as select:95", w.Name, part)
		}
		w.Mix = append(w.Mix, Share{Op(op), n})
	}
	return w, w.validate()
}

func (w *Workload) validate() error {
	if w.Name == "" || len(w.Mix) == 0 {
		return errors.New("a mix has no name, or no operations")
	}
	for i, share := range w.Mix {
		switch {
		case !slices.Contains(Ops(), share.Op):
			return fmt.Errorf("%s: operation %q is none of %v", w.Name, share.Op, Ops())
		case share.Weight < 1 || share.Weight > 1_000_000:
			return fmt.Errorf("%s: the weight of %s is not from 1 to 1,000,000", w.Name, share.Op)
		case slices.ContainsFunc(w.Mix[:i], func(s Share) bool { return s.Op == share.Op }):
			return fmt.Errorf("%s: %s is there twice", w.Name, share.Op)
		}
	}
	return nil
}

// has tells whether the workload does the operation.
func (w *Workload) has(op Op) bool {
	return slices.ContainsFunc(w.Mix, func(s Share) bool { return s.Op == op })
}

// weight is the sum of all.
func (w *Workload) weight() int {
	sum := 0
	for _, share := range w.Mix {
		sum += share.Weight
	}
	return sum
}

// Variant is a way to do an operation that the first article's samplers have,
// and that differs from what a road does by itself. Empty: the road's own way.
type Variant string

// The variants.
const (
	// FindFirst reads the row before it is changed or deleted, in a round trip of
	// its own, as ClusterJ's find does.
	FindFirst Variant = "find first"
)

// articleVariant is the article's own way of a workload on a road, where it
// differs.
func articleVariant(w *Workload, native bool) (Variant, bool) {
	if native && len(w.Mix) == 1 && (w.has(Update) || w.has(Delete)) {
		return FindFirst, true
	}
	return "", false
}
