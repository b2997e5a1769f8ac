package signal

import (
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// APIRegReq registers an API node and is its heartbeat. It comes from
// BlockCluster. The answer is APIRegConf or APIRegRef.
type APIRegReq struct {
	Ref          BlockRef // of the sender
	Version      uint32   // of the API node: 0x090702 is 9.7.2
	MySQLVersion uint32
}

// Route implements Outgoing.
func (s *APIRegReq) Route() (GSN, Block) { return GSNAPIRegReq, BlockQMGR }

func (s *APIRegReq) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *APIRegReq) AppendTo(dst []byte) []byte {
	return word.Append(dst, uint32(s.Ref), s.Version, s.MySQLVersion)
}

// Decode overwrites s with m.
func (s *APIRegReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = APIRegReq{Ref: BlockRef(r.Uint32()), Version: r.Uint32(), MySQLVersion: r.Uint32()}
	return end(GSNAPIRegReq, m, &r, 0)
}

// StartLevel is how far a data node has started or stopped.
type StartLevel uint32

// The start levels.
const (
	StartLevelNothing    StartLevel = 0
	StartLevelCMVMI      StartLevel = 1
	StartLevelStarting   StartLevel = 2
	StartLevelStarted    StartLevel = 3
	StartLevelSingleUser StartLevel = 4
	StartLevelStopping1  StartLevel = 5 // takes no new transactions
	StartLevelStopping2  StartLevel = 6 // aborts those that are open
	StartLevelStopping3  StartLevel = 7
	StartLevelStopping4  StartLevel = 8
)

// String names the level.
func (l StartLevel) String() string {
	switch {
	case l == StartLevelNothing:
		return "nothing"
	case l == StartLevelCMVMI, l == StartLevelStarting:
		return "starting"
	case l == StartLevelStarted:
		return "started"
	case l == StartLevelSingleUser:
		return "single user"
	case l <= StartLevelStopping4:
		return fmt.Sprintf("stopping %d", l-StartLevelStopping1+1)
	default:
		return fmt.Sprintf("start level %d", uint32(l))
	}
}

// APIRegConf tells an API node how a data node is. It answers APIRegReq and
// comes unasked when the state changes.
type APIRegConf struct {
	QMGR          BlockRef // of the sender: names its node
	Version       uint32
	Heartbeat     time.Duration // a multiple of 10 ms
	MySQLVersion  uint32
	MinDBVersion  uint32
	StartLevel    StartLevel
	NodeGroup     uint32
	DynamicID     uint32
	State         [3]uint32 // starting: phase and restart type; stopping: 1 for the whole cluster
	SingleUser    bool
	SingleUserAPI NodeID  // 0: none
	Connected     NodeSet // the nodes that the sender is connected to
	MinAPIVersion uint32
}

const (
	heartbeatUnit = 10 * time.Millisecond
	noSingleUser  = 0xffffffff
)

// GSN implements Incoming.
func (s *APIRegConf) GSN() GSN { return GSNAPIRegConf }

// AppendTo implements Incoming.
func (s *APIRegConf) AppendTo(dst []byte) []byte {
	var singleUser uint32
	if s.SingleUser {
		singleUser = 1
	}
	singleUserAPI := uint32(s.SingleUserAPI)
	if s.SingleUserAPI == 0 {
		singleUserAPI = noSingleUser
	}
	dst = word.Append(dst, uint32(s.QMGR), s.Version, uint32(s.Heartbeat/heartbeatUnit), s.MySQLVersion,
		s.MinDBVersion, uint32(s.StartLevel), s.NodeGroup, s.DynamicID)
	dst = word.Append(dst, s.State[:]...)
	dst = word.Append(dst, singleUser, singleUserAPI)
	dst = word.Append(dst, s.Connected[:]...)
	return word.Append(dst, s.MinAPIVersion)
}

// Decode overwrites s with m.
func (s *APIRegConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = APIRegConf{
		QMGR:         BlockRef(r.Uint32()),
		Version:      r.Uint32(),
		Heartbeat:    time.Duration(r.Uint32()) * heartbeatUnit,
		MySQLVersion: r.Uint32(),
		MinDBVersion: r.Uint32(),
		StartLevel:   StartLevel(r.Uint32()),
		NodeGroup:    r.Uint32(),
		DynamicID:    r.Uint32(),
		State:        [3]uint32{r.Uint32(), r.Uint32(), r.Uint32()},
		SingleUser:   r.Uint32() != 0,
		// The word for none is no node id.
		SingleUserAPI: readNodeID(&r),
		Connected:     readNodeSet(&r, nodeSetWords),
		MinAPIVersion: r.Uint32(),
	}
	return end(GSNAPIRegConf, m, &r, 0)
}

// The errors of APIRegRef. Both are permanent.
const (
	RegErrorNotAPINode uint32 = 1 // the id belongs to no API node
	RegErrorVersion    uint32 = 2
)

// APIRegRef refuses an APIRegReq.
type APIRegRef struct {
	Ref          BlockRef // of the sender
	Version      uint32
	Error        uint32 // RegErrorNotAPINode or RegErrorVersion
	MySQLVersion uint32
}

// GSN implements Incoming.
func (s *APIRegRef) GSN() GSN { return GSNAPIRegRef }

// AppendTo implements Incoming.
func (s *APIRegRef) AppendTo(dst []byte) []byte {
	return word.Append(dst, uint32(s.Ref), s.Version, s.Error, s.MySQLVersion)
}

// Decode overwrites s with m.
func (s *APIRegRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = APIRegRef{Ref: BlockRef(r.Uint32()), Version: r.Uint32(), Error: r.Uint32(), MySQLVersion: r.Uint32()}
	return end(GSNAPIRegRef, m, &r, 0)
}
