package ndbapi

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ndbgate/ndbgate/ndb"
)

// Session is the right to run one transaction at a time, and the memory for it:
// what ClusterJ calls a session. Its methods take pointers to structs with GORM's
// tags: the names of table and columns and the primary key count. Each method is
// one transaction, done again where it surely was not done and may succeed; see
// tries. Errors have the kinds of package store. It is not safe for concurrent
// use, and must not be used after Close.
type Session struct {
	store *Store
	works map[reflect.Type]*work
	last  *work // of works: most sessions have one type
}

// work is what a session keeps for one type.
type work struct {
	mapper  *mapper
	mapping *mapping
	values  *ndb.Values
	other   *ndb.Values // for a second operation of a transaction
	row     ndb.Row
	decoder decoder
}

// Session takes a session out of the pool. It waits for one until the context
// ends, and then returns ErrUnavailable; so it does at once where too many wait
// already, and where there is no connection to the cluster.
func (s *Store) Session(ctx context.Context) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := s.connected(); err != nil {
		return nil, err
	}
	return s.pool.get(ctx)
}

// Close gives the session back.
func (x *Session) Close() { x.store.pool.put(x) }

// Find reads the row whose primary key row has, as it was last committed, into
// row, or returns ErrNotFound and leaves it alone. One round trip.
func (x *Session) Find(ctx context.Context, row any) error {
	t, err := x.begin(row, false)
	if err != nil {
		return err
	}
	for t.next(ctx) {
		t.err = t.find(ctx)
	}
	return t.result(ctx)
}

func (t *tries) find(ctx context.Context) error {
	w := t.work
	if err := w.mapping.encode(w.values, w.mapping.key, t.row); err != nil {
		return err
	}
	if err := t.client.Read(ctx, w.values, w.mapping.read, &w.row); err != nil {
		return err
	}
	return w.decoder.decode(w.mapping, &w.row, t.row)
}

// Persist inserts the row, or returns ErrConflict where its primary key exists.
// One round trip.
func (x *Session) Persist(ctx context.Context, row any) error {
	t, err := x.begin(row, true)
	if err != nil {
		return err
	}
	for t.next(ctx) {
		t.err = t.one(ctx, t.work.mapping.all, (*ndb.Client).Insert)
	}
	return t.result(ctx)
}

// one runs a transaction of one operation.
func (t *tries) one(ctx context.Context, set []int, run func(*ndb.Client, context.Context, *ndb.Values) (ndb.GCI, error)) error {
	w := t.work
	if err := w.mapping.encode(w.values, set, t.row); err != nil {
		return err
	}
	gci, err := run(t.client, ctx, w.values)
	return t.committed(gci, err)
}

// committed notes a commit that read nothing, or says why it failed.
func (t *tries) committed(gci ndb.GCI, err error) error {
	if wasCommitted(err) {
		gci, err = ndb.UnknownGCI, nil // nothing was to be read
	}
	if err == nil {
		t.session.store.commits.acknowledge(gci)
	}
	return err
}

// Update changes the named fields of the row whose primary key row has, or all
// where none is named, or returns ErrNotFound. One round trip.
func (x *Session) Update(ctx context.Context, row any, fields ...string) error {
	t, err := x.begin(row, true)
	if err != nil {
		return err
	}
	set, err := t.work.mapper.shape.withKey(fields)
	if err != nil {
		return err
	}
	for t.next(ctx) {
		t.err = t.one(ctx, set, (*ndb.Client).Update)
	}
	return t.result(ctx)
}

// Delete removes the row whose primary key row has, or returns ErrNotFound. One
// round trip.
func (x *Session) Delete(ctx context.Context, row any) error {
	t, err := x.begin(row, true)
	if err != nil {
		return err
	}
	for t.next(ctx) {
		t.err = t.one(ctx, t.work.mapping.key, (*ndb.Client).Delete)
	}
	return t.result(ctx)
}

// begin prepares the tries of a call. row is a pointer to a struct.
func (x *Session) begin(row any, write bool) (tries, error) {
	v := reflect.ValueOf(row)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return tries{}, fmt.Errorf("a row is a pointer to a struct, not %T", row)
	}
	return x.beginType(v.Elem().Type(), v.Elem(), write)
}

func (x *Session) beginType(t reflect.Type, row reflect.Value, write bool) (tries, error) {
	client, err := x.store.connected()
	if err != nil {
		return tries{}, err
	}
	w, err := x.workOf(t)
	if err != nil {
		return tries{}, err
	}
	return tries{session: x, client: client, work: w, row: row, write: write}, nil
}

func (x *Session) workOf(t reflect.Type) (*work, error) {
	if x.last != nil && x.last.mapper.shape.typ == t {
		return x.last, nil
	}
	w, ok := x.works[t]
	if !ok {
		p, err := x.store.mapperOf(t)
		if err != nil {
			return nil, err
		}
		w = &work{mapper: p}
		x.works[t] = w
	}
	x.last = w
	return w, nil
}

// update makes the work one with the mapping that is current.
func (w *work) update(ctx context.Context, client *ndb.Client) error {
	m, err := w.mapper.get(ctx, client)
	if err == nil {
		w.follow(m)
	}
	return err
}

// follow makes the work one with the mapping.
func (w *work) follow(m *mapping) {
	if w.mapping == m {
		return
	}
	w.mapping, w.values, w.other, w.row = m, m.table.NewValues(), m.table.NewValues(), ndb.Row{}
}
