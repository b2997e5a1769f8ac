package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// settings come from the environment.
type settings struct {
	length        time.Duration // CHAOS_TIME
	seed          uint64        // CHAOS_SEED
	dir           string        // CHAOS_OUT: logs of the gateways, and pages about what is wrong
	connectstring string
	dsns          string
}

const (
	defaultLength = 5 * time.Minute
	shortest      = time.Second
	longest       = time.Hour
)

// readSettings skips the test where there is no cluster that may be killed.
func readSettings(t *testing.T) settings {
	t.Helper()
	for _, name := range []string{"TEST_NDB_CONNECTSTRING", "TEST_MYSQL_DSN", "CLUSTER_DIR", "CHAOS_OUT"} {
		if os.Getenv(name) == "" {
			t.Skip(name + " is not set: make chaos sets it")
		}
	}
	s := settings{
		length: defaultLength, seed: rand.Uint64() % 1_000_000, dir: os.Getenv("CHAOS_OUT"),
		connectstring: os.Getenv("TEST_NDB_CONNECTSTRING"), dsns: os.Getenv("TEST_MYSQL_DSN"),
	}
	var err error
	if text := os.Getenv("CHAOS_TIME"); text != "" {
		if s.length, err = time.ParseDuration(text); err != nil || s.length < shortest || s.length > longest {
			t.Fatalf("CHAOS_TIME=%s is no time from %v to %v, such as 5m", text, shortest, longest)
		}
	}
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CHAOS_SEED=%s is no whole number", text)
		}
	}
	return s
}

// random is one of any number of independent sequences that follow from the seed.
func (s settings) random(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, n)) }

func (s settings) String() string {
	return fmt.Sprintf("CHAOS_SEED=%d CHAOS_TIME=%v", s.seed, s.length)
}
