package access

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// keyPrefix tells keys from tokens, and lets scanners of repositories find
	// those that were committed.
	keyPrefix = "ndbgate_"
	// keyBytes of random cannot be guessed, and neither can they be found out
	// from their hash. So that hash need not be slow, as one of passwords must.
	keyBytes   = 32
	hashPrefix = "sha256:"

	maxKeys         = 10_000
	maxKeysBytes    = 1 << 20
	maxKeyLineBytes = 4 << 10 // of a comment too, and with its end
)

// Key is a line of the file of keys. Keys may have the same name, as the old and
// the new one do while all callers change to it.
type Key struct {
	Name    string
	Scopes  Scopes
	Hash    [sha256.Size]byte // of the key, with its prefix
	Expires time.Time         // zero: never
}

// NewKey makes a key, and returns it beside what the file needs to know of it.
func NewKey(name string, scopes Scopes, expires time.Time) (secret string, key Key, err error) {
	if !isKeyName(name) {
		return "", Key{}, errKeyName
	}
	var random [keyBytes]byte
	_, _ = rand.Read(random[:]) // it never fails
	secret = keyPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	return secret, Key{Name: name, Scopes: scopes, Hash: sha256.Sum256([]byte(secret)), Expires: expires.UTC().Truncate(time.Second)}, nil
}

// String is the line of the file.
func (k *Key) String() string {
	line := k.Name + " " + k.Scopes.String() + " " + hashPrefix + hex.EncodeToString(k.Hash[:])
	if !k.Expires.IsZero() {
		line += " " + k.Expires.UTC().Format(time.RFC3339)
	}
	return line
}

var errKeyName = fmt.Errorf("a name must be 1 to %d printable ASCII characters without spaces, and must not begin with #", maxNameBytes)

func isKeyName(name string) bool {
	return isName(name) && !strings.Contains(name, " ") && name[0] != '#' && !strings.HasPrefix(name, keyPrefix)
}

// ReadKeys reads a file of keys: a line for each, with name, scopes, hash and,
// where it ends, a time of RFC 3339, and spaces between them. Empty lines and
// those that begin with # are passed over. An error names the line and quotes
// nothing: keys themselves may have strayed into it. Of what ReadFile refuses the
// error is that of ReadFile.
func ReadKeys(path string) ([]Key, error) {
	text, err := ReadFile(path, maxKeysBytes)
	if err != nil {
		return nil, err
	}
	return parseKeys(text)
}

// byteOrderMarks are those of UTF-8 and UTF-16.
var byteOrderMarks = []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}

func parseKeys(text []byte) ([]Key, error) {
	for _, mark := range byteOrderMarks {
		if bytes.HasPrefix(text, []byte(mark)) {
			return nil, errors.New("line 1: it begins with a byte order mark (BOM); write the file as UTF-8 without one")
		}
	}
	var keys []Key
	at := map[[sha256.Size]byte]int{} // line of each hash
	n := 0
	for raw := range bytes.Lines(text) {
		n++
		if !bytes.HasSuffix(raw, []byte("\n")) {
			// A write that was cut off behind the hash would make of a key that ends
			// one that never does.
			return nil, fmt.Errorf("line %d is not complete: it ends without a newline; write the file anew and rename it into place", n)
		}
		if len(raw) > maxKeyLineBytes {
			return nil, fmt.Errorf("line %d: it is longer than %d bytes", n, maxKeyLineBytes)
		}
		line := strings.TrimSpace(string(raw))
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if first, twice := at[key.Hash]; twice {
			return nil, fmt.Errorf("line %d: the key is that of line %d", n, first)
		}
		at[key.Hash] = n
		keys = append(keys, key)
	}
	if len(keys) > maxKeys {
		return nil, fmt.Errorf("it has more than %d keys", maxKeys)
	}
	return keys, nil
}

func parseKey(line string) (key Key, err error) {
	fields := strings.Fields(line)
	if strings.Contains(line, keyPrefix) {
		return Key{}, errors.New("it holds a key itself; only the hash of a key belongs here, and this key is to be replaced")
	}
	if len(fields) != 3 && len(fields) != 4 {
		return Key{}, errors.New("expected NAME SCOPES " + hashPrefix + "HASH [EXPIRES]")
	}
	if key.Name = fields[0]; !isKeyName(key.Name) {
		return Key{}, errKeyName
	}
	if key.Scopes, err = ParseScopes(fields[1]); err != nil {
		return Key{}, fmt.Errorf("scopes %w", err)
	}
	digits, ok := strings.CutPrefix(fields[2], hashPrefix)
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != sha256.Size {
		return Key{}, fmt.Errorf("the third field must be %s and %d hexadecimal digits", hashPrefix, 2*sha256.Size)
	}
	key.Hash = [sha256.Size]byte(hash)
	if len(fields) == 4 {
		if key.Expires, err = time.Parse(time.RFC3339, fields[3]); err != nil {
			return Key{}, errors.New("the fourth field must be a time such as 2027-01-31T00:00:00Z")
		}
		if key.Expires.UTC().Year() <= 1 {
			return Key{}, errors.New("the fourth field is in the year 1 or before, as programs write a time that is not set; leave it out where the key never ends")
		}
	}
	return key, nil
}

// Keys are the keys of a file. They are safe for concurrent use.
type Keys struct {
	path  string
	now   func() time.Time
	table atomic.Pointer[keyTable]
}

// keyTable finds keys by the first bytes of their hashes. Those depend on all of
// a key and tell nothing of it, so that the time of this step is of no use to
// anybody; the whole hash is compared in constant time.
type keyTable map[[8]byte][]*Key

// OpenKeys reads the file. The clock nil is the system's.
func OpenKeys(path string, now func() time.Time) (*Keys, error) {
	if now == nil {
		now = time.Now
	}
	k := &Keys{path: path, now: now}
	return k, k.Load()
}

// Load reads the file again. Where that fails the keys stay as they were.
func (k *Keys) Load() error {
	keys, err := ReadKeys(k.path)
	if err != nil {
		return err
	}
	table := make(keyTable, len(keys))
	for i := range keys {
		prefix := [8]byte(keys[i].Hash[:])
		table[prefix] = append(table[prefix], &keys[i])
	}
	k.table.Store(&table)
	return nil
}

// Len is how many keys there are, those that have expired among them.
func (k *Keys) Len() (n int) {
	for _, keys := range *k.table.Load() {
		n += len(keys)
	}
	return n
}

// find finds the key, and hands out a grant that ends with it.
func (k *Keys) find(secret string) (*Grant, error) {
	hash := sha256.Sum256(append(make([]byte, 0, 64), secret...)) // a copy that needs no heap
	key, err := k.lookup(hash)
	if err != nil {
		return nil, err
	}
	return &Grant{
		Principal: Principal{KindKey, key.Name, key.Scopes},
		check: func() error {
			_, err := k.lookup(hash)
			return err
		},
	}, nil
}

func (k *Keys) lookup(hash [sha256.Size]byte) (*Key, error) {
	for _, key := range (*k.table.Load())[[8]byte(hash[:])] {
		if subtle.ConstantTimeCompare(key.Hash[:], hash[:]) != 1 {
			continue
		}
		if !key.Expires.IsZero() && !k.now().Before(key.Expires) {
			return nil, refused("the API key has expired")
		}
		return key, nil
	}
	return nil, refused("the API key is not known, or not any more")
}
