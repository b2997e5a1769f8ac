package ndb

import (
	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

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
	return d.nodesOfHash(hash)
}

func (d *definition) nodesOfHash(hash uint32) []signal.NodeID {
	fragment := int(d.hashMap.Fragment(hash))
	if fragment >= len(d.info.Fragments) {
		return nil
	}
	return d.info.Fragments[fragment]
}

// hashOf returns the hash of the distribution key that all entries of the ranges
// have. It is not ok where they may have several. Rows that have it lie in one
// fragment, whichever the data nodes choose by then.
func (d *definition) hashOf(index *Index, ranges []Range) (hash uint32, ok bool) {
	if d.hashMap == nil || d.info.FullyReplicated || len(ranges) != 1 {
		return 0, false
	}
	r := &ranges[0]
	equal := r.equalColumns(index)
	return d.hasher.HashOf(func(c *dictinfo.Column) []byte {
		for i, of := range index.Columns[:equal] {
			// Numbers that are equal can have different bytes: 0 and -0.
			if of.info.ID != c.ID || c.Type == dictinfo.TypeFloat || c.Type == dictinfo.TypeDouble {
				continue
			}
			value, err := row.AppendValue(nil, row.FormBare, c, r.Low[i])
			if err != nil {
				return nil
			}
			return value
		}
		return nil
	})
}
