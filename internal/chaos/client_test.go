package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/internal/chaos/history"
)

const (
	// In waves clients meet more often than if each went its own way.
	waveInterval = 250 * time.Millisecond
	waveOps      = 4

	requestTimeout = 3 * time.Second // of the gateways
	patience       = 5 * time.Second // of the clients
)

var roads = []string{"ndb", "sql"}

// load is the clients of a run.
type load struct {
	begun    time.Time
	gateways []string // their URLs
	rows     *rows
	client   *http.Client
	count    [history.Unknown + 1]atomic.Int64 // by outcome
	refused  atomic.Int64
	unique   atomic.Int64 // values so far
}

func newLoad(gateways []string) *load {
	begun := time.Now()
	return &load{
		begun: begun, gateways: gateways, rows: newRows(begun),
		client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// run is one client until ctx is done. The context ends it between operations:
// one that has begun is waited for.
func (l *load) run(ctx context.Context, client int, random *rand.Rand) {
	tick := time.NewTicker(waveInterval)
	defer tick.Stop()
	for {
		for range waveOps {
			if ctx.Err() != nil {
				return
			}
			row := l.rows.pick(random)
			if row == nil {
				return
			}
			o := l.draw(row, random)
			o.Client = client
			l.do(row, o, l.gateways[random.IntN(len(l.gateways))], random.IntN(4) == 0)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// draw chooses an operation. Its values are no other's.
func (l *load) draw(row *row, random *rand.Rand) *history.Op {
	o := &history.Op{Road: roads[random.IntN(len(roads))]}
	switch n := random.IntN(100); {
	case n < 35:
		o.Kind = history.Get
		return o
	case n < 45:
		o.Kind = history.Create
	case n < 65:
		o.Kind = history.Put
	case n < 88:
		o.Kind = history.Patch
		o.Columns = history.Columns(1 + random.IntN(15))
	default:
		o.Kind = history.Delete
	}
	n := l.unique.Add(1)
	o.Value = history.Row{Present: true, First: fmt.Sprint("f", n), Last: fmt.Sprint("l", n), City: fmt.Sprint("c", n), Department: int32(n)}
	if random.IntN(6) == 0 {
		o.Value.City = ""
	}
	if o.Kind == history.Create {
		return o
	}
	switch tag, value := row.seenLast(); {
	case tag != "" && random.IntN(3) == 0:
		o.Match = &value
	case o.Kind == history.Put:
		o.Absent = random.IntN(5) == 0
	}
	return o
}

// do carries an operation out, and adds it to the history unless it was surely not
// done.
func (l *load) do(row *row, o *history.Op, gateway string, minimal bool) (added bool) {
	r := request(row, o, gateway, minimal)
	o.Call = time.Since(l.begun)
	a := l.send(r)
	o.Return = time.Since(l.begun)
	f := fateOf(o.Kind, a)
	if f.wrong != "" {
		l.rows.complain("%v on row %d, request %s: %s", o, row.id, r.Header.Get("X-Request-Id"), f.wrong)
	}
	if f.notDone {
		l.refused.Add(1)
		return false
	}
	o.Outcome, o.Saw = f.outcome, f.saw
	l.count[o.Outcome].Add(1)
	if a.tag != "" && a.err == nil && o.Outcome <= history.Replaced {
		value := o.Value
		if o.Saw != nil {
			value = *o.Saw
		}
		if err := row.tagged(a.tag, value); err != nil {
			l.rows.complain("row %d: %v", row.id, err)
		}
	}
	l.rows.add(row, o)
	return true
}

// request is the operation in HTTP.
func request(row *row, o *history.Op, gateway string, minimal bool) *http.Request {
	url := fmt.Sprintf("%s/v1/employees/%d", gateway, row.id)
	method := map[history.Kind]string{
		history.Get: http.MethodGet, history.Create: http.MethodPost, history.Put: http.MethodPut,
		history.Patch: http.MethodPatch, history.Delete: http.MethodDelete,
	}[o.Kind]
	if o.Kind == history.Create {
		url = gateway + "/v1/employees"
	}
	r, err := http.NewRequest(method, url, bytes.NewReader(requestBody(row, o)))
	if err != nil {
		panic(err) // made of constants and a number
	}
	r.Header.Set("X-Backend", o.Road)
	r.Header.Set("X-Request-Id", fmt.Sprintf("chaos-%016x", rand.Uint64()))
	if len(requestBody(row, o)) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if tag, known := row.tagOf(o.Match); known {
		r.Header.Set("If-Match", tag)
	}
	if o.Absent {
		r.Header.Set("If-None-Match", "*")
	}
	if minimal && o.Kind != history.Get && o.Kind != history.Delete {
		r.Header.Set("Prefer", "return=minimal")
	}
	return r
}

// tagOf is the ETag of a row that was seen.
func (r *row) tagOf(value *history.Row) (tag string, known bool) {
	if value == nil {
		return "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for tag, v := range r.tags {
		if v == *value {
			return tag, true
		}
	}
	return "", false
}

func requestBody(row *row, o *history.Op) []byte {
	body := map[string]any{}
	columns := o.Columns
	switch o.Kind {
	case history.Create:
		body["id"] = row.id
		columns = history.First | history.Last | history.City | history.Department
	case history.Put:
		columns = history.First | history.Last | history.City | history.Department
	case history.Get, history.Delete:
		return nil
	}
	for _, member := range []struct {
		column history.Columns
		name   string
		text   string
	}{{history.First, "first", o.Value.First}, {history.Last, "last", o.Value.Last}, {history.City, "city", o.Value.City}} {
		switch {
		case columns&member.column == 0:
		case member.text == "":
			body[member.name] = nil
		default:
			body[member.name] = member.text
		}
	}
	if columns&history.Department != 0 {
		body["department"] = o.Value.Department
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

func (l *load) send(r *http.Request) answer {
	resp, err := l.client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, tag: resp.Header.Get("ETag"), body: body, err: err}
}
