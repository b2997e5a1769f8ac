package ndbapi

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// mapper keeps the mapping of one type, and makes it anew when the table has
// changed.
type mapper struct {
	shape    *shape
	database string
	interval time.Duration // for which a table that does not fit is left alone

	latest atomic.Pointer[learnt]
	turn   chan struct{} // holds one: who has it may replace latest
}

// learnt is a mapping, or why there is none.
type learnt struct {
	mapping *mapping
	err     error // of ErrUnavailable
	at      time.Time
}

func newMapper(t reflect.Type, cfg *Config) (*mapper, error) {
	shape, err := newShape(t)
	if err != nil {
		return nil, err
	}
	p := &mapper{shape: shape, database: cfg.Database, interval: cfg.CheckInterval, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p, nil
}

// get returns the mapping. It reads the dictionary only where there is none yet,
// or where it is old.
func (p *mapper) get(ctx context.Context, client *ndb.Client) (*mapping, error) {
	l := p.latest.Load()
	switch {
	case l == nil:
	case l.mapping != nil && l.mapping.isCurrent():
		return l.mapping, nil
	case l.err != nil && time.Since(l.at) < p.interval:
		return nil, l.err
	}
	return p.learn(ctx, client, l)
}

// learn makes the mapping anew, unless another caller has just done that.
func (p *mapper) learn(ctx context.Context, client *ndb.Client, old *learnt) (*mapping, error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l := p.latest.Load(); l != old {
		return l.mapping, l.err
	}
	table, err := client.Table(ctx, p.database, p.shape.table)
	if err == nil && old != nil && (old.err != nil || old.mapping.table == table && old.mapping.isCurrent()) {
		// The client may know the table that did not fit, or that failed, and not
		// that it was dropped or made anew.
		err = table.Refresh(ctx)
	}
	if err != nil && !isClass(err, ndb.ClassSchema) {
		return nil, err // which says nothing about the table
	}
	l := &learnt{at: time.Now()}
	if err == nil {
		l.mapping, err = newMapping(p.shape, table)
	}
	if err != nil {
		l.err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	p.latest.Store(l)
	return l.mapping, l.err
}

// check makes the mapping anew where the dictionary has another definition than
// the one in use, or where that does not fit. The cluster tells of altered
// tables, and goes on with those who know only the old definition.
func (p *mapper) check(ctx context.Context, client *ndb.Client) error {
	l := p.latest.Load()
	if l != nil && l.mapping != nil && l.mapping.isCurrent() {
		table, err := client.Table(ctx, p.database, p.shape.table)
		if err != nil && !isClass(err, ndb.ClassSchema) || table == l.mapping.table {
			return err
		}
	}
	_, err := p.learn(ctx, client, l)
	return err
}

// misfit is why the table cannot be used, or nil as far as is known.
func (p *mapper) misfit() error {
	if l := p.latest.Load(); l != nil {
		return l.err
	}
	return nil
}

// relearn makes the mapping anew where an operation failed in a way that may
// come from an old one, and tells whether there is another one now.
func (p *mapper) relearn(ctx context.Context, client *ndb.Client, used *mapping) (changed bool, err error) {
	l := p.latest.Load()
	if l != nil && l.mapping == used {
		if _, err := p.learn(ctx, client, l); err != nil {
			return false, err
		}
	}
	m, err := p.get(ctx, client)
	return m != used, err
}
