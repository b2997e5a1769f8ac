package api

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Request headers that are about roads. They choose the answer, so every answer
// of a call that takes a road names them in Vary.
const (
	backendHeader    = "X-Backend"
	compareHeader    = "X-Backend-Compare"
	durabilityHeader = "X-Durability"

	varyOnRoad = backendHeader + ", " + compareHeader + ", " + durabilityHeader
)

// reading adapts a handler that reads by a road. The handler may be called
// twice at the same time, with two exchanges; see comparison.
func (s *server) reading(h handler) http.HandlerFunc {
	return s.onRoad(func(x *exchange) error {
		if _, given := x.r.Header[durabilityHeader]; given {
			return refuseHeader(durabilityHeader, "unsupported", "is for calls that write")
		}
		if _, given := x.r.Header[compareHeader]; given {
			return s.compare(x, h)
		}
		return h(x)
	})
}

// writing adapts a handler that writes by a road.
func (s *server) writing(h handler) http.HandlerFunc {
	return s.onRoad(func(x *exchange) error {
		if err := chooseWriting(x); err != nil {
			return err
		}
		return h(x)
	})
}

// chooseWriting reads the headers about roads of a call that writes.
func chooseWriting(x *exchange) error {
	if _, given := x.r.Header[compareHeader]; given {
		return refuseHeader(compareHeader, "unsupported", "is for calls that read: a write goes one road")
	}
	if _, given := x.r.Header[durabilityHeader]; given {
		return chooseDurability(x)
	}
	return nil
}

// onRoad adapts a handler that takes a road. The deadline ends it, and nothing
// else: net/http takes a client that has closed its sending side for one that
// has left, and a write that is cut off ends with an unknown outcome and a
// broken connection to the database.
func (s *server) onRoad(h handler) http.HandlerFunc { return s.onRoadFor(s.requestTimeout, h) }

// onRoadFor is onRoad with another deadline.
func (s *server) onRoadFor(timeout time.Duration, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout)
		defer cancel()
		x := &exchange{w: w, r: r, ctx: ctx, begun: time.Now()}
		defer x.leavePlace() // after a panic
		w.Header().Set("Vary", s.vary)
		if err := s.chooseRoad(x); err != nil {
			s.finish(x, err)
			return
		}
		s.finish(x, h(x))
	}
}

// chooseRoad finds the backend that the header X-Backend names. A request that
// names none gets a default by its ID.
func (s *server) chooseRoad(x *exchange) error {
	wanted, err := onlyValue(x.r.Header, backendHeader)
	if err != nil {
		return err
	}
	info := infoOf(x.r.Context())
	name, backend, ok := s.backends.Lookup(wanted)
	if wanted == "" {
		name, backend, ok = s.backends.Choose(info.id)
	}
	if !ok {
		return s.unknownBackend(backendHeader)
	}
	x.store, x.road, info.road = backend, name, name
	x.places = s.places[name]
	x.w.Header().Set(backendHeader, name)
	return nil
}

func (s *server) unknownBackend(header string) *problem {
	return newProblem(codeUnknownBackend, header+" must be one of: "+strings.Join(s.backends.Names(), ", "))
}

// onlyValue is the value of a header, empty where it is absent. The name is in
// its canonical form.
func onlyValue(h http.Header, name string) (string, error) {
	switch values := h[name]; len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	default:
		return "", newProblem(codeInvalidHeader, "the header "+name+" must be given once", headerFault(name, "repeated", "must be given once"))
	}
}

func refuseHeader(name, rule, detail string) *problem {
	return newProblem(codeInvalidHeader, "the header "+name+" is wrong", headerFault(name, rule, detail))
}
