package mgm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

const (
	headerEvent = "log event reply" // begins each event

	// eventMemory is the type of the events in which data nodes tell how much
	// memory they use, one event for each kind of memory.
	eventMemory = 50

	blockDataMemory  = 249
	blockIndexMemory = 248

	maxDataNodeID   = 144
	maxMemoryEvents = 2 * maxDataNodeID
	maxPages        = 1<<32 - 1
	maxPageBytes    = 1 << 30
)

// Pages is how much of one kind of its memory a data node uses.
type Pages struct {
	Used, Total int64 // pages
	PageBytes   int64
}

// MemoryUse is how much memory a data node uses.
type MemoryUse struct {
	ID    signal.NodeID
	Data  Pages // rows and ordered indexes
	Index Pages // hash indexes
}

// MemoryUse asks all data nodes that are connected with the management server,
// which waits for each of them: one that hangs holds all up until the others
// declare it failed. They come in ascending order. A node that is lost meanwhile
// is left out.
func (s *Session) MemoryUse(ctx context.Context) ([]MemoryUse, error) {
	var nodes []MemoryUse
	_, err := s.call(ctx, CommandEvents, headerEvents, Fields{{"type", strconv.Itoa(eventMemory)}}, func(fields Fields) error {
		if err := refusal(fields); err != nil {
			return err
		}
		events, err := fields.Int("events", 0, maxMemoryEvents)
		if err != nil {
			return err
		}
		nodes, err = s.in.memoryUse(events)
		return err
	})
	return nodes, err
}

// memoryUse reads events, which count as one reply.
func (l *lines) memoryUse(events int) ([]MemoryUse, error) {
	all := map[signal.NodeID]*MemoryUse{}
	for range events {
		first, err := l.next()
		if err != nil {
			return nil, noEOF(err)
		}
		if first != headerEvent {
			return nil, fmt.Errorf("%w: got %q, want %q", ErrProtocol, first, headerEvent)
		}
		event, err := l.pairs("=")
		if err != nil {
			return nil, err
		}
		if err := addMemoryEvent(all, event); err != nil {
			return nil, err
		}
	}
	var complete []MemoryUse
	for _, n := range all {
		if n.Data != (Pages{}) && n.Index != (Pages{}) {
			complete = append(complete, *n)
		}
	}
	slices.SortFunc(complete, func(a, b MemoryUse) int { return int(a.ID) - int(b.ID) })
	return complete, nil
}

func addMemoryEvent(all map[signal.NodeID]*MemoryUse, event Fields) error {
	if _, err := event.Int("type", eventMemory, eventMemory); err != nil {
		return err
	}
	node, err := event.Int("source_nodeid", 1, maxDataNodeID)
	if err != nil {
		return err
	}
	id := signal.NodeID(node)
	if all[id] == nil {
		all[id] = &MemoryUse{ID: id}
	}
	var pages *Pages
	switch block := event.Get("block"); block {
	case strconv.Itoa(blockDataMemory):
		pages = &all[id].Data
	case strconv.Itoa(blockIndexMemory):
		pages = &all[id].Index
	default:
		return fmt.Errorf("%w: memory of block %q", ErrProtocol, block)
	}
	if *pages != (Pages{}) {
		return fmt.Errorf("%w: node %d tells its memory twice", ErrProtocol, id)
	}
	*pages, err = parsePages(event)
	return err
}

func parsePages(event Fields) (Pages, error) {
	used, err := event.Int("pages_used", 0, maxPages)
	if err != nil {
		return Pages{}, err
	}
	total, err := event.Int("pages_total", 0, maxPages)
	if err != nil {
		return Pages{}, err
	}
	size, err := event.Int("page_size_bytes", 1, maxPageBytes)
	return Pages{Used: int64(used), Total: int64(total), PageBytes: int64(size)}, err
}

// WantsMemoryUse tells whether CommandEvents asks for it.
func (r *Request) WantsMemoryUse() bool { return r.Fields.Get("type") == strconv.Itoa(eventMemory) }

// MemoryReply answers CommandEvents.
func MemoryReply(nodes []MemoryUse) *Reply {
	var events strings.Builder
	for _, n := range nodes {
		writeMemoryEvent(&events, n.ID, blockDataMemory, n.Data)
		writeMemoryEvent(&events, n.ID, blockIndexMemory, n.Index)
	}
	return &Reply{Header: headerEvents, Body: events.String(), Fields: Fields{
		{"result", resultOK},
		{"events", strconv.Itoa(2 * len(nodes))},
	}}
}

func writeMemoryEvent(to *strings.Builder, id signal.NodeID, block int, p Pages) {
	fmt.Fprintf(to, "%s\ntype=%d\ntime=0\nsource_nodeid=%d\ngth=0\npage_size_bytes=%d\npages_used=%d\npages_total=%d\nblock=%d\n\n",
		headerEvent, eventMemory, id, p.PageBytes, p.Used, p.Total, block)
}

// EventsRefusal refuses CommandEvents.
func EventsRefusal(text string) *Reply {
	return &Reply{Header: headerEvents, Fields: Fields{{"result", text}}}
}
