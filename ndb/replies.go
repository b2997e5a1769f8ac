package ndb

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// maxPendingRequests bounds how many requests wait for the answers of data
// nodes, transactions apart.
const maxPendingRequests = 1024

// replies finds who waits for the answer to a request that is no part of a
// transaction: to the dictionary, or for a global checkpoint.
type replies struct {
	mu      sync.Mutex // guards all below
	lastID  uint32
	pending map[uint32]pendingReply
}

type pendingReply struct {
	kind   signal.GSN           // of the request
	answer chan *signal.Message // has room for the one answer
}

func newReplies() *replies { return &replies{pending: map[uint32]pendingReply{}} }

// request calls send with an ID that is to come back in the answer, and returns
// that answer, a copy that belongs to the caller. kind is the GSN of the
// request. A lost link is a temporary error; so is a table that is full.
func (r *replies) request(ctx context.Context, l *link, kind signal.GSN, send func(id uint32) error) (*signal.Message, error) {
	p := pendingReply{kind: kind, answer: make(chan *signal.Message, 1)}
	id, err := r.add(p)
	if err != nil {
		return nil, err
	}
	defer r.remove(id)
	if err := send(id); err != nil {
		return nil, notSent(err)
	}
	select {
	case m := <-p.answer:
		return m, nil
	case <-l.down:
		return nil, &Error{Status: StatusTemporary, Classification: ClassNodeRecovery, Cause: fmt.Errorf("the link to node %d was lost", l.node)}
	case <-ctx.Done():
		return nil, &Error{Status: StatusTemporary, Classification: ClassTimeout, Cause: ctx.Err()}
	}
}

// requestStep keeps the low bits of IDs zero: data nodes use them as flags in
// some answers.
const requestStep = 4

func (r *replies) add(p pendingReply) (id uint32, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) >= maxPendingRequests {
		return 0, notSent(ErrQueueFull)
	}
	for taken := true; taken || r.lastID == 0 || r.lastID == signal.RNIL; {
		r.lastID += requestStep
		_, taken = r.pending[r.lastID]
	}
	r.pending[r.lastID] = p
	return r.lastID, nil
}

func (r *replies) remove(id uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, id)
}

func (r *replies) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}

// answersTo gives the request that a signal answers.
var answersTo = map[signal.GSN]signal.GSN{
	signal.GSNGetTabInfoConf: signal.GSNGetTabInfoReq,
	signal.GSNGetTabInfoRef:  signal.GSNGetTabInfoReq,
	signal.GSNListTablesConf: signal.GSNListTablesReq,
	signal.GSNWaitGCPConf:    signal.GSNWaitGCPReq,
	signal.GSNWaitGCPRef:     signal.GSNWaitGCPReq,
}

// deliver hands the answer m to who waits for it. Word 0 names the request, in
// WAIT_GCP_REF word 1. Answers that nobody waits for are dropped.
func (r *replies) deliver(m *signal.Message) {
	place := 0
	if m.GSN == signal.GSNWaitGCPRef {
		place = 1
	}
	if len(m.Data) < (place+1)*word.SizeBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.pending[word.At(m.Data, place)]; ok && p.kind == answersTo[m.GSN] {
		p.hand(m)
	}
}

// hand never waits: a second answer is dropped.
func (p pendingReply) hand(m *signal.Message) {
	select {
	case p.answer <- cloneMessage(m):
	default:
	}
}

// cloneMessage copies what belongs to the receive buffer.
func cloneMessage(m *signal.Message) *signal.Message {
	clone := *m
	clone.Data = bytes.Clone(m.Data)
	for i := range m.NumSections {
		clone.Sections[i] = bytes.Clone(m.Sections[i])
	}
	return &clone
}
