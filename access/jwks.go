package access

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxKeySetBytes = 1 << 20 // most issuers have a hundredth of it
	maxKeySetKeys  = 100
	minRSABits     = 2048
)

// keySource gives the public key that a token names.
type keySource interface {
	// find returns a *RefusedError where there is no such key, or ErrUnavailable.
	find(ctx context.Context, id string, algorithm jose.SignatureAlgorithm) (crypto.PublicKey, error)
	// current is another pointer with every change, and nil where there are no keys.
	current() *keySet
}

// verifyKey is a public key with the one algorithm that it is for.
type verifyKey struct {
	algorithm jose.SignatureAlgorithm
	key       crypto.PublicKey
}

// keySet is the public keys of a JWK Set by their IDs.
type keySet map[string][]verifyKey

var errNoUsableKey = errors.New("it has no public key for RS256 (2048 bits or more), ES256 or EdDSA")

// parseKeySet reads a JWK Set, and passes over keys that are for something else.
// Its errors quote nothing.
func parseKeySet(text []byte) (keySet, error) {
	var document struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, errors.New("it is no JWK Set")
	}
	if len(document.Keys) > maxKeySetKeys {
		return nil, fmt.Errorf("it has more than %d keys", maxKeySetKeys)
	}
	set := keySet{}
	for _, raw := range document.Keys {
		if id, key, ok := usableKey(raw); ok {
			set[id] = append(set[id], key)
		}
	}
	if len(set) == 0 {
		return nil, errNoUsableKey
	}
	return set, nil
}

func usableKey(raw []byte) (id string, key verifyKey, ok bool) {
	// What is secret is looked for first: go-jose spends time on private keys.
	var secret struct {
		D, K *json.RawMessage
	}
	var jwk jose.JSONWebKey
	if json.Unmarshal(raw, &secret) != nil || secret.D != nil || secret.K != nil || jwk.UnmarshalJSON(raw) != nil {
		return "", key, false
	}
	key = verifyKey{algorithmOf(jwk.Key), jwk.Key}
	fits := key.algorithm != "" && (jwk.Algorithm == "" || jwk.Algorithm == string(key.algorithm))
	return jwk.KeyID, key, fits && jwk.Valid() && (jwk.Use == "" || jwk.Use == "sig")
}

// algorithmOf is empty for keys that are not taken.
func algorithmOf(key crypto.PublicKey) jose.SignatureAlgorithm {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() >= minRSABits {
			return jose.RS256
		}
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return jose.ES256
		}
	case ed25519.PublicKey:
		return jose.EdDSA
	}
	return ""
}

// find returns nil where there is no such key. A token without an ID gets the
// only key of the set.
func (s keySet) find(id string, algorithm jose.SignatureAlgorithm) crypto.PublicKey {
	keys := s[id]
	if id == "" && len(s) == 1 {
		for _, keys = range s {
		}
		if len(keys) != 1 {
			return nil
		}
	}
	for _, key := range keys {
		if key.algorithm == algorithm {
			return key.key
		}
	}
	return nil
}

// holds tells whether a token that was signed with the key would still be taken.
func (s keySet) holds(id string, key verifyKey) bool {
	same, ok := key.key.(interface{ Equal(crypto.PublicKey) bool })
	return ok && same.Equal(s.find(id, key.algorithm))
}

func errUnknownKey() error { return refused("the key that the token is signed with is not known") }

// fileKeys are the public keys of a file.
type fileKeys struct {
	path string
	set  atomic.Pointer[keySet]
}

func (f *fileKeys) load() error {
	text, err := ReadFile(f.path, maxKeySetBytes)
	if err != nil {
		return err
	}
	set, err := parseKeySet(text)
	if err != nil {
		return err
	}
	f.set.Store(&set)
	return nil
}

func (f *fileKeys) current() *keySet { return f.set.Load() }

func (f *fileKeys) find(_ context.Context, id string, algorithm jose.SignatureAlgorithm) (crypto.PublicKey, error) {
	if key := f.set.Load().find(id, algorithm); key != nil {
		return key, nil
	}
	return nil, errUnknownKey()
}
