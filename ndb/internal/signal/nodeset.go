package signal

import (
	"iter"
	"math/bits"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// MaxNodeID is the highest id of a node.
const MaxNodeID = 255

const (
	nodeSetWords = 8
	wordBits     = 32
)

// NodeSet is a set of nodes as it travels: node n is bit n%32 of word n/32. The
// zero value is empty.
type NodeSet [nodeSetWords]uint32

// NewNodeSet returns the set of nodes.
func NewNodeSet(nodes ...NodeID) NodeSet {
	var s NodeSet
	for _, n := range nodes {
		s.Add(n)
	}
	return s
}

// Add adds n. There is no node 0: it is not added.
func (s *NodeSet) Add(n NodeID) {
	if n != 0 {
		s[n/wordBits] |= 1 << (n % wordBits)
	}
}

// Has tells whether n is in the set.
func (s NodeSet) Has(n NodeID) bool { return n != 0 && s[n/wordBits]>>(n%wordBits)&1 != 0 }

// Len is how many nodes are in the set.
func (s NodeSet) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount32(w)
	}
	return n - int(s[0]&1)
}

// All yields the nodes in ascending order.
func (s NodeSet) All() iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for n := 1; n <= MaxNodeID; n++ {
			if s.Has(NodeID(n)) && !yield(NodeID(n)) {
				return
			}
		}
	}
}

// readNodeSet reads words words; the other words of the set are empty.
func readNodeSet(r *word.Reader, words int) NodeSet {
	var s NodeSet
	for i := range min(words, nodeSetWords) {
		s[i] = r.Uint32()
	}
	s[0] &^= 1
	return s
}
