package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// reply is the answer of a write, as far as it does not depend on the request
// that gets it: it can be kept and sent again.
type reply struct {
	status   int
	location string // empty: none
	etag     string // empty: none
	body     []byte // JSON; nil: none

	// assigned are the ids that a batch has assigned, of which all of its answer
	// follows; see assignedRuns. It is kept, and never sent.
	assigned string
}

// reply sends it.
func (x *exchange) reply(r *reply) {
	for _, h := range r.headers() {
		x.w.Header().Set(h.name, h.value)
	}
	contentType := ""
	if r.body != nil {
		contentType = jsonType
	}
	x.send(r.status, contentType, r.body)
}

type replyHeader struct{ name, value string }

// headers are those that it has.
func (r *reply) headers() []replyHeader {
	all := []replyHeader{{"Location", r.location}, {"ETag", r.etag}}
	return slices.DeleteFunc(all, func(h replyHeader) bool { return h.value == "" })
}

// encode gives a form for people who look into the database as well: lines as of
// HTTP for status and headers, an empty one, and the body. Without the empty line
// there is no body.
func (r *reply) encode() []byte {
	text := strconv.AppendInt(nil, int64(r.status), 10)
	text = append(text, '\n')
	kept := r.headers()
	if r.assigned != "" {
		kept = append(kept, replyHeader{"Assigned", r.assigned})
	}
	for _, h := range kept {
		text = fmt.Appendf(text, "%s: %s\n", h.name, h.value)
	}
	if r.body != nil {
		text = append(text, '\n')
		text = append(text, r.body...)
	}
	return text
}

var errNoReply = errors.New("it is not of the form that this gateway knows")

// decodeReply is the reverse of encode. It keeps the text.
func decodeReply(text []byte) (*reply, error) {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	status, err := strconv.Atoi(string(line))
	if err != nil || status < http.StatusOK || status > 599 {
		return nil, errNoReply
	}
	r := &reply{status: status}
	for len(rest) > 0 {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, errNoReply
		}
		if len(line) == 0 {
			r.body = after
			return r, nil
		}
		switch name, value, _ := strings.Cut(string(line), ": "); name {
		case "Location":
			r.location = value
		case "ETag":
			r.etag = value
		case "Assigned":
			r.assigned = value
		default:
			return nil, errNoReply
		}
		rest = after
	}
	return r, nil
}
