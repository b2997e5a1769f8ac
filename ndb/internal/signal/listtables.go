package signal

import (
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// ListFlags say what ListTablesReq asks for.
type ListFlags uint32

// The flags.
const (
	ListNames      ListFlags = 1 << 28
	ListIndexes    ListFlags = 1 << 29 // the indexes of TableID instead of everything
	ListDependents ListFlags = 1 << 30

	listFlagsMask = ListNames | ListIndexes | ListDependents
)

// ListTablesReq asks for a list of dictionary objects: with ListNames alone,
// of all; with ListNames and ListIndexes, of the indexes of a table. The answer
// is ListTablesConf.
type ListTablesReq struct {
	RequestID uint32
	Ref       BlockRef
	Flags     ListFlags
	TableID   uint32 // from the dictionary
	TableType uint32 // 0: any
}

// Route implements Outgoing.
func (s *ListTablesReq) Route() (GSN, Block) { return GSNListTablesReq, BlockDBDICT }

func (s *ListTablesReq) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *ListTablesReq) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.RequestID, uint32(s.Ref), uint32(s.Flags&listFlagsMask), s.TableID, s.TableType)
}

// Decode overwrites s with m.
func (s *ListTablesReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = ListTablesReq{RequestID: r.Uint32(), Ref: BlockRef(r.Uint32()), Flags: ListFlags(r.Uint32()), TableID: r.Uint32(), TableType: r.Uint32()}
	if err := end(GSNListTablesReq, m, &r, 0); err != nil {
		return err
	}
	if s.Flags&^listFlagsMask != 0 {
		return bad(GSNListTablesReq, "has the flags %#x", uint32(s.Flags))
	}
	return nil
}

// ListedObject is one entry of ListTablesConf. Ids are unique per kind of
// object only.
type ListedObject struct {
	ID        uint32
	Type      uint32 // as property 18 of a description
	State     uint8  // ObjectOnline when it can be used
	Store     uint8  // 1 not logged, 2 logged
	Temporary bool
	Name      string // the internal name; empty where none was asked for
}

// ObjectOnline is the state of an object that can be used.
const ObjectOnline = 4

// The first of the three words of an entry.
const (
	listStoreShift     = 20
	listStoreMask      = 7
	listTemporaryShift = 23
	listStateShift     = 24
	listStateMask      = 0xf
	listEntryBytes     = 3 * word.SizeBytes
)

// ListTablesConf lists dictionary objects. It may come in fragments: see
// Assembler.
type ListTablesConf struct {
	RequestID uint32
	Objects   []ListedObject
}

// GSN implements Incoming.
func (s *ListTablesConf) GSN() GSN { return GSNListTablesConf }

// AppendTo implements Incoming.
func (s *ListTablesConf) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.RequestID, uint32(len(s.Objects)), 0, 0, 0)
}

// Sections implements Sectioned: entries and names, or nothing for an empty
// list.
func (s *ListTablesConf) Sections() [][]byte {
	if len(s.Objects) == 0 {
		return nil
	}
	var entries, names []byte
	for _, o := range s.Objects {
		w := uint32(o.Store&listStoreMask)<<listStoreShift | uint32(o.State&listStateMask)<<listStateShift
		if o.Temporary {
			w |= 1 << listTemporaryShift
		}
		entries = word.Append(entries, w, o.ID, o.Type)
		names = word.Append(names, uint32(len(o.Name)+1))
		names = word.AppendPadded(names, append([]byte(o.Name), 0))
	}
	return [][]byte{entries, names}
}

// Decode overwrites s with m, whose fragments are already put together.
func (s *ListTablesConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = ListTablesConf{RequestID: r.Uint32()}
	// A fragment counts its own objects only: the section tells.
	r.Uint32()
	if r.Err() == nil {
		r.Skip()
	}
	if err := end(GSNListTablesConf, m, &r, min(m.NumSections, 2)); err != nil {
		return err
	}
	entries, names := word.NewReader(m.Sections[0]), word.NewReader(m.Sections[1])
	if len(m.Sections[0])%listEntryBytes != 0 {
		return bad(GSNListTablesConf, "has %d bytes of entries", len(m.Sections[0]))
	}
	for range len(m.Sections[0]) / listEntryBytes {
		w := entries.Uint32()
		o := ListedObject{
			ID:        entries.Uint32(),
			Type:      entries.Uint32(),
			State:     uint8(w >> listStateShift & listStateMask),
			Store:     uint8(w >> listStoreShift & listStoreMask),
			Temporary: w>>listTemporaryShift&1 != 0,
		}
		if m.NumSections > 1 {
			name := names.Bytes(int(min(names.Uint32(), MaxMessageBytes)))
			if names.Err() != nil || len(name) == 0 || name[len(name)-1] != 0 {
				return bad(GSNListTablesConf, "has a name without end")
			}
			o.Name = string(name[:len(name)-1])
		}
		s.Objects = append(s.Objects, o)
	}
	return end(GSNListTablesConf, m, &names, m.NumSections)
}
