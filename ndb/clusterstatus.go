package ndb

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// NodeStatus is what a management server says about a node of the cluster.
type NodeStatus struct {
	ID           int
	Type         string // NDB, MGM or API
	Status       string // as in STARTED or NO_CONTACT; of management and API nodes CONNECTED, NO_CONTACT or empty: not known
	Version      string // as in "9.7.2"; empty where it is not known
	StartPhase   int    // of a data node that is starting; 100 is the last
	NodeGroup    int    // -1 for what is no data node, and for one without a group or a connection
	Master       bool   // of the data nodes it is the one that leads
	ConnectCount int
	Address      string // 0.0.0.0 or empty where it is not known
	Host         string // that the configuration expects it on; empty: any
}

const (
	// statusKept is how long an answer of a management server serves all callers.
	statusKept = time.Second

	// othersTimeout bounds the question for nodes other than data nodes, which
	// takes a millisecond, or as long as a data node hangs.
	othersTimeout = time.Second
)

// ClusterStatus asks a management server how all nodes of the cluster are: data
// nodes, management servers, API nodes. While a data node hangs, until the
// others declare it failed, the status of those that are no data nodes may be
// unknown. See Nodes for what the client itself sees of the data nodes. Callers
// share one question at a time, and its answer for a second. The slice is the
// caller's. The error is ErrClosed, that of the context, or why no management
// server has answered.
func (c *Client) ClusterStatus(ctx context.Context) ([]NodeStatus, error) {
	nodes, err := askShared(ctx, c, &c.status, c.askStatus)
	return slices.Clone(nodes), err
}

// askShared has a management server asked, by this caller or by another one.
func askShared[T any](
	ctx context.Context, c *Client, shared *sharedCall[T], ask func(context.Context, *mgm.Session) (T, error),
) (answer T, err error) {
	ctx, cancelBounded := c.bounded(ctx)
	defer cancelBounded()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	answer, err = shared.get(ctx, statusKept, func() (answer T, err error) {
		err = c.askManagement(ctx, func(ctx context.Context, session *mgm.Session) error {
			answer, err = ask(ctx, session)
			return err
		})
		return answer, err
	})
	if c.isClosed() {
		return answer, ErrClosed
	}
	return answer, err
}

// askManagement asks one management server after the other, until one answers.
// One that hangs takes only its share of the time.
func (c *Client) askManagement(ctx context.Context, ask func(context.Context, *mgm.Session) error) error {
	var errs []error
	for left := len(c.servers.Addrs); left > 0 && ctx.Err() == nil; left-- {
		share := managementTimeout
		if deadline, ok := ctx.Deadline(); ok && left > 1 { // the last one has all that is left
			share = min(share, time.Until(deadline)/time.Duration(left))
		}
		err := c.askOneManagement(ctx, share, ask)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if cut := ctx.Err(); !errors.Is(err, cut) {
		err = errors.Join(err, cut)
	}
	return err
}

func (c *Client) askOneManagement(ctx context.Context, timeout time.Duration, ask func(context.Context, *mgm.Session) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	session, err := c.management(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return ask(ctx, session)
}

// askStatus asks for the nodes, and where the configuration expects them.
func (c *Client) askStatus(ctx context.Context, session *mgm.Session) ([]NodeStatus, error) {
	nodes, err := session.Status(ctx, mgm.TypeData)
	if err != nil {
		return nil, err
	}
	config, err := session.Config(ctx, c.apis[0].id)
	if err != nil {
		return nil, err
	}
	others, err := askOthers(ctx, session, config)
	if err != nil {
		return nil, err
	}
	master := masterOf(nodes)
	nodes = append(nodes, others...)
	all := make([]NodeStatus, len(nodes))
	for i, n := range nodes {
		all[i] = NodeStatus{
			ID: int(n.ID), Type: n.Type.String(), Status: n.Status, Version: knownVersion(uint32(n.Version)),
			StartPhase: n.StartPhase, NodeGroup: -1, Master: n.ID == master, ConnectCount: n.ConnectCount, Address: n.Address,
		}
		if n.Type == mgm.TypeData && n.Status != mgm.StatusNoContact {
			all[i].NodeGroup = nodeGroup(uint32(n.NodeGroup))
		}
		if configured, ok := config.Node(n.ID); ok {
			all[i].Host = configured.Host
		}
	}
	return all, nil
}

// askOthers asks for the nodes that are no data nodes. Where that takes too long
// it tells those of the configuration. It is the session's last question.
func askOthers(ctx context.Context, session *mgm.Session, config *mgm.Config) ([]mgm.NodeStatus, error) {
	short, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	others, err := session.Status(short, mgm.TypeMGM, mgm.TypeAPI)
	if err == nil || short.Err() == nil || ctx.Err() != nil {
		return others, err
	}
	for _, n := range config.Nodes {
		if n.Type != mgm.TypeData {
			others = append(others, mgm.NodeStatus{ID: n.ID, Type: n.Type})
		}
	}
	return others, nil
}

// masterOf returns the data node that leads, which is the one that has been in
// the cluster for the longest; 0 where there is none.
func masterOf(nodes []mgm.NodeStatus) (master signal.NodeID) {
	lowest := 0
	for _, n := range nodes {
		if n.Type == mgm.TypeData && n.DynamicID != 0 && (master == 0 || n.DynamicID < lowest) {
			master, lowest = n.ID, n.DynamicID
		}
	}
	return master
}

func knownVersion(v uint32) string {
	if v == 0 {
		return ""
	}
	return versionString(v)
}
