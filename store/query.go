package store

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
)

// Queries tells about what Employees.List reads. All methods are safe for
// concurrent use.
type Queries interface {
	// Count returns how many employees the filter selects, without reading them
	// where the road can. Its errors are those of List.
	Count(ctx context.Context, f models.Filter) (int64, error)

	// Explain tells how List would come to its employees, and reads none.
	Explain(ctx context.Context, q models.EmployeeQuery) (AccessPath, error)
}

// AccessPath is how a road comes to the rows of a query.
type AccessPath struct {
	Access Access
	Index  string // that is read; empty where there is none
	// Ranges are the parts of the index that are read, as filters; none means all
	// of it, or that the road does not tell.
	Ranges     []string
	Descending bool // the index is read from its end
	// Filter is what the data nodes test of each row there, in the road's own
	// words; empty where nothing is left to test.
	Filter string
	Order  OrderMethod
	Rows   *int64 // that are expected to be read; nil where the road has no idea
	// Then is the path that is taken where this one has led to MaxRows rows and is
	// not at its end; nil where there is none.
	Then    *AccessPath
	MaxRows int64
	Notes   []string // what else the road tells, in its own words
}

// Access is the way to the rows.
type Access string

// The ways.
const (
	AccessNone       Access = "none"        // nothing can match: nothing is read
	AccessKey        Access = "key_read"    // one row by its primary key
	AccessIndexRange Access = "index_range" // parts of an index
	AccessIndexScan  Access = "index_scan"  // all of an index
	AccessTableScan  Access = "table_scan"
	AccessOther      Access = "other" // see AccessPath.Notes
)

// OrderMethod is how the rows come into their order.
type OrderMethod string

// The methods.
const (
	OrderNone      OrderMethod = "none"       // there is at most one row
	OrderIndex     OrderMethod = "index"      // as the index has them; reading ends with the page
	OrderIndexSort OrderMethod = "index_sort" // as the index has them, ties sorted; reading ends with the ties of the page's last row
	OrderSort      OrderMethod = "sort"       // all that match are read, and the first ones kept
)
