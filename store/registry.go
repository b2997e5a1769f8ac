package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
)

// Registry holds the configured backends by name. It is filled before it is
// used; from then on it is safe for concurrent use.
type Registry struct {
	names    []string
	backends map[string]Backend
	defaults []Share
	sum      uint64 // of the weights of defaults
}

// Share is the part of the requests without a choice of their own that one
// backend serves: its weight against the sum of all.
type Share struct {
	Name   string
	Weight int // at least 1
}

// NewRegistry returns a registry whose Default is the backend of that name.
func NewRegistry(defaultName string) *Registry {
	return NewWeightedRegistry([]Share{{Name: defaultName, Weight: 1}})
}

// NewWeightedRegistry returns a registry whose defaults share the requests that
// choose no backend. It panics where there is no share, or one without weight.
// It keeps the slice.
func NewWeightedRegistry(defaults []Share) *Registry {
	r := &Registry{backends: map[string]Backend{}, defaults: defaults}
	for _, share := range defaults {
		if share.Weight < 1 {
			panic(fmt.Sprintf("store: default backend %s has the weight %d", share.Name, share.Weight))
		}
		r.sum += uint64(share.Weight)
	}
	if r.sum == 0 {
		panic("store: no default backend")
	}
	return r
}

// backendName is a token of HTTP that begins with a letter, as structured
// headers (RFC 9651) want it.
var backendName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// Add puts a backend under a name; it panics where the name is taken or is none
// that a header can hold.
func (r *Registry) Add(name string, b Backend) {
	if !backendName.MatchString(name) {
		panic(fmt.Sprintf("store: a backend named %q", name))
	}
	if _, taken := r.backends[name]; taken {
		panic("store: two backends named " + name)
	}
	r.names = append(r.names, name)
	r.backends[name] = b
}

// Lookup finds a backend by its name; the empty name means Default.
func (r *Registry) Lookup(name string) (found string, b Backend, ok bool) {
	if name == "" {
		name = r.Default()
	}
	b, ok = r.backends[name]
	return name, b, ok
}

// Choose finds the backend of a request that chooses none. The same key gives
// the same backend as long as the defaults stay as they are: the first 8 bytes
// of the key's SHA-256, big-endian, as a part of 2^64, fall into the share of
// one of the defaults, which lie side by side in their order. So where the
// share of the last one grows, keys move to it and none moves elsewhere.
func (r *Registry) Choose(key string) (name string, b Backend, ok bool) {
	if len(r.defaults) == 1 {
		return r.Lookup(r.defaults[0].Name)
	}
	hash := sha256.Sum256([]byte(key))
	place, _ := bits.Mul64(binary.BigEndian.Uint64(hash[:]), r.sum) // below sum
	for _, share := range r.defaults {
		if place < uint64(share.Weight) {
			return r.Lookup(share.Name)
		}
		place -= uint64(share.Weight)
	}
	panic("store: weights of the default backends changed")
}

// Default is the name of the backend that serves most of the requests that
// choose none; of several, the first.
func (r *Registry) Default() string {
	most := r.defaults[0]
	for _, share := range r.defaults {
		if share.Weight > most.Weight {
			most = share
		}
	}
	return most.Name
}

// Defaults lists the backends of requests that choose none, in their order. The
// slice must not be changed.
func (r *Registry) Defaults() []Share { return r.defaults }

// Names lists the backends in the order in which they were added. The slice
// must not be changed.
func (r *Registry) Names() []string { return r.names }

// Close closes all backends and joins their errors.
func (r *Registry) Close() error {
	var errs []error
	for _, name := range r.names {
		if err := r.backends[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("close backend %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
