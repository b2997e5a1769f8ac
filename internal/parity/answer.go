package parity

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	"github.com/ndbgate/ndbgate/api/rowformat"
)

// answer is what a handler has answered.
type answer struct {
	status int
	header http.Header
	body   string // decompressed
	wrong  string // what no road may answer
}

// serve has the handler of the side answer a request by its road.
func (s *side) serve(r *http.Request) answer {
	s.log.Reset()
	r.Header.Set("X-Backend", s.road)
	r.Header.Set("X-Request-Id", "parity")
	w := httptest.NewRecorder()
	a := answer{wrong: s.handle(w, r)}
	a.status, a.header = w.Code, w.Header()
	a.wrong = cmp.Or(a.wrong, comparedWrongly(a.header))
	var err error
	if a.body, err = decompressed(w); err != nil {
		a.wrong = cmp.Or(a.wrong, err.Error())
	}
	return a
}

// handle tells whether the answer was cut off.
func (s *side) handle(w http.ResponseWriter, r *http.Request) (wrong string) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			wrong = "the answer was cut off"
		default:
			panic(v)
		}
	}()
	s.handler.ServeHTTP(w, r)
	return ""
}

func decompressed(w *httptest.ResponseRecorder) (string, error) {
	encoding := cmp.Or(w.Header().Get("Content-Encoding"), rowformat.Identity)
	if w.Body.Len() == 0 {
		return "", nil // of HEAD
	}
	r, err := rowformat.NewReader(encoding, w.Body)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	if err == nil {
		err = r.Close()
	}
	return string(text), err
}

// comparedWrongly tells where X-Backend-Compare says that the roads do not agree.
func comparedWrongly(h http.Header) string {
	if value := h.Get("X-Backend-Compare"); value != "" && !strings.Contains(value, "result=agree") {
		return "X-Backend-Compare: " + value
	}
	return ""
}

// outcome is the answer with a name. Equal must be the status, the body, and all
// headers but those that name the road or tell times.
func (a *answer) outcome(s *side, name string) outcome {
	return outcome{
		same: a.head() + fmt.Sprintf("\n%+q", a.bodyForAll()), name: fmt.Sprintf("%s %d", name, a.status), wrong: a.wrong,
		cause: s.log.String(), replayed: a.isReplayed(),
	}
}

// head is all but the body that must be equal.
func (a *answer) head() string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%d", a.status)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		switch name {
		case "X-Backend", "Server-Timing", "X-Backend-Compare":
		default:
			fmt.Fprintf(&text, "\n%s: %s", name, strings.Join(a.header[name], ", "))
		}
	}
	return text.String()
}

// bodyForAll is the body without the name of the road in the texts of problems.
func (a *answer) bodyForAll() string {
	if a.status < http.StatusBadRequest {
		return a.body
	}
	return roadName.ReplaceAllString(a.body, "{road}")
}

var roadName = regexp.MustCompile(`\b(` + ndbRoad + `|` + sqlRoad + `)\b`)

func (a *answer) isReplayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }
