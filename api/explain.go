package api

import (
	"net/http"

	"github.com/ndbgate/ndbgate/store"
)

// explainView is a page without employees.
type explainView struct {
	Employees [0]struct{}    `json:"employees"`
	Explain   accessPathView `json:"explain"`
}

// accessPathView is a store.AccessPath.
type accessPathView struct {
	Access    string          `json:"access"`
	Index     string          `json:"index,omitempty"`
	Ranges    []string        `json:"ranges,omitempty"`
	Direction string          `json:"direction,omitempty"`
	Filter    string          `json:"filter,omitempty"`
	Order     string          `json:"order"`
	Rows      *int64          `json:"rows,omitempty"`
	MaxRows   int64           `json:"max_rows,omitzero"`
	Then      *accessPathView `json:"then,omitempty"`
	Notes     []string        `json:"notes,omitempty"`
}

// explainList answers a list with the way to its employees instead of these.
// Each road has its own, so there is nothing to compare.
func explainList(x *exchange, p *listParameters) error {
	if _, given := x.r.Header[compareHeader]; given {
		return refuseHeader(compareHeader, "unsupported", "is not for explain=true: each road has its own way")
	}
	if p.query.Limit == 0 {
		p.query.Limit = defaultPageSize
	}
	done, err := x.timed()
	if err != nil {
		return err
	}
	path, err := queriesOf(x).Explain(x.ctx, p.query)
	done()
	if err != nil {
		return p.refused(err)
	}
	x.w.Header().Set("Cache-Control", "private, no-cache")
	return x.json(http.StatusOK, explainView{Explain: *viewOfPath(&path)})
}

func viewOfPath(path *store.AccessPath) *accessPathView {
	view := &accessPathView{
		Access: string(path.Access), Index: path.Index, Ranges: path.Ranges, Filter: path.Filter, Order: string(path.Order),
		Rows: path.Rows, MaxRows: path.MaxRows, Notes: path.Notes,
	}
	if path.Index != "" {
		view.Direction = "ascending"
		if path.Descending {
			view.Direction = "descending"
		}
	}
	if path.Then != nil {
		view.Then = viewOfPath(path.Then)
	}
	return view
}
