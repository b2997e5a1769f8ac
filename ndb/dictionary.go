package ndb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

const (
	// busyPause is how long a dictionary that is busy is left alone.
	busyPause = 75 * time.Millisecond
	busyTries = 40

	// readTries is how often a table is read that is altered while it is read.
	readTries = 3
)

// dictionary keeps the definitions of tables. All come from the cluster as it
// is: when the last data node is lost, all are void, because the next cluster
// may give their IDs to others.
type dictionary struct {
	client *Client

	changes atomic.Uint64 // how often the cluster has said that a table was altered, or was lost

	mu     sync.Mutex // guards all below, and changes of changes
	tables map[string]*Table
}

func newDictionary(c *Client) *dictionary {
	return &dictionary{client: c, tables: map[string]*Table{}}
}

// Table finds a table. Names are case sensitive, as they were stored. A table
// that is not there is an error of ClassSchema with the code 723.
func (c *Client) Table(ctx context.Context, database, name string) (*Table, error) {
	internal, err := dictinfo.TableName(database, name)
	if err != nil {
		return nil, fmt.Errorf("ndb: %w", err)
	}
	if t := c.dict.known(internal); t != nil {
		return t, nil
	}
	begun := c.callBegins()
	t := &Table{client: c, database: database, name: name, internal: internal}
	trip := trip{op: CallTable, table: t}
	known, err := c.dict.find(ctx, t, &trip)
	if !begun.IsZero() {
		c.callEnds(ctx, begun, trip.call(0, err))
	}
	return known, err
}

// find reads the table and keeps it for others. It returns the one that is kept.
func (d *dictionary) find(ctx context.Context, t *Table, trip *trip) (*Table, error) {
	ctx, cancel := d.client.bounded(ctx)
	defer cancel()
	for tries := 1; ; tries++ {
		changes := d.changes.Load()
		def, err := d.read(ctx, t, nil, trip)
		if err != nil {
			return nil, err
		}
		t.def.Store(def)
		known, kept := d.keep(t, changes)
		if kept {
			return known, nil
		}
		if tries == readTries {
			t.outdated.Store(true)
			return t, nil
		}
	}
}

// read is load, which it tells of. old is the definition of before, nil for none.
func (d *dictionary) read(ctx context.Context, t *Table, old *definition, trip *trip) (*definition, error) {
	begun := time.Now()
	def, err := d.load(ctx, t.internal)
	d.client.traceRead(t, old, def, begun, err)
	if err == nil {
		trip.waits += def.requests
	}
	return def, err
}

func (d *dictionary) known(internal string) *Table {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tables[internal]
}

// keep keeps a table for others, unless there were changes since it began to be
// read: what was read may be older than they. It returns the table that is kept,
// perhaps one that somebody else has read meanwhile.
func (d *dictionary) keep(t *Table, changes uint64) (_ *Table, kept bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.tables[t.internal]; known != nil {
		return known, true
	}
	if d.changes.Load() != changes {
		return t, false
	}
	d.tables[t.internal] = t
	return t, true
}

// altered is called when the cluster says that a table was altered. Operations
// go on with the old definition, which the data nodes still understand; the next
// call of Table reads the new one.
func (d *dictionary) altered(internal string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes.Add(1)
	if t := d.tables[internal]; t != nil {
		t.outdated.Store(true)
		delete(d.tables, internal)
	}
}

// dropAll is called when the last data node is lost. Tables that callers still
// hold are read again before they are used: see errOtherCluster.
func (d *dictionary) dropAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes.Add(1)
	for _, t := range d.tables {
		t.outdated.Store(true)
	}
	clear(d.tables)
}

// load reads a table with its hash map and its indexes.
func (d *dictionary) load(ctx context.Context, internal string) (*definition, error) {
	epoch := d.client.cluster.epoch.Load() // before anything is read
	info, err := d.describe(ctx, internal)
	if err != nil {
		return nil, err
	}
	if info.Type != dictinfo.ObjectUserTable && info.Type != dictinfo.ObjectSystemTable {
		return nil, fmt.Errorf("ndb: %s is no table", internal)
	}
	var hashMap *dictinfo.HashMap
	if info.FragmentType == dictinfo.FragmentHashMap && info.HashMapID != dictinfo.NoHashMap {
		if hashMap, err = d.hashMap(ctx, info.HashMapID); err != nil {
			return nil, err
		}
	}
	def := newDefinition(epoch, info, hashMap)
	def.requests = 1
	if hashMap != nil {
		def.requests++
	}
	return def, d.loadIndexes(ctx, def)
}

