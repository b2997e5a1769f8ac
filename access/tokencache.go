package access

import (
	"crypto/sha256"
	"sync"
)

// maxCachedTokens bounds the cache; each takes some 500 bytes.
const maxCachedTokens = 4096

// tokenCache remembers tokens whose signature and claims were good: to check one
// again takes longer than to read a row. It is safe for concurrent use.
type tokenCache struct {
	mu     sync.Mutex // guards all
	set    *keySet    // that the tokens were checked with; another one may lack a key
	grants map[[sha256.Size]byte]*Grant
}

// hashOf needs no memory of the heap for usual tokens.
func hashOf(token string) [sha256.Size]byte {
	return sha256.Sum256(append(make([]byte, 0, 1<<10), token...))
}

// get returns nil where the token has to be checked. A grant may have ended.
func (c *tokenCache) get(set *keySet, token string) *Grant {
	hash := hashOf(token)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set != set {
		return nil
	}
	return c.grants[hash]
}

// put forgets all others where there are too many, or where the set is another one.
func (c *tokenCache) put(set *keySet, token string, grant *Grant) {
	hash := hashOf(token)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set != set || len(c.grants) >= maxCachedTokens {
		c.set, c.grants = set, map[[sha256.Size]byte]*Grant{}
	}
	c.grants[hash] = grant
}
