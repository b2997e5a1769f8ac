package dictinfo

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Keys of the properties of tables and indexes. Columns follow them, each with
// its own keys.
const (
	keyName             = 1
	keyID               = 2
	keyVersion          = 3
	keyLogged           = 4
	keyNumKeyColumns    = 5
	keyNumColumns       = 6
	keyKeyWords         = 12
	keyFragmentType     = 13
	keyType             = 18
	keyBaseName         = 19
	keyBaseID           = 20
	keyIndexState       = 21
	keyPartitionBalance = 127
	keyNumFragments     = 128
	keyReplicaDataBytes = 137
	keyReplicaData      = 138
	keyRowGCI           = 150
	keyRowChecksum      = 151
	keySingleUserMode   = 152
	keyHashMapID        = 153
	keyHashMapVersion   = 154
	keyReadBackup       = 158
	keyFullyReplicated  = 159
	keyEndOfTable       = 999
)

const (
	maxColumns  = 512 // the most that NDB Cluster allows
	maxReplicas = 4
)

// counts are properties that say again what others show.
type counts struct {
	columns, keyColumns, fragments uint32
	hasColumns                     bool
}

// Decode reads the description of a table or an index. Columns come in the
// order of their ids. Where no column carries the distribution key's flag, the
// key columns get it: that is what it means. It keeps no reference to src; its
// errors wrap ErrMalformed.
func Decode(src []byte) (*Table, error) {
	t := &Table{HashMapID: NoHashMap}
	var n counts
	var column *Column // the one that is being read
	for ended := false; !ended; {
		p, rest, err := nextProperty(src)
		if err != nil {
			return nil, err
		}
		src = rest
		switch {
		case column != nil:
			column, err = column.decode(&p)
		case p.key == keyColumnName:
			if len(t.Columns) == maxColumns {
				return nil, fmt.Errorf("%w: more than %d columns", ErrMalformed, maxColumns)
			}
			t.Columns = append(t.Columns, newColumn())
			column = &t.Columns[len(t.Columns)-1]
			err = p.asString(&column.Name)
		case p.key == keyEndOfTable:
			ended = true
		default:
			err = t.decode(&p, &n)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(src) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after its end", ErrMalformed, len(src))
	}
	if err := t.check(&n); err != nil {
		return nil, err
	}
	t.fillDistributionKey()
	return t, nil
}

func (t *Table) decode(p *property, n *counts) error {
	switch p.key {
	case keyName:
		return p.asString(&t.Name)
	case keyID:
		return p.asWord(&t.ID)
	case keyVersion:
		return p.asWord(&t.Version)
	case keyLogged:
		return p.asFlag(&t.Logged)
	case keyNumKeyColumns:
		return p.asWord(&n.keyColumns)
	case keyNumColumns:
		n.hasColumns = true
		return p.asWord(&n.columns)
	case keyKeyWords:
		return p.asWord(&t.KeyWords)
	case keyFragmentType:
		return p.asWord((*uint32)(&t.FragmentType))
	case keyType:
		return p.asWord((*uint32)(&t.Type))
	case keyBaseName:
		return p.asString(&t.BaseName)
	case keyBaseID:
		return p.asWord(&t.BaseID)
	case keyIndexState:
		return p.asWord((*uint32)(&t.IndexState))
	case keyPartitionBalance:
		return p.asWord(&t.PartitionBalance)
	case keyNumFragments:
		return p.asWord(&n.fragments)
	case keyReplicaData:
		return t.decodeReplicas(p)
	case keyRowGCI:
		return p.asFlag(&t.RowGCI)
	case keyRowChecksum:
		return p.asFlag(&t.RowChecksum)
	case keySingleUserMode:
		return p.asWord((*uint32)(&t.SingleUserMode))
	case keyHashMapID:
		return p.asWord(&t.HashMapID)
	case keyHashMapVersion:
		return p.asWord(&t.HashMapVersion)
	case keyReadBackup:
		return p.asFlag(&t.ReadBackup)
	case keyFullyReplicated:
		return p.asFlag(&t.FullyReplicated)
	}
	return nil // of no use to an API node, or newer than this package
}

// AppendTo appends the description to dst, as the dictionary of a data node
// does. Properties that this package does not know are missing.
func (t *Table) AppendTo(dst []byte) []byte {
	dst = appendString(dst, keyName, t.Name)
	dst = appendWord(dst, keyID, t.ID)
	dst = appendWord(dst, keyVersion, t.Version)
	dst = appendWord(dst, keyNumKeyColumns, uint32(t.countKeyColumns()))
	dst = appendWord(dst, keyNumColumns, uint32(len(t.Columns)))
	dst = appendWord(dst, keyKeyWords, t.KeyWords)
	dst = appendFlag(dst, keyLogged, t.Logged)
	dst = appendFlag(dst, keyRowGCI, t.RowGCI)
	dst = appendFlag(dst, keyRowChecksum, t.RowChecksum)
	dst = appendFlag(dst, keyReadBackup, t.ReadBackup)
	dst = appendFlag(dst, keyFullyReplicated, t.FullyReplicated)
	dst = appendWord(dst, keyFragmentType, uint32(t.FragmentType))
	dst = appendWord(dst, keyType, uint32(t.Type))
	dst = appendWord(dst, keyPartitionBalance, t.PartitionBalance)
	dst = appendWord(dst, keyNumFragments, uint32(len(t.Fragments)))
	dst = appendWord(dst, keySingleUserMode, uint32(t.SingleUserMode))
	dst = appendWord(dst, keyHashMapID, t.HashMapID)
	if t.HashMapID != NoHashMap || t.HashMapVersion != 0 {
		dst = appendWord(dst, keyHashMapVersion, t.HashMapVersion)
	}
	dst = t.appendReplicas(dst)
	if t.IsIndex() || t.BaseName != "" || t.BaseID != 0 || t.IndexState != 0 {
		dst = appendString(dst, keyBaseName, t.BaseName)
		dst = appendWord(dst, keyBaseID, t.BaseID)
		dst = appendWord(dst, keyIndexState, uint32(t.IndexState))
	}
	for i := range t.Columns {
		dst = t.Columns[i].appendTo(dst)
	}
	return appendWord(dst, keyEndOfTable, 1)
}

func (t *Table) countKeyColumns() int {
	n := 0
	for i := range t.Columns {
		if t.Columns[i].Key {
			n++
		}
	}
	return n
}

// Replica data are 16-bit big endian numbers: replicas, fragments, then for
// each fragment its part of the log and the nodes.
const replicaNumberBytes = 2

func (t *Table) decodeReplicas(p *property) error {
	var data []byte
	if err := p.asData(&data); err != nil {
		return err
	}
	if len(data) == 0 {
		return nil
	}
	number := func(i int) int { return int(binary.BigEndian.Uint16(data[i*replicaNumberBytes:])) }
	if len(data) < 2*replicaNumberBytes {
		return fmt.Errorf("%w: %d bytes of replicas", ErrMalformed, len(data))
	}
	replicas, fragments := number(0), number(1)
	perFragment := 1 + replicas
	if replicas == 0 || replicas > maxReplicas || fragments == 0 || len(data) != (2+fragments*perFragment)*replicaNumberBytes {
		return fmt.Errorf("%w: %d replicas of %d fragments in %d bytes", ErrMalformed, replicas, fragments, len(data))
	}
	t.Fragments = make([][]signal.NodeID, fragments)
	nodes := make([]signal.NodeID, fragments*replicas)
	for f := range t.Fragments {
		t.Fragments[f], nodes = nodes[:replicas:replicas], nodes[replicas:]
		for r := range t.Fragments[f] {
			node := number(2 + f*perFragment + 1 + r)
			if node != int(signal.NodeID(node)) {
				return fmt.Errorf("%w: replica on node %d", ErrMalformed, node)
			}
			t.Fragments[f][r] = signal.NodeID(node)
		}
	}
	return nil
}

// appendReplicas gives each fragment the log part of its number.
func (t *Table) appendReplicas(dst []byte) []byte {
	if len(t.Fragments) == 0 {
		return dst
	}
	data := binary.BigEndian.AppendUint16(nil, uint16(len(t.Fragments[0])))
	data = binary.BigEndian.AppendUint16(data, uint16(len(t.Fragments)))
	for f, nodes := range t.Fragments {
		data = binary.BigEndian.AppendUint16(data, uint16(f))
		for _, node := range nodes {
			data = binary.BigEndian.AppendUint16(data, uint16(node))
		}
	}
	dst = appendWord(dst, keyReplicaDataBytes, uint32(len(data)))
	return appendBinary(dst, keyReplicaData, data)
}

// check refuses what requests could not be built on, and sorts the columns.
func (t *Table) check(n *counts) error {
	if t.Name == "" || t.Type == 0 {
		return fmt.Errorf("%w: no name or no type", ErrMalformed)
	}
	if n.hasColumns && int(n.columns) != len(t.Columns) {
		return fmt.Errorf("%w: %s has %d columns, says %d", ErrMalformed, t.Name, len(t.Columns), n.columns)
	}
	if int(n.fragments) != len(t.Fragments) && n.fragments != 0 && len(t.Fragments) != 0 {
		return fmt.Errorf("%w: %s has %d fragments, says %d", ErrMalformed, t.Name, len(t.Fragments), n.fragments)
	}
	slices.SortFunc(t.Columns, func(a, b Column) int { return int(a.ID) - int(b.ID) })
	names := make(map[string]bool, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		if int(c.ID) != i || names[c.Name] {
			return fmt.Errorf("%w: column %q of %s has id %d, should be %d", ErrMalformed, c.Name, t.Name, c.ID, i)
		}
		names[c.Name] = true
	}
	return nil
}

func (t *Table) fillDistributionKey() {
	for i := range t.Columns {
		if t.Columns[i].DistributionKey {
			return
		}
	}
	for i := range t.Columns {
		t.Columns[i].DistributionKey = t.Columns[i].Key
	}
}
