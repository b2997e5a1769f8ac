package signal

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// MaxNameBytes is how long the internal name of a dictionary object may be,
// with the NUL at its end.
const MaxNameBytes = 128

// ErrName is wrapped for a name that no dictionary object can have.
var ErrName = errors.New("no name of a dictionary object")

// GetTabInfoReq asks for the description of a dictionary object. The answer is
// GetTabInfoConf or GetTabInfoRef. NewGetTabInfoByName and NewGetTabInfoByID
// make one; the zero value cannot be sent.
type GetTabInfoReq struct {
	RequestID uint32   // ours: comes back in the answer
	Ref       BlockRef // ours
	lookup    tabInfoLookup
	name      string
	id        uint32
}

type tabInfoLookup uint32

// The request types. Both ask for the answer as a section.
const (
	lookupByID   tabInfoLookup = 2
	lookupByName tabInfoLookup = 3
)

// NewGetTabInfoByName asks by the internal name, as in "database/def/table". It
// fails with ErrName.
func NewGetTabInfoByName(requestID uint32, ref BlockRef, name string) (*GetTabInfoReq, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return &GetTabInfoReq{RequestID: requestID, Ref: ref, lookup: lookupByName, name: name}, nil
}

// NewGetTabInfoByID asks by an id, which must come from the dictionary of this
// incarnation of the cluster: a data node stops at one that is out of range.
func NewGetTabInfoByID(requestID uint32, ref BlockRef, id uint32) *GetTabInfoReq {
	return &GetTabInfoReq{RequestID: requestID, Ref: ref, lookup: lookupByID, id: id}
}

func checkName(name string) error {
	if name == "" || len(name) >= MaxNameBytes || bytes.IndexByte([]byte(name), 0) >= 0 {
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}

// Name is what is asked for, or empty where it is asked by id.
func (s *GetTabInfoReq) Name() string { return s.name }

// ID is what is asked for; byID is false where it is asked by name.
func (s *GetTabInfoReq) ID() (id uint32, byID bool) { return s.id, s.lookup == lookupByID }

// Route implements Outgoing.
func (s *GetTabInfoReq) Route() (GSN, Block) { return GSNGetTabInfoReq, BlockDBDICT }

func (s *GetTabInfoReq) sectionCount() (least, most int) {
	if s.lookup == lookupByName {
		return 1, 1
	}
	return 0, 0
}

// AppendTo implements Outgoing.
func (s *GetTabInfoReq) AppendTo(dst []byte) []byte {
	object := s.id
	switch s.lookup {
	case lookupByID:
	case lookupByName:
		object = uint32(len(s.name)) + 1
	default:
		panic("signal: GET_TABINFOREQ names no object")
	}
	return word.Append(dst, s.RequestID, uint32(s.Ref), uint32(s.lookup), object, 0)
}

// Section is section 0, or nil where the object is asked for by id.
func (s *GetTabInfoReq) Section() []byte {
	if s.lookup != lookupByName {
		return nil
	}
	return word.AppendPadded(nil, append([]byte(s.name), 0))
}

// Sections implements Sectioned.
func (s *GetTabInfoReq) Sections() [][]byte {
	if s.lookup != lookupByName {
		return nil
	}
	return [][]byte{s.Section()}
}

// Decode overwrites s with m.
func (s *GetTabInfoReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = GetTabInfoReq{RequestID: r.Uint32(), Ref: BlockRef(r.Uint32()), lookup: tabInfoLookup(r.Uint32())}
	object := r.Uint32()
	r.Uint32()
	switch s.lookup {
	case lookupByID:
		s.id = object
		return end(GSNGetTabInfoReq, m, &r, 0)
	case lookupByName:
		if err := end(GSNGetTabInfoReq, m, &r, 1); err != nil {
			return err
		}
		section := word.NewReader(m.Sections[0])
		name := section.Bytes(int(min(object, MaxMessageBytes)))
		if err := end(GSNGetTabInfoReq, m, &section, 1); err != nil {
			return err
		}
		if len(name) == 0 || name[len(name)-1] != 0 {
			return bad(GSNGetTabInfoReq, "has a name without end")
		}
		s.name = string(name[:len(name)-1])
		if err := checkName(s.name); err != nil {
			return bad(GSNGetTabInfoReq, "%v", err)
		}
		return nil
	default:
		return bad(GSNGetTabInfoReq, "has the type %d", uint32(s.lookup))
	}
}

// GetTabInfoConf brings the description of a dictionary object. It may come in
// fragments: see Assembler.
type GetTabInfoConf struct {
	RequestID  uint32
	TableID    uint32
	GCI        uint32
	TableType  uint32 // as property 18 of the description
	Properties []byte // the description, shared with the message
}

// GSN implements Incoming.
func (s *GetTabInfoConf) GSN() GSN { return GSNGetTabInfoConf }

// AppendTo implements Incoming.
func (s *GetTabInfoConf) AppendTo(dst []byte) []byte {
	lenWords := uint32(len(s.Properties) / word.SizeBytes)
	return word.Append(dst, s.RequestID, s.TableID, s.GCI, lenWords, s.TableType, 0)
}

// Sections implements Sectioned.
func (s *GetTabInfoConf) Sections() [][]byte { return [][]byte{s.Properties} }

// Decode overwrites s with m, whose fragments are already put together.
func (s *GetTabInfoConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = GetTabInfoConf{RequestID: r.Uint32(), TableID: r.Uint32(), GCI: r.Uint32()}
	lenWords := r.Uint32()
	s.TableType = r.Uint32()
	r.Uint32() // not known; more words may follow
	if r.Err() == nil {
		r.Skip()
	}
	if err := end(GSNGetTabInfoConf, m, &r, 1); err != nil {
		return err
	}
	s.Properties = m.Sections[0]
	if uint64(lenWords) != uint64(len(s.Properties)/word.SizeBytes) {
		return bad(GSNGetTabInfoConf, "announces %d words and brings %d bytes", lenWords, len(s.Properties))
	}
	return nil
}

// GetTabInfoRef refuses a GetTabInfoReq: 723 and 709 say that there is no such
// object, 701 and 711 ask to try again.
type GetTabInfoRef struct {
	RequestID uint32
	Ref       BlockRef // of the sender
	Error     uint32
}

// GSN implements Incoming.
func (s *GetTabInfoRef) GSN() GSN { return GSNGetTabInfoRef }

// AppendTo implements Incoming.
func (s *GetTabInfoRef) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.RequestID, uint32(s.Ref), 0, 0, 0, s.Error, 0)
}

