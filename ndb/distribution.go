package ndb

import "github.com/ndbgate/ndbgate/ndb/internal/signal"

// nodesOf returns the nodes that hold the row of a key, the one with the
// primary replica first; nil where the key does not tell. It is a hint only: a
// coordinator on another node costs a hop.
func (d *definition) nodesOf(keyInfo []byte) []signal.NodeID {
	if d.hashMap == nil {
		return nil
	}
	hash, ok := d.hasher.Hash(keyInfo)
	if !ok {
		return nil
	}
	fragment := int(d.hashMap.Fragment(hash))
	if fragment >= len(d.info.Fragments) {
		return nil
	}
	return d.info.Fragments[fragment]
}
