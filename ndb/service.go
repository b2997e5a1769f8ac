package ndb

import (
	"context"
	"errors"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// clientVersion is the version whose protocol this is. Data nodes accept API
// nodes of a newer version than theirs.
const clientVersion = uint32(mgm.ThisVersion)

const (
	registerPause       = 100 * time.Millisecond
	registrationTimeout = 60 * time.Second
	beatsPerInterval    = 2

	// Bounds of what a data node can ask for; its own configuration has 100 ms as
	// the lowest.
	minHeartbeat = 100 * time.Millisecond
	maxHeartbeat = time.Minute
)

var (
	errHeartbeatsMissed = errors.New("ndb: the data node answers no heartbeats")
	errNotRegistered    = errors.New("ndb: the data node did not answer the registration")
	errDeclaredFailed   = errors.New("ndb: the other data nodes say that the node has failed")
)

// service is the life of one connection to a data node: registration,
// heartbeats, and the states that the node goes through. It belongs to the
// goroutine of its dataNode.
type service struct {
	node  *dataNode
	link  *link
	timer *time.Timer

	began      time.Time
	heartbeat  time.Duration // 0 until the node has answered
	answers    uint64        // seen at the last beat
	unanswered int           // beats since the last answer
	usable     bool          // new transactions may go there
	wasUp      bool          // it was usable once
}

func newService(n *dataNode, l *link) *service {
	n.mu.Lock()
	n.conf, n.answers, n.refused = signal.APIRegConf{}, 0, nil
	n.mu.Unlock()
	return &service{node: n, link: l, began: time.Now()}
}

// run returns when the connection is down and nothing more will be received
// over it. Until the first answer nothing but registrations is sent: the node
// drops all else.
func (s *service) run(ctx context.Context) {
	s.timer = time.NewTimer(registerPause)
	defer s.timer.Stop()
	s.register()
	for {
		select {
		case <-ctx.Done():
			s.link.conn.Close()
			return
		case <-s.link.conn.Done():
			return
		case <-s.node.wake:
			s.follow()
		case <-s.timer.C:
			s.beat()
		}
	}
}

// register sends a heartbeat, which is a registration as well. Where the queue
// has no room even for that, the next one may find it.
func (s *service) register() {
	req := signal.APIRegReq{
		Ref:          signal.NewBlockRef(signal.BlockCluster, s.node.api.id),
		Version:      clientVersion,
		MySQLVersion: clientVersion,
	}
	_ = transporter.Send(s.link.conn, signal.BlockCluster, &req)
}

// beat comes every 100 ms until the first answer, then twice in a heartbeat
// interval. It counts beats without an answer, not time: a process that was
// stopped for a while finds the answers that wait for it. It also looks for
// answers that nobody waits for any more.
func (s *service) beat() {
	_, answers, _ := s.node.news()
	if answers == s.answers {
		s.unanswered++
	} else {
		s.answers, s.unanswered = answers, 0
	}
	switch {
	case s.heartbeat == 0 && time.Since(s.began) >= registrationTimeout:
		s.link.conn.Fail(errNotRegistered)
	case s.heartbeat != 0 && s.unanswered >= s.node.member.client.cfg.HeartbeatMisses*beatsPerInterval:
		s.link.conn.Fail(errHeartbeatsMissed)
	}
	if err := s.link.overdue(time.Now()); err != nil {
		s.link.conn.Fail(err)
	}
	s.register()
	s.timer.Reset(s.pause())
}

func (s *service) pause() time.Duration {
	if s.heartbeat == 0 {
		return registerPause
	}
	return s.heartbeat / beatsPerInterval
}

// follow does what the latest news ask for.
func (s *service) follow() {
	conf, answers, refused := s.node.news()
	switch {
	case refused != nil:
		s.link.conn.Fail(refused)
		return
	case s.node.member.takeovers.hasFailed(s.node.id):
		s.link.conn.Fail(errDeclaredFailed)
		return
	case answers == 0:
		return
	}
	first := s.heartbeat == 0
	s.heartbeat = min(max(conf.Heartbeat, minHeartbeat), maxHeartbeat)
	if first {
		s.unanswered = 0
		s.timer.Reset(s.pause())
	}
	s.setUsable(usable(&conf, s.node.api.id))
	s.node.setInfo(func(i *NodeInfo) {
		i.State, i.Usable = stateOf(conf.StartLevel), s.usable
		i.NodeGroup, i.Version = nodeGroup(conf.NodeGroup), versionString(conf.Version)
	})
}

// usable tells whether transactions of the API node may begin at a data node.
// One in single user mode is for its single user only.
func usable(conf *signal.APIRegConf, api signal.NodeID) bool {
	switch conf.StartLevel {
	case signal.StartLevelStarted:
		return true
	case signal.StartLevelSingleUser:
		return conf.SingleUserAPI == api
	default:
		return false
	}
}

// setUsable opens the node for new transactions, or closes it for them: those
// that run go on as long as the node lets them.
func (s *service) setUsable(usable bool) {
	if usable == s.usable {
		return
	}
	s.usable = usable
	if !usable {
		s.node.api.linkDown(s.link, false)
		return
	}
	if !s.wasUp {
		s.wasUp = true
		s.node.member.takeovers.up(s.node.id)
		s.node.member.client.cluster.linkUp()
	}
	s.node.api.linkUp(s.link)
}