// Decode overwrites s with m.
func (s *GetTabInfoRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = GetTabInfoRef{RequestID: r.Uint32(), Ref: BlockRef(r.Uint32())}
	r.Uint32() // the request's type,
	r.Uint32() // its id or length,
	r.Uint32() // and its last word
	s.Error = r.Uint32()
	r.Uint32() // where in the sender's source it was written
	return end(GSNGetTabInfoRef, m, &r, 0)
}

// AlterChange is what happened to a table.
type AlterChange uint32

// The changes. A dropped table was never seen announced.
const (
	TableAltered AlterChange = 1
	TableDropped AlterChange = 2
)

// AlterTableRep says that a table changed. Each data node sends it to
// BlockCluster.
type AlterTableRep struct {
	TableID    uint32
	OldVersion uint32 // before the change
	Change     AlterChange
	Name       string // the internal name
}

// GSN implements Incoming.
func (s *AlterTableRep) GSN() GSN { return GSNAlterTableRep }

// AppendTo implements Incoming.
func (s *AlterTableRep) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.TableID, s.OldVersion, uint32(s.Change))
}

// Sections implements Sectioned: the name, filled up with NULs to
// MaxNameBytes. It panics where the name is longer.
func (s *AlterTableRep) Sections() [][]byte {
	if len(s.Name) >= MaxNameBytes {
		panic(fmt.Sprintf("signal: ALTER_TABLE_REP of %q", s.Name))
	}
	section := make([]byte, MaxNameBytes)
	copy(section, s.Name)
	return [][]byte{section}
}

// Decode overwrites s with m.
func (s *AlterTableRep) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = AlterTableRep{TableID: r.Uint32(), OldVersion: r.Uint32(), Change: AlterChange(r.Uint32())}
	if err := end(GSNAlterTableRep, m, &r, 1); err != nil {
		return err
	}
	name, _, ended := bytes.Cut(m.Sections[0], []byte{0})
	if !ended || len(name) >= MaxNameBytes {
		return bad(GSNAlterTableRep, "has a name of %d bytes", len(name))
	}
	s.Name = string(name)
	return nil
}
