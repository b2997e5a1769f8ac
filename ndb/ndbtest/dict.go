package ndbtest

import (
	"slices"
	"strconv"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is DBDICT as API nodes see it:
//
//   - GET_TABINFOREQ finds tables, indexes and hash maps by name or id, and
//     answers in fragments where the description is long; 723 where there is
//     nothing;
//   - an id beyond the schema file stops a real data node;
//   - LIST_TABLES_REQ lists all objects, or the indexes of a table;
//   - ALTER_TABLE_REP goes out from each data node when a table was altered, and
//     not when it was dropped;
//   - the ids of dropped objects are used again, with the next major version.

const (
	hashMapID      = 1
	hashMapBuckets = 3840
	firstObjectID  = 7     // those below belong to system tables, which are not there
	maxTableID     = 3000  // TCKEYREQ with such an id, or above, stops a data node
	maxObjectID    = 20320 // of the schema file; where its real end is depends on the configuration

	codeNoSuchObject = 723

	maxPlainWords = 7400 // longer answers come in pieces
	pieceWords    = 240
)

// dictionary is all objects. Guarded by Cluster.mu.
type dictionary struct {
	hashMap  *dictinfo.HashMap
	replicas [][]signal.NodeID        // of each fragment of each table
	tables   map[uint32]*table        // user tables and unique indexes
	ordered  map[uint32]*orderedIndex // ordered indexes
	versions map[uint32]uint32        // the last major version of each id
}

func (d *dictionary) begin(c *Cluster) {
	*d = dictionary{tables: map[uint32]*table{}, ordered: map[uint32]*orderedIndex{}, versions: map[uint32]uint32{}}
	d.replicas = c.opt.fragments()
	d.hashMap = &dictinfo.HashMap{
		Name: "DEFAULT-HASHMAP-3840-" + strconv.Itoa(len(d.replicas)), ID: hashMapID, Version: 1,
		Buckets: make([]uint16, hashMapBuckets),
	}
	for i := range d.hashMap.Buckets {
		d.hashMap.Buckets[i] = uint16(i % len(d.replicas))
	}
}

// fragments spreads as many fragments as there are data nodes over the groups,
// with a primary on each node.
func (o *options) fragments() [][]signal.NodeID {
	replicas := o.replicas()
	groups := o.dataNodes / replicas
	var all [][]signal.NodeID
	for f := range o.dataNodes {
		first := firstDataNode + f%groups*replicas
		var nodes []signal.NodeID
		for r := range replicas {
			nodes = append(nodes, signal.NodeID(first+(f/groups+r)%replicas))
		}
		all = append(all, nodes)
	}
	return all
}

// freeID returns the lowest id that is free, and the version of its next object.
func (d *dictionary) freeID() (id, version uint32) {
	id = firstObjectID
	for d.tables[id] != nil || d.ordered[id] != nil {
		id++
	}
	d.versions[id]++
	return id, d.versions[id]
}

// description returns the description of a table or an ordered index, or nil.
func (d *dictionary) description(id uint32) *dictinfo.Table {
	if t := d.tables[id]; t != nil {
		return t.desc
	}
	if index := d.ordered[id]; index != nil {
		return index.desc
	}
	return nil
}

// all returns all tables and indexes by id.
func (d *dictionary) all() []*dictinfo.Table {
	var all []*dictinfo.Table
	for id := range d.tables {
		all = append(all, d.description(id))
	}
	for id := range d.ordered {
		all = append(all, d.description(id))
	}
	slices.SortFunc(all, func(a, b *dictinfo.Table) int { return int(a.ID) - int(b.ID) })
	return all
}

func (d *dictionary) byName(name string) *dictinfo.Table {
	for _, desc := range d.all() {
		if desc.Name == name {
			return desc
		}
	}
	return nil
}

// userTable returns the table of that internal name, or nil.
func (d *dictionary) userTable(name string) *table {
	if desc := d.byName(name); desc != nil && desc.Type == dictinfo.ObjectUserTable {
		return d.tables[desc.ID]
	}
	return nil
}

func (l *link) onGetTabInfoReq(m *signal.Message) {
	if id, outside := outsideSchemaFile(m); outside {
		l.violates(m.GSN, "an object is asked for by an id of the dictionary", effectStops, "id %d", id)
		return
	}
	var req signal.GetTabInfoReq
	if err := req.Decode(m); err != nil {
		if badName(m) {
			l.refuseTabInfo(m)
			return
		}
		l.malformed(m, err)
		return
	}
	d := &l.node.cluster.dictionary
	id, byID := req.ID()
	var desc *dictinfo.Table
	switch {
	case byID && id == hashMapID, req.Name() == d.hashMap.Name:
		l.sendTabInfo(&req, hashMapID, dictinfo.ObjectHashMap, d.hashMap.AppendTo(nil))
		return
	case byID:
		desc = d.description(id)
	default:
		desc = d.byName(req.Name())
	}
	if desc == nil {
		l.refuseTabInfo(m)
		return
	}
	l.sendTabInfo(&req, desc.ID, desc.Type, desc.AppendTo(nil))
}

// Words of GET_TABINFOREQ.
const (
	tabInfoTypeWord  = 2
	tabInfoIDWord    = 3
	tabInfoByName    = 1 // of the type
	getTabInfoLength = 5
)

func outsideSchemaFile(m *signal.Message) (id uint32, outside bool) {
	if len(m.Data) != getTabInfoLength*word.SizeBytes || word.At(m.Data, tabInfoTypeWord)&tabInfoByName != 0 {
		return 0, false
	}
	id = word.At(m.Data, tabInfoIDWord)
	return id, id >= maxObjectID
}

// badName tells a name without NUL or of length 0, for which there is an error.
func badName(m *signal.Message) bool {
	return len(m.Data) == getTabInfoLength*word.SizeBytes && word.At(m.Data, tabInfoTypeWord)&tabInfoByName != 0 && m.NumSections == 1
}

func (l *link) refuseTabInfo(m *signal.Message) {
	l.send(signal.BlockDBDICT, signal.BlockRef(word.At(m.Data, 1)).Block(), &signal.GetTabInfoRef{
		RequestID: word.At(m.Data, 0), Ref: signal.NewBlockRef(signal.BlockDBDICT, l.node.id), Error: codeNoSuchObject,
	})
}

func (l *link) sendTabInfo(req *signal.GetTabInfoReq, id uint32, kind dictinfo.ObjectType, properties []byte) {
	conf := signal.GetTabInfoConf{RequestID: req.RequestID, TableID: id, TableType: uint32(kind), Properties: properties}
	l.sendLong(signal.BlockDBDICT, req.Ref.Block(), &conf)
}

// sendLong sends in fragments what is too long for one message.
func (l *link) sendLong(sender, receiver signal.Block, s signal.Incoming) {
	o := &outgoing{message: toMessage(sender, receiver, s)}
	words := 0
	for _, section := range o.message.Sections {
		words += len(section) / word.SizeBytes
	}
	if words > maxPlainWords {
		o.pieces = pieceWords
	}
	l.enqueue(o)
}

func (l *link) onListTablesReq(m *signal.Message) {
	var req signal.ListTablesReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	d := &l.node.cluster.dictionary
	conf := signal.ListTablesConf{RequestID: req.RequestID}
	add := func(id uint32, kind dictinfo.ObjectType, store uint8, name string) {
		if req.TableType != 0 && req.TableType != uint32(kind) {
			return
		}
		o := signal.ListedObject{ID: id, Type: uint32(kind), State: signal.ObjectOnline, Store: store}
		if req.Flags&signal.ListNames != 0 {
			o.Name = name
		}
		conf.Objects = append(conf.Objects, o)
	}
	if req.Flags&signal.ListIndexes == 0 {
		add(d.hashMap.ID, dictinfo.ObjectHashMap, storeNone, d.hashMap.Name)
	}
	for _, desc := range d.all() {
		if req.Flags&signal.ListIndexes == 0 || desc.IsIndex() && desc.BaseID == req.TableID {
			add(desc.ID, desc.Type, storeOf(desc), desc.Name)
		}
	}
	l.sendLong(signal.BlockDBDICT, req.Ref.Block(), &conf)
}

const (
	storeNone      = 0
	storeNotLogged = 1
	storeLogged    = 2
)

func storeOf(desc *dictinfo.Table) uint8 {
	if desc.Logged {
		return storeLogged
	}
	return storeNotLogged
}

// announce tells all API nodes that a table was altered, from each data node.
func (c *Cluster) announce(desc *dictinfo.Table, oldVersion uint32) {
	rep := signal.AlterTableRep{TableID: desc.ID, OldVersion: oldVersion, Change: signal.TableAltered, Name: desc.Name}
	for _, n := range c.liveNodes() {
		for _, l := range n.links {
			if l.registered {
				l.send(signal.BlockDBDICT, signal.BlockCluster, &rep)
			}
		}
	}
}
