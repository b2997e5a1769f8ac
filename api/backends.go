package api

import (
	"net/http"

	"github.com/ndbgate/ndbgate/store"
)

type backendList struct {
	Default  string        `json:"default"`
	Weights  []weightView  `json:"weights"`
	Backends []backendView `json:"backends"`
}

// weightView is the share of a backend in the requests that choose none.
type weightView struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
}

type backendView struct {
	Name   string     `json:"name"`
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Nodes  []nodeView `json:"nodes"`
}

type nodeView struct {
	Address     string  `json:"address"`
	State       string  `json:"state"`
	Max         int     `json:"max"`
	InUse       int     `json:"in_use"`
	Idle        int     `json:"idle"`
	Waiting     int     `json:"waiting"`
	Waits       int64   `json:"waits"`
	WaitSeconds float64 `json:"wait_seconds"`
}

// listBackends tells what is known of every road without asking it.
func (s *server) listBackends(x *exchange) error {
	if err := checkNoQuery(x.r); err != nil {
		return err
	}
	list := backendList{Default: s.backends.Default(), Weights: weightsOf(s.backends)}
	for _, name := range s.backends.Names() {
		_, backend, _ := s.backends.Lookup(name)
		list.Backends = append(list.Backends, viewOf(name, backend.Status()))
	}
	x.w.Header().Set("Cache-Control", "no-store")
	return x.json(http.StatusOK, list)
}

func weightsOf(backends *store.Registry) []weightView {
	var views []weightView
	for _, share := range backends.Defaults() {
		views = append(views, weightView(share))
	}
	return views
}

func viewOf(name string, status store.Status) backendView {
	view := backendView{Name: name, State: stateText(status.Up), Reason: status.Reason, Nodes: []nodeView{}}
	for _, n := range status.Nodes {
		view.Nodes = append(view.Nodes, nodeView{
			Address:     n.Address,
			State:       stateText(n.Up),
			Max:         n.Max,
			InUse:       n.InUse,
			Idle:        n.Idle,
			Waiting:     n.Waiting,
			Waits:       n.Waits,
			WaitSeconds: n.WaitTime.Seconds(),
		})
	}
	return view
}

func stateText(up bool) string {
	if up {
		return "up"
	}
	return "down"
}
