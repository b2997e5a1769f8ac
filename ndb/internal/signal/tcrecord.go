package signal

import "github.com/ndbgate/ndbgate/ndb/internal/word"

// TCSeizeReq takes a transaction record. The answer is TCSeizeConf or
// TCSeizeRef.
type TCSeizeReq struct {
	// Pointer is ours. Its lowest bit is 0: TCCommitConf uses it as a flag.
	Pointer uint32
	Ref     BlockRef // ours
	// Instance is the coordinator that is wanted, that of another record for
	// a scan in its transaction. With 0 the data node chooses.
	Instance int
}

// Route implements Outgoing. It always goes to the first instance.
func (s *TCSeizeReq) Route() (GSN, Block) { return GSNTCSeizeReq, BlockDBTC }

func (s *TCSeizeReq) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *TCSeizeReq) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.Pointer, uint32(s.Ref), uint32(s.Instance))
}

// Decode overwrites s with m.
func (s *TCSeizeReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = TCSeizeReq{Pointer: r.Uint32(), Ref: BlockRef(r.Uint32())}
	instance := r.Uint32()
	if err := end(GSNTCSeizeReq, m, &r, 0); err != nil {
		return err
	}
	if instance > maxInstance {
		return bad(GSNTCSeizeReq, "asks for instance %d", instance)
	}
	s.Instance = int(instance)
	return nil
}

// TCSeizeConf gives a transaction record: TC and TCPointer together name it,
// the pointer alone is not unique in a node.
type TCSeizeConf struct {
	Pointer   uint32 // of TCSeizeReq
	TCPointer uint32
	TC        TCRef
}

// GSN implements Incoming.
func (s *TCSeizeConf) GSN() GSN { return GSNTCSeizeConf }

// AppendTo implements Incoming.
func (s *TCSeizeConf) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.Pointer, s.TCPointer, uint32(s.TC.ref))
}

// Decode overwrites s with m. A record of anything but a coordinator is an
// error.
func (s *TCSeizeConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = TCSeizeConf{Pointer: r.Uint32(), TCPointer: r.Uint32()}
	ref := BlockRef(r.Uint32())
	if err := end(GSNTCSeizeConf, m, &r, 0); err != nil {
		return err
	}
	tc, err := NewTCRef(ref)
	if err != nil {
		return bad(GSNTCSeizeConf, "%v", err)
	}
	s.TC = tc
	return nil
}

// TCSeizeRef refuses a TCSeizeReq.
type TCSeizeRef struct {
	Pointer uint32
	Error   uint32
}

// GSN implements Incoming.
func (s *TCSeizeRef) GSN() GSN { return GSNTCSeizeRef }

// AppendTo implements Incoming.
func (s *TCSeizeRef) AppendTo(dst []byte) []byte { return word.Append(dst, s.Pointer, s.Error) }

// Decode overwrites s with m.
func (s *TCSeizeRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = TCSeizeRef{Pointer: r.Uint32(), Error: r.Uint32()}
	return end(GSNTCSeizeRef, m, &r, 0)
}

// TCReleaseReq gives a transaction record back. The answer is TCReleaseConf or
// TCReleaseRef.
type TCReleaseReq struct {
	TC        TCRef
	TCPointer uint32
	Ref       BlockRef // ours
	Pointer   uint32   // of TCSeizeReq
}

// Route implements Outgoing.
func (s *TCReleaseReq) Route() (GSN, Block) { return GSNTCReleaseReq, s.TC.Block() }

func (s *TCReleaseReq) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *TCReleaseReq) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.TCPointer, uint32(s.Ref), s.Pointer)
}

// Decode overwrites s with m. TC keeps what it was.
func (s *TCReleaseReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = TCReleaseReq{TC: s.TC, TCPointer: r.Uint32(), Ref: BlockRef(r.Uint32()), Pointer: r.Uint32()}
	return end(GSNTCReleaseReq, m, &r, 0)
}

// TCReleaseConf says that the record is given back.
type TCReleaseConf struct {
	Pointer uint32
}

// GSN implements Incoming.
func (s *TCReleaseConf) GSN() GSN { return GSNTCReleaseConf }

// AppendTo implements Incoming.
func (s *TCReleaseConf) AppendTo(dst []byte) []byte { return word.Append(dst, s.Pointer) }

// Decode overwrites s with m.
func (s *TCReleaseConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = TCReleaseConf{Pointer: r.Uint32()}
	return end(GSNTCReleaseConf, m, &r, 0)
}

// TCReleaseRef refuses a TCReleaseReq: 229 for a record given back before.
type TCReleaseRef struct {
	Pointer uint32
	Error   uint32
}

// GSN implements Incoming.
func (s *TCReleaseRef) GSN() GSN { return GSNTCReleaseRef }

// AppendTo implements Incoming.
func (s *TCReleaseRef) AppendTo(dst []byte) []byte { return word.Append(dst, s.Pointer, s.Error, 0) }

// Decode overwrites s with m.
func (s *TCReleaseRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = TCReleaseRef{Pointer: r.Uint32(), Error: r.Uint32()}
	r.Uint32() // where in the sender's source it was written
	return end(GSNTCReleaseRef, m, &r, 0)
}
