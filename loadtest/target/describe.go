package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxDescription bounds what a gateway may tell of itself, in bytes.
const maxDescription = 4 << 20

// Description is what a gateway tells of itself.
type Description struct {
	URL      string          `json:"url"`
	Backends json.RawMessage `json:"backends"`          // as /v1/backends has it
	Cluster  json.RawMessage `json:"cluster,omitempty"` // as /v1/cluster has it

	// Connectstring is where the native road is connected; empty: there is none.
	Connectstring string `json:"-"`
}

// Describe asks a gateway for its backends, which must have those wanted and
// serve by them, and for its cluster.
func (h *HTTP) Describe(ctx context.Context, wanted []string) (*Description, error) {
	address := h.URL.String()
	var list struct {
		Backends []struct {
			Name, State, Reason string
			Nodes               []struct{ Address string }
		}
	}
	text, err := h.get(ctx, "/v1/backends")
	if wrong, ok := errors.AsType[*url.Error](err); ok {
		return nil, fmt.Errorf("target %s does not answer: %w; start a gateway there, or name where it listens", address, wrong.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", address, err)
	}
	if err := json.Unmarshal(text, &list); err != nil || len(list.Backends) == 0 {
		return nil, fmt.Errorf("target %s is no gateway: /v1/backends gives %.80q", address, text)
	}
	d := &Description{URL: h.URL.String(), Backends: text}
	var names []string
	for _, b := range list.Backends {
		names = append(names, b.Name)
		if b.Name == "ndb" && len(b.Nodes) > 0 {
			d.Connectstring = b.Nodes[0].Address
		}
		if slices.Contains(wanted, b.Name) && b.State != "up" {
			return nil, fmt.Errorf("target %s: backend %s is %s: %s", address, b.Name, b.State, b.Reason)
		}
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("target %s has no backend %s; it has %s", address, name, strings.Join(names, ", "))
		}
	}
	// Gateways without a native road cannot tell of the cluster.
	if text, err := h.get(ctx, "/v1/cluster"); err == nil && json.Valid(text) {
		d.Cluster = text
	}
	return d, nil
}

func (h *HTTP) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	if h.Key != "" {
		r.Header.Set("Authorization", "Bearer "+h.Key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDescription))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d %.80q", path, resp.StatusCode, text)
	}
	return text, nil
}
