package signal

import "github.com/ndbgate/ndbgate/ndb/internal/word"

// NodeFailRep says that data nodes failed. Each node that survives sends it to
// BlockCluster. The set is section 0, or follows the data words from data nodes
// before 8.0.18.
type NodeFailRep struct {
	FailureNumber uint32
	Master        NodeID
	Failed        NodeSet
}

// GSN implements Incoming.
func (s *NodeFailRep) GSN() GSN { return GSNNodeFailRep }

// AppendTo implements Incoming.
func (s *NodeFailRep) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.FailureNumber, uint32(s.Master), uint32(s.Failed.Len()))
}

// Sections implements Sectioned: the set, without the empty words at its end.
func (s *NodeFailRep) Sections() [][]byte {
	words := s.Failed[:]
	for len(words) > 1 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	return [][]byte{word.Append(nil, words...)}
}

// Decode overwrites s with m.
func (s *NodeFailRep) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = NodeFailRep{FailureNumber: r.Uint32(), Master: readNodeID(&r)}
	r.Uint32() // how many nodes: the set tells
	if m.NumSections == 0 {
		if words := r.Len(); words != 2 && words != nodeSetWords {
			return bad(GSNNodeFailRep, "has %d words of nodes", words)
		}
		s.Failed = readNodeSet(&r, r.Len())
		return end(GSNNodeFailRep, m, &r, 0)
	}
	if err := end(GSNNodeFailRep, m, &r, 1); err != nil {
		return err
	}
	set := word.NewReader(m.Sections[0])
	s.Failed = readNodeSet(&set, set.Len())
	return end(GSNNodeFailRep, m, &set, 1)
}

// TakeOverTCConf says that all transactions that Failed coordinated are
// decided.
type TakeOverTCConf struct {
	Failed NodeID
	Ref    BlockRef // of the sender
}

// GSN implements Incoming.
func (s *TakeOverTCConf) GSN() GSN { return GSNTakeOverTCConf }

// AppendTo implements Incoming.
func (s *TakeOverTCConf) AppendTo(dst []byte) []byte {
	return word.Append(dst, uint32(s.Failed), uint32(s.Ref), 0)
}

// Decode overwrites s with m.
func (s *TakeOverTCConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = TakeOverTCConf{Failed: readNodeID(&r), Ref: BlockRef(r.Uint32())}
	r.Uint32()
	if err := end(GSNTakeOverTCConf, m, &r, 0); err != nil {
		return err
	}
	if s.Failed == 0 {
		return bad(GSNTakeOverTCConf, "names no node")
	}
	return nil
}

// NFCompleteRep says that the cluster has done all that the failure of a node
// asks for: it may be connected to again.
type NFCompleteRep struct {
	Block     BlockRef // QMGR when it is about the whole node
	Reporting NodeID
	Failed    NodeID
}

// GSN implements Incoming.
func (s *NFCompleteRep) GSN() GSN { return GSNNFCompleteRep }

// AppendTo implements Incoming.
func (s *NFCompleteRep) AppendTo(dst []byte) []byte {
	return word.Append(dst, uint32(s.Block), uint32(s.Reporting), uint32(s.Failed), 0, 0)
}

// Decode overwrites s with m.
func (s *NFCompleteRep) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = NFCompleteRep{Block: BlockRef(r.Uint32()), Reporting: readNodeID(&r), Failed: readNodeID(&r)}
	r.Uint32()
	r.Uint32() // where in the sender's source it was written
	if err := end(GSNNFCompleteRep, m, &r, 0); err != nil {
		return err
	}
	if s.Failed == 0 {
		return bad(GSNNFCompleteRep, "names no node")
	}
	return nil
}
