package parity

import (
	"fmt"
	"strings"
)

const keyHeader = "Idempotency-Key"

// replay is an idempotency key of a twin.
type replay struct{ twin, key string }

// checkReplay remembers what was answered to a request with a key, and tells what
// is wrong where the same key comes again.
func (m *memory) checkReplay(twin, key string, a *answer) (wrong string) {
	now := strings.Join([]string{fmt.Sprint(a.status), a.header.Get("Location"), a.header.Get("ETag"), a.body}, "\n")
	before, known := m.replays[replay{twin, key}]
	m.replays[replay{twin, key}] = now
	switch {
	case a.isReplayed() && !known:
		return "an answer from before, though nothing was done with this key"
	case !a.isReplayed() && known:
		return "done again with the same key"
	case known && now != before:
		return "at first the answer to this key was " + before
	default:
		return ""
	}
}
