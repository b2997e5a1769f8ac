package store

import (
	"context"
	"errors"
)

// Durable is a road that can tell when writes are on disk. Roads need not
// implement it; see CheckDurable.
type Durable interface {
	// WaitDurable returns once every write that this road has acknowledged
	// before the call is on disk, so that it survives the loss of the whole
	// cluster. Any error leaves open whether it is; it says nothing about the
	// writes themselves, which stay done.
	WaitDurable(ctx context.Context) error
}

// errNeverDurable is the error of a road that is no Durable.
var errNeverDurable = errors.New("the road cannot tell when a write is on disk")

// CheckDurable returns the road as a Durable, or why there is no use in a write
// that is to be waited for: ErrUnavailable, or another error where the road can
// never tell. A road that can tell only at times has a method CheckDurable()
// error. It makes no round trip, and promises nothing about a later moment.
func CheckDurable(road Employees) (Durable, error) {
	d, ok := road.(Durable)
	if !ok {
		return nil, errNeverDurable
	}
	if c, ok := road.(interface{ CheckDurable() error }); ok {
		if err := c.CheckDurable(); err != nil {
			return nil, err
		}
	}
	return d, nil
}
