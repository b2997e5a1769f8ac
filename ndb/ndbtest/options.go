package ndbtest

import (
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Option changes how a cluster is made. What is left out has the defaults that
// the functions below name.
type Option func(*options)

type options struct {
	dataNodes       int
	apiNodes        []signal.NodeID
	host            string
	mgmPort         int
	serverPort      int
	inMemory        bool
	format          signal.Format
	lockWait        time.Duration
	inactive        time.Duration
	heartbeat       time.Duration
	quarantine      time.Duration
	startDelay      time.Duration
	epoch           time.Duration
	checkpoint      time.Duration
	maxOperations   int
	maxTransactions int
	maxScans        int
	readBackup      bool
	requireTLS      bool
	weights         func(collation uint16) func(r rune) uint32
	onLockWait      func()
	onViolation     func(error)
}

const (
	firstDataNode  = 2
	mgmNode        = 1
	firstAPINode   = 53
	lastAPINode    = 68
	maxDataNodes   = 4
	dynamicPorts   = 0
	maxReplicas    = 2
	threeReplicas  = 3
	longerThanTest = 1000 * time.Hour
)

func defaultOptions() options {
	o := options{
		dataNodes:       2,
		host:            "127.0.0.1",
		format:          signal.Format{SignalID: true},
		lockWait:        1200 * time.Millisecond,
		heartbeat:       1500 * time.Millisecond,
		quarantine:      50 * time.Millisecond,
		startDelay:      5 * time.Millisecond,
		epoch:           100 * time.Millisecond,
		checkpoint:      2 * time.Second,
		maxOperations:   32768,
		maxTransactions: 4096,
		maxScans:        256,
		readBackup:      true,
	}
	for id := signal.NodeID(firstAPINode); id <= lastAPINode; id++ {
		o.apiNodes = append(o.apiNodes, id)
	}
	return o
}

func (o *options) check() error {
	if o.dataNodes < 1 || o.dataNodes > maxDataNodes {
		return fmt.Errorf("ndbtest: %d data nodes; there can be 1 to %d", o.dataNodes, maxDataNodes)
	}
	for _, id := range o.apiNodes {
		if id <= firstDataNode+maxDataNodes {
			return fmt.Errorf("ndbtest: API node %d; IDs up to %d belong to other nodes", id, firstDataNode+maxDataNodes)
		}
	}
	return nil
}

// replicas is the configuration's NoOfReplicas. Data nodes share out into groups
// of so many.
func (o *options) replicas() int {
	switch o.dataNodes {
	case 1, threeReplicas:
		return o.dataNodes
	}
	return maxReplicas
}

// DataNodes sets the number of data nodes, 1 to 4, with IDs from 2 on. Up to
// three are one node group, four are two groups of two. The default is 2.
func DataNodes(n int) Option { return func(o *options) { o.dataNodes = n } }

// APINodes sets the IDs of the API nodes of the configuration. The default is
// 53 to 68.
func APINodes(ids ...int) Option {
	return func(o *options) {
		o.apiNodes = nil
		for _, id := range ids {
			o.apiNodes = append(o.apiNodes, signal.NodeID(id))
		}
	}
}

// Host is the address to listen on. The default is 127.0.0.1.
func Host(host string) Option { return func(o *options) { o.host = host } }

// ManagementPort fixes the port of the management server. By default any free
// one is taken.
func ManagementPort(port int) Option { return func(o *options) { o.mgmPort = port } }

// ServerPort fixes the ports of the data nodes: this one for the first, then
// upwards. By default they are dynamic: each start of a node takes any free one,
// for which clients ask the management server.
func ServerPort(first int) Option { return func(o *options) { o.serverPort = first } }

// InMemory makes the cluster listen on a network of its own, inside the
// process: see Cluster.Dial. Nothing of it touches the operating system, so that
// it can run in a bubble of testing/synctest.
func InMemory() Option { return func(o *options) { o.inMemory = true } }

// Checksum makes all signals carry a checksum and no signal ID, instead of the
// other way round.
func Checksum() Option {
	return func(o *options) { o.format = signal.Format{Checksum: true} }
}

// LockWaitTimeout is TransactionDeadlockDetectionTimeout, 1.2 s by default.
func LockWaitTimeout(d time.Duration) Option { return func(o *options) { o.lockWait = d } }

// InactiveTimeout is TransactionInactiveTimeout. By default transactions may
// idle for ever.
func InactiveTimeout(d time.Duration) Option { return func(o *options) { o.inactive = d } }

// HeartbeatInterval is how often API nodes have to tell that they live, 1.5 s
// by default. More than four intervals without a heartbeat, and they are
// dropped.
func HeartbeatInterval(d time.Duration) Option { return func(o *options) { o.heartbeat = d } }

// Quarantine is how long data nodes take no link from an API node whose last
// one was closed, and the management server does not give its ID away. The
// default is 50 ms; real clusters take about 3 s.
func Quarantine(d time.Duration) Option { return func(o *options) { o.quarantine = d } }

// StartDelay is how long a data node is starting, and how long each level takes
// of one that is stopped with StopNode. The default is 5 ms.
func StartDelay(d time.Duration) Option { return func(o *options) { o.startDelay = d } }

// CheckpointInterval is how often a global checkpoint completes, 2 s by
// default. Zero leaves that to Cluster.Checkpoint.
func CheckpointInterval(d time.Duration) Option {
	return func(o *options) {
		o.checkpoint = d
		if d == 0 {
			o.checkpoint, o.epoch = longerThanTest, longerThanTest
		}
	}
}

// MaxOperations is MaxNoOfConcurrentOperations, the most of one transaction:
// more fail with 261. The default is 32768.
func MaxOperations(n int) Option { return func(o *options) { o.maxOperations = n } }

// MaxTransactions is MaxNoOfConcurrentTransactions of each data node: to seize
// more records fails with 219. The default is 4096.
func MaxTransactions(n int) Option { return func(o *options) { o.maxTransactions = n } }

// MaxScans is MaxNoOfConcurrentScans of each data node: more fail with 245. The
// default is 256.
func MaxScans(n int) Option { return func(o *options) { o.maxScans = n } }

// NoReadBackup makes tables whose committed reads only the primary replica
// serves. By default any replica does, as for tables that SQL nodes make.
func NoReadBackup() Option { return func(o *options) { o.readBackup = false } }

// RequireTLS makes the data nodes refuse links in clear text, which are the
// only ones that there are here.
func RequireTLS() Option { return func(o *options) { o.requireTLS = true } }

// Weights gives the cluster more knowledge of collations than it has: f returns
// the function that gives each character its weight in a collation, or nil where
// that is not known either. It is asked for collations of UTF-8, and for those of
// latin1 that are not known here. What it returns is called with the state of the cluster in hand: it must not wait, nor
// call the cluster.
func Weights(f func(collation uint16) func(r rune) uint32) Option {
	return func(o *options) { o.weights = f }
}

// OnLockWait is called each time that an operation or a scan begins to wait for
// a row lock, without any lock of the cluster: by the goroutine that waits, where
// it belongs to a LocalTx.
func OnLockWait(f func()) Option { return func(o *options) { o.onLockWait = f } }

// OnViolation is called for each signal that a real data node would not have
// survived, or would have dropped its sender for. Calls come one at a time,
// without any lock. Run fails the test besides.
func OnViolation(f func(error)) Option { return func(o *options) { o.onViolation = f } }
