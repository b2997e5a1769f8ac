package target

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/models"
)

// NullGateway answers as a gateway whose every row is there and whose every write
// is done, but keeps nothing: what is measured of it is the harness, its HTTP
// included.
type NullGateway struct {
	Backends []string
}

// maxNullBody bounds what it reads of a request, in bytes.
const maxNullBody = 64 << 20

// ServeHTTP answers at once.
func (g *NullGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxNullBody))
	if err != nil {
		return // the client has left
	}
	w.Header().Set("Content-Type", "application/json")
	switch id, one := strings.CutPrefix(r.URL.Path, employees+"/"); {
	case r.URL.Path == "/v1/backends":
		g.writeBackends(w)
	case strings.HasSuffix(r.URL.Path, ":batchDelete"):
		writeBatchDeleted(w, body)
	case strings.HasSuffix(r.URL.Path, ":batchCreate"):
		writeJSON(w, map[string]int{"done": 1})
	case one && r.Method == http.MethodGet:
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		name := "F" + id
		text, err := appendEmployee(nil, &models.Employee{ID: n, First: &name, Last: &name, City: &name, Department: 1})
		if err == nil {
			_, _ = w.Write(text) // fails only where the client has left
		}
	case one:
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == employees && r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
	case r.URL.Path == employees:
		writeJSON(w, map[string][]int{"employees": {}})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (g *NullGateway) writeBackends(w http.ResponseWriter) {
	type backend struct {
		Name  string `json:"name"`
		State string `json:"state"`
	}
	var all []backend
	for _, name := range g.Backends {
		all = append(all, backend{name, "up"})
	}
	writeJSON(w, map[string][]backend{"backends": all})
}

func writeBatchDeleted(w http.ResponseWriter, body []byte) {
	var b struct{ IDs []int64 }
	if err := json.Unmarshal(body, &b); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	results := make([]map[string]int, len(b.IDs))
	for i := range results {
		results[i] = map[string]int{"status": http.StatusNoContent}
	}
	writeJSON(w, map[string]any{"results": results})
}

func writeJSON(w io.Writer, v any) {
	_ = json.NewEncoder(w).Encode(v) // fails only where the client has left
}