// loadIndexes adds the indexes that can be used.
func (d *dictionary) loadIndexes(ctx context.Context, def *definition) error {
	var list signal.ListTablesConf
	err := d.ask(ctx, signal.GSNListTablesReq, signal.GSNListTablesConf, func(l *link, id uint32) error {
		return transporter.Send(l.conn, signal.BlockAPI, &signal.ListTablesReq{
			RequestID: id, Ref: l.api.ref(), Flags: signal.ListNames | signal.ListIndexes, TableID: def.id,
		})
	}, list.Decode)
	if err != nil {
		return fmt.Errorf("list the indexes of %s: %w", def.info.Name, err)
	}
	def.requests++
	for _, o := range list.Objects {
		kind := dictinfo.ObjectType(o.Type)
		if o.State != signal.ObjectOnline || kind != dictinfo.ObjectOrderedIndex && kind != dictinfo.ObjectUniqueIndex {
			continue
		}
		info, err := d.describe(ctx, o.Name)
		if err != nil {
			return err
		}
		def.requests++
		if err := def.addIndex(info); err != nil {
			return err
		}
	}
	return nil
}

// describe reads the description of a table or an index.
func (d *dictionary) describe(ctx context.Context, internal string) (*dictinfo.Table, error) {
	var info *dictinfo.Table
	err := d.ask(ctx, signal.GSNGetTabInfoReq, signal.GSNGetTabInfoConf, func(l *link, id uint32) error {
		req, err := signal.NewGetTabInfoByName(id, l.api.ref(), internal)
		if err != nil {
			return err
		}
		return transporter.Send(l.conn, signal.BlockAPI, req, req.Sections()...)
	}, func(m *signal.Message) (err error) {
		var conf signal.GetTabInfoConf
		if err = conf.Decode(m); err == nil {
			info, err = dictinfo.Decode(conf.Properties)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the definition of %s: %w", internal, err)
	}
	return info, nil
}

// hashMap reads a hash map whose ID a table's description has just given.
func (d *dictionary) hashMap(ctx context.Context, mapID uint32) (*dictinfo.HashMap, error) {
	var hashMap *dictinfo.HashMap
	err := d.ask(ctx, signal.GSNGetTabInfoReq, signal.GSNGetTabInfoConf, func(l *link, id uint32) error {
		req := signal.NewGetTabInfoByID(id, l.api.ref(), mapID)
		return transporter.Send(l.conn, signal.BlockAPI, req, req.Sections()...)
	}, func(m *signal.Message) (err error) {
		var conf signal.GetTabInfoConf
		if err = conf.Decode(m); err == nil {
			hashMap, err = dictinfo.DecodeHashMap(conf.Properties)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read hash map %d: %w", mapID, err)
	}
	return hashMap, nil
}

// ask sends one request to the dictionary of any data node, and again after a
// while where that is busy.
func (d *dictionary) ask(ctx context.Context, kind, want signal.GSN, send func(*link, uint32) error, decode func(*signal.Message) error) error {
	for tries := 1; ; tries++ {
		err := d.askOnce(ctx, kind, want, send, decode)
		var e *Error
		if tries == busyTries || !errors.As(err, &e) || e.Code != 701 && e.Code != 711 {
			return err
		}
		timer := time.NewTimer(busyPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func (d *dictionary) askOnce(ctx context.Context, kind, want signal.GSN, send func(*link, uint32) error, decode func(*signal.Message) error) error {
	api, err := d.client.nextAPINode()
	if err != nil {
		return err
	}
	l, err := api.coordinator(nil)
	if err != nil {
		return err
	}
	answer, err := d.client.replies.request(ctx, l, kind, func(id uint32) error { return send(l, id) })
	if err != nil {
		return err
	}
	if answer.GSN == want {
		return decode(answer)
	}
	var refused signal.GetTabInfoRef
	if err := refused.Decode(answer); err != nil {
		return err
	}
	return classify(int(refused.Error))
}
