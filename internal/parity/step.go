package parity

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/ndbgate/ndbgate/api"
	"github.com/ndbgate/ndbgate/store"
)

// Names of the roads, as X-Backend has them.
const (
	ndbRoad = "ndb"
	sqlRoad = "sql"
)

// side is one road to one twin.
type side struct {
	twin    string // for people
	road    string
	rows    store.Backend
	handler http.Handler // of the twin; it takes the road by its name
	others  *sql.DB
	log     *bytes.Buffer // what the handler has logged of failures
}

func (s *side) String() string { return s.road + " on the " + s.twin + " twin" }

// newSides makes the native and the SQL side of a twin.
func newSides(name string, t Twin) [2]*side {
	registry := store.NewRegistry(ndbRoad)
	registry.Add(ndbRoad, t.NDB)
	registry.Add(sqlRoad, t.SQL)
	log := &bytes.Buffer{}
	handler := api.New(registry, api.Options{
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	return [2]*side{
		{twin: name, road: ndbRoad, rows: t.NDB, handler: handler, others: t.Others, log: log},
		{twin: name, road: sqlRoad, rows: t.SQL, handler: handler, others: t.Others, log: log},
	}
}

// step is one thing to do. It is nothing but data, so that it can be done again.
type step struct {
	action
	reads  bool  // it is done on all sides, else on one of each twin
	native bool  // a write is done natively on the first twin, else on the second
	id     int64 // of the only row that it is about; 0 where there is none or more than one

	many bool    // it is about many rows
	ids  []int64 // of those of them that other steps are about, too
}

// isAbout tells whether the step may write or read the row.
func (s step) isAbout(id int64) bool { return s.id == id || slices.Contains(s.ids, id) }

// String tells which road a write takes on which twin.
func (s step) String() string {
	switch {
	case s.reads:
		return fmt.Sprintf("[all      ] %s", s.action)
	case s.native:
		return fmt.Sprintf("[ndb | sql] %s", s.action)
	default:
		return fmt.Sprintf("[sql | ndb] %s", s.action)
	}
}

// action is what a step does.
type action interface {
	// do does it on one side.
	do(ctx context.Context, s *side, m *memory) outcome
	// smaller returns actions that do a little less.
	smaller() []action
	// String is short, for people.
	String() string
}

// outcome is what an action led to.
type outcome struct {
	same  string // must be equal on all sides
	name  string // short, to be counted
	cause string // of an error, for people
	wrong string // what is wrong whatever the others say
	shown *shown // of requests that end well; else nil

	rows     map[int64]string // that were shown, of many; those with assigned IDs are not among them
	replayed bool             // nothing was done, for it was done before
}

// shown is a row as a road has shown it.
type shown struct {
	etag string
	body string // empty where the client wanted little
}

// isShownBy tells whether a read shows what a write has answered.
func (w *shown) isShownBy(read *shown) bool {
	return read != nil && w.etag == read.etag && (w.body == "" || w.body == read.body)
}

func (o outcome) String() string {
	text := o.same
	for _, more := range []string{o.wrong, o.cause} {
		if more != "" {
			text += "\n(" + strings.TrimSpace(more) + ")"
		}
	}
	return text
}

// memory is what steps have led to, for those that follow.
type memory struct {
	etags     map[int64][]string // of each row, as they were seen, the last one last
	pageToken string             // of the last list
	export    string             // the last one
	replays   map[replay]string  // what was answered at first
}

func newMemory() *memory { return &memory{etags: map[int64][]string{}, replays: map[replay]string{}} }

func (m *memory) saw(id int64, etag string) {
	seen := m.etags[id]
	if etag != "" && (len(seen) == 0 || seen[len(seen)-1] != etag) {
		m.etags[id] = append(seen, etag)
	}
}

// etag returns the ETag that the row had ago changes ago, as far as it was seen.
func (m *memory) etag(id int64, ago int) string {
	seen := m.etags[id]
	if len(seen) <= ago {
		return `"none"`
	}
	return seen[len(seen)-1-ago]
}
