package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

const (
	// firstConnectTimeout is for the first attempt, so that the reason is known
	// soon where there is no cluster. A management server may take 4 s to give a node
	// ID where one was given back just now.
	firstConnectTimeout = 5 * time.Second
	firstConnectPause   = 100 * time.Millisecond
	maxConnectPause     = 2 * time.Second
)

// Store is the native road. It is safe for concurrent use.
type Store struct {
	cfg       Config
	pool      pool
	employees *mapper
	commits   commits
	counters  counters
	eaching   chan struct{} // holds one for each batch of single writes that runs

	mappers sync.Map // reflect.Type → *mapper

	client atomic.Pointer[ndb.Client] // nil until the cluster was reached
	reason atomic.Pointer[error]      // why it was not
	tried  chan struct{}              // closed after the first attempt

	closing context.Context // done once Close was called
	close   context.CancelFunc
	running sync.WaitGroup // of run
}

var (
	_ store.Backend  = (*Store)(nil)
	_ store.Durable  = (*Store)(nil)
	_ store.Counting = (*Store)(nil)
)

// Open returns a store without waiting for the cluster: it connects in the
// background, and again and again until it succeeds. Until then every call is
// answered with ErrUnavailable and the reason. The caller must Close it.
func Open(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg.withDefaults(), eaching: make(chan struct{}, maxEach), tried: make(chan struct{})}
	employees, err := s.mapperOf(reflect.TypeFor[models.Employee]())
	if err != nil {
		return nil, err
	}
	s.employees = employees
	s.pool.max, s.pool.maxWaiting = s.cfg.MaxTransactions, s.cfg.MaxWaiting
	s.pool.newSession = s.newSession
	s.reason.Store(&errConnecting)
	s.closing, s.close = context.WithCancel(context.Background())
	s.running.Go(s.run) // ends with Close, which waits for it
	return s, nil
}

func (s *Store) newSession() *Session {
	return &Session{store: s, works: map[reflect.Type]*work{}}
}

func (s *Store) mapperOf(t reflect.Type) (*mapper, error) {
	if p, ok := s.mappers.Load(t); ok {
		return p.(*mapper), nil
	}
	fresh, err := newMapper(t, &s.cfg)
	if err != nil {
		return nil, err
	}
	p, _ := s.mappers.LoadOrStore(t, fresh)
	return p.(*mapper), nil
}

// run connects, and then keeps the mappings up to date until Close.
func (s *Store) run() {
	client := s.connect()
	if client == nil {
		return
	}
	defer client.Close()
	s.watch(client)
}

// connect returns nil where the store was closed before the cluster was reached.
func (s *Store) connect() *ndb.Client {
	longest, timeout := firstConnectPause, min(firstConnectTimeout, s.cfg.ConnectTimeout)
	for {
		client, err := s.tryToConnect(timeout)
		if err == nil {
			return client
		}
		if s.closing.Err() != nil {
			return nil
		}
		if last := s.reason.Swap(&err); (*last).Error() != err.Error() {
			s.cfg.Logger.Warn("NDB cluster cannot be reached", "connectstring", s.cfg.Connectstring, "error", err.Error())
		}
		s.noteTried()
		timer := time.NewTimer(longest/2 + rand.N(longest/2))
		select {
		case <-timer.C:
		case <-s.closing.Done():
			timer.Stop()
			return nil
		}
		longest, timeout = min(2*longest, maxConnectPause), s.cfg.ConnectTimeout
	}
}

// tryToConnect makes one attempt, and reads the table before anybody else asks
// for it.
func (s *Store) tryToConnect(timeout time.Duration) (*ndb.Client, error) {
	ctx, cancel := context.WithTimeout(s.closing, timeout)
	defer cancel()
	client, err := ndb.Connect(ctx, s.cfg.client())
	if err != nil {
		// The text alone: the end of this context is not that of a caller's.
		return nil, errors.New(err.Error())
	}
	s.cfg.Logger.Info("NDB cluster is reached", "connectstring", s.cfg.Connectstring)
	s.check(ctx, client, s.employees)
	s.client.Store(client)
	s.noteTried()
	return client, nil
}

// noteTried is called by run alone.
func (s *Store) noteTried() {
	select {
	case <-s.tried:
	default:
		close(s.tried)
	}
}

// watch looks for changed tables until the store is closed.
func (s *Store) watch(client *ndb.Client) {
	ticker := time.NewTicker(s.cfg.CheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.closing.Done():
			return
		}
		s.mappers.Range(func(_, p any) bool {
			s.check(s.closing, client, p.(*mapper))
			return true
		})
	}
}

// check looks whether a table still fits, and tells the log where that changes.
func (s *Store) check(ctx context.Context, client *ndb.Client, p *mapper) {
	before := p.misfit()
	if err := p.check(ctx, client); err != nil && p.misfit() == nil {
		// The dictionary could not be asked. Calls that need it will say so, and
		// the next check comes soon.
		s.cfg.Logger.Debug("table could not be checked", "table", p.shape.table, "error", err.Error())
	}
	if p == s.employees {
		s.probe(ctx)
	}
	after := p.misfit()
	switch {
	case after != nil && (before == nil || before.Error() != after.Error()):
		s.cfg.Logger.Warn("table does not fit", "table", p.shape.table, "error", after.Error())
	case after == nil && before != nil:
		s.cfg.Logger.Info("table fits again", "table", p.shape.table)
	}
}

// probeTimeout bounds the look for an employee.
const probeTimeout = time.Second

// probe reads an employee that nobody has, and makes the mapping anew where that
// meets another table: the cluster does not tell that a table was dropped. Any
// other error is one of the moment.
func (s *Store) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	t, err := s.newSession().begin(&models.Employee{}, false)
	if err != nil || !t.next(ctx) {
		return
	}
	if t.err = t.find(ctx); t.mayBeOld() {
		_, _ = t.relearn(ctx) // which keeps the reason
	}
}

// connected returns the client, or ErrUnavailable.
func (s *Store) connected() (*ndb.Client, error) {
	if client := s.client.Load(); client != nil {
		return client, nil
	}
	if s.closing.Err() != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, errClosed)
	}
	return nil, fmt.Errorf("%w: no connection to the cluster: %w", store.ErrUnavailable, *s.reason.Load())
}

// Close ends the connection and all that waits. Calls still running end with an
// error; sessions may be closed later. Closing twice is fine.
func (s *Store) Close() error {
	s.close()
	s.pool.close()
	s.running.Wait()
	return nil
}
