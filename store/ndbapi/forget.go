package ndbapi

import (
	"context"
	"reflect"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// ForgetAnswers implements store.Idempotency: it looks for expired answers by
// their index, and deletes those that are still expired, all in one transaction.
func (s *Store) ForgetAnswers(ctx context.Context, now time.Time, limit int) (forgotten int, err error) {
	err = s.with(ctx, "forget answers", 0, func(x *Session) error {
		t, err := x.beginType(answerType, reflect.Value{}, true)
		if err != nil {
			return err
		}
		for t.next(ctx) {
			forgotten, t.err = t.forget(ctx, now.UnixMilli(), min(limit, store.MaxForget))
		}
		return s.mayLackAnswers(t.result(ctx))
	})
	return forgotten, err
}

func (t *tries) forget(ctx context.Context, now int64, limit int) (int, error) {
	expires := t.work.column("Expires")
	keys, err := t.expired(ctx, expires, now, limit)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	tx, err := t.client.Begin(ctx, keys[0])
	if err != nil {
		return 0, err
	}
	defer tx.Close()
	ops := make([]*ndb.Operation, len(keys))
	for i, key := range keys {
		ops[i] = tx.Delete(key).If(ndb.Le(expires, now)).IgnoreError()
	}
	if err := t.commit(ctx, tx); err != nil {
		return 0, err
	}
	forgotten := 0
	for _, op := range ops {
		switch err := op.Err(); {
		case err == nil:
			forgotten++
		case !isConditionFalse(err) && !isClass(err, ndb.ClassNoDataFound): // another one was faster
			return forgotten, err
		}
	}
	return forgotten, nil
}

// expired finds the keys of at most limit rows.
func (t *tries) expired(ctx context.Context, expires *ndb.Column, now int64, limit int) ([]*ndb.Values, error) {
	m := t.work.mapping
	names := make([]string, len(m.key))
	for i, place := range m.key {
		names[i] = m.columns[place].Name
	}
	columns, err := m.table.Select(names...)
	if err != nil {
		return nil, err
	}
	scan := ndb.Scan{Table: m.table, Columns: columns, Filter: ndb.Le(expires, now), Limit: limit}
	for _, index := range m.ordered {
		if index.Columns[0] == expires {
			scan.Index, scan.Ranges, scan.Filter = index, []ndb.Range{{High: []any{now}}}, nil
		}
	}
	scanner, err := t.client.Scan(ctx, scan)
	if err != nil {
		return nil, err
	}
	defer scanner.Close()
	var keys []*ndb.Values
	for scanner.Next(ctx) {
		key := m.table.NewValues()
		for i, place := range m.key {
			value, err := scanner.Row().Bytes(i)
			if err != nil {
				return nil, err
			}
			key.Bytes(m.columns[place], value)
		}
		keys = append(keys, key)
	}
	return keys, scanner.Err()
}
