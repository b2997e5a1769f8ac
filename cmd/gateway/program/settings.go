package program

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/tracing"
)

// Config is every setting of the gateway. Load makes one that is valid.
type Config struct {
	Listen             string
	AdminListen        string
	DefaultBackends    []store.Share
	NDBConnectstring   string // empty: no backend ndb
	NDBDatabase        string
	NDBNodeIDs         []int // empty: the management server chooses
	NDBMaxTransactions int
	SQLDSNs            []string // secret; empty: no backend sql
	SQLMaxOpenConns    int
	RequestTimeout     time.Duration
	KeyLifetime        time.Duration // of answers under idempotency keys
	RateLimit          int           // of a client, per second; 0: none
	RateBurst          int           // of a client, at once; 0: RateLimit
	TrustedProxies     []netip.Prefix
	MaxInFlight        int // requests at each road; 0: by its pool
	MaxConnections     int
	MaxStreams         int
	MaxItems           int // of all batches
	MaxComparisons     int
	LogLevel           slog.Level
	SlowRequest        time.Duration // from which on the access log warns
	ConfigFile         string
	accessConfig

	origins map[string]string // where a setting came from, by its name; absent: the default
	tracer  tracing.Tracer    // nil: no spans are made; no setting, but of the program
}

// Names of the backends.
const (
	ndbName = "ndb"
	sqlName = "sql"
)

// Limits of numbers and durations.
const (
	maxNodeID         = 255 // NDB: API nodes have the IDs 1 to 255
	maxPoolSize       = 10_000
	minRequestTimeout = time.Millisecond
	maxRequestTimeout = time.Hour
	minKeyLifetime    = time.Second
	maxKeyLifetime    = 30 * 24 * time.Hour
)

// setting is one row of the table that flags, environment, file and help are
// made of.
type setting struct {
	topic    string // what it is for, as in gateway help limits; empty: serve --help shows it
	name     string
	fallback string
	help     string
	want     string // completes "expected ..."
	list     string // separator of a setting with several values, else empty
	types    []string
	secret   bool     // the value is never shown
	guarded  bool     // a value that check refuses is not shown: it may be a user with a password
	words    []string // that shells propose as values
	file     bool     // the value is the name of a file
	alone    bool     // the flag without a value means true

	parse func(c *Config, value string) error // an error adds to want, or is errWant
	show  func(c *Config) string              // the value as parse takes it
	check func(c *Config) error               // as parse; nil: all values are fine
}

// errWant says no more than what the setting wants.
var errWant = errors.New("")

// moreTopic is the topic of settings that are seldom changed and of no other.
const moreTopic = "requests"

// Types of YAML values.
const (
	yamlText  = "!!str"
	yamlWhole = "!!int"
	yamlBool  = "!!bool"
)

var settings = slices.Concat([]setting{
	text("listen", "127.0.0.1:8080", "address of the API", "host:port, such as 127.0.0.1:8080 or :8080",
		func(c *Config) *string { return &c.Listen }, func(c *Config) error { return checkListen(c.Listen) }),
	text("admin-listen", "127.0.0.1:9090", "address of health and metrics", "host:port other than the one of listen, such as 127.0.0.1:9090",
		func(c *Config) *string { return &c.AdminListen }, checkAdminListen),
	defaultBackend(),
	ndbConnectstring(),
	text("ndb-database", "ndbtest", "database of the table", "a name of 1 to 64 characters",
		func(c *Config) *string { return &c.NDBDatabase }, checkDatabase),
	nodeIDs(),
	number("ndb-max-transactions", "64", "most transactions at once", func(c *Config) *int { return &c.NDBMaxTransactions }),
	sqlDSNs(),
	number("sql-max-open-conns", "64", "most connections to each SQL node", func(c *Config) *int { return &c.SQLMaxOpenConns }),
	period("request-timeout", "10s", "longest time of one request", minRequestTimeout, maxRequestTimeout,
		func(c *Config) *time.Duration { return &c.RequestTimeout }),
	ofTopic(moreTopic, period("idempotency-lifetime", "24h", "how long an Idempotency-Key counts", minKeyLifetime, maxKeyLifetime,
		func(c *Config) *time.Duration { return &c.KeyLifetime })),
	ofTopic(moreTopic, period("slow-request", "1s", "from which on the access log warns", minRequestTimeout, maxRequestTimeout,
		func(c *Config) *time.Duration { return &c.SlowRequest })),
	limit("rate-limit", "0", "requests of a client per second; 0: any number", 0, maxRate, func(c *Config) *int { return &c.RateLimit }),
	limit("rate-burst", "0", "of them at once; 0: as many as per second", 0, maxRate, func(c *Config) *int { return &c.RateBurst }),
	trustedProxies(),
	limit("max-in-flight", "0", "requests at a road at once; 0: 8 times its pool", 0, placesPerConn*maxPoolSize, func(c *Config) *int { return &c.MaxInFlight }),
	limit("max-connections", "16384", "open connections; more wait", 1, maxConnections, func(c *Config) *int { return &c.MaxConnections }),
	limit("max-streams", "8", "imports and exports at once", 1, maxPoolSize, func(c *Config) *int { return &c.MaxStreams }),
	limit("max-items", "100000", "items of all batches at once", minItems, maxItems, func(c *Config) *int { return &c.MaxItems }),
	limit("max-comparisons", "32", "reads that ask two roads at once", 1, maxPoolSize, func(c *Config) *int { return &c.MaxComparisons }),
	logLevel(),
	configFile(),
}, accessSettings())

func text(name, fallback, help, want string, field func(*Config) *string, check func(*Config) error) setting {
	return setting{
		name: name, fallback: fallback, help: help, want: want, types: []string{yamlText},
		parse: func(c *Config, value string) error { *field(c) = value; return nil },
		show:  func(c *Config) string { return *field(c) },
		check: check,
	}
}

func ndbConnectstring() setting {
	s := text("ndb-connectstring", "127.0.0.1:1186", "management servers, comma-separated",
		"[nodeid=N,]host[:port][,host[:port]...], or nothing to switch the backend off",
		func(c *Config) *string { return &c.NDBConnectstring }, func(c *Config) error { return checkConnectstring(c.NDBConnectstring) })
	s.guarded = true
	return s
}

func number(name, fallback, help string, field func(*Config) *int) setting {
	return setting{
		name: name, fallback: fallback, help: help, types: []string{yamlWhole},
		want: fmt.Sprintf("a whole number from 1 to %d", maxPoolSize),
		parse: func(c *Config, value string) (err error) {
			*field(c), err = whole(value)
			return err
		},
		show: func(c *Config) string { return strconv.Itoa(*field(c)) },
		check: func(c *Config) error {
			if n := *field(c); n < 1 || n > maxPoolSize {
				return errWant
			}
			return nil
		},
	}
}

func whole(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, errWant
	}
	return n, nil
}

func nodeIDs() setting {
	return setting{
		name: "ndb-nodeids", help: "our node IDs, comma-separated; none: any free",
		want: fmt.Sprintf("different whole numbers from 1 to %d with commas between them", maxNodeID),
		list: ",", types: []string{yamlText, yamlWhole},
		parse: func(c *Config, value string) error {
			c.NDBNodeIDs = nil
			if strings.TrimSpace(value) == "" {
				return nil
			}
			for part := range strings.SplitSeq(value, ",") {
				id, err := whole(strings.TrimSpace(part))
				if err != nil {
					return err
				}
				c.NDBNodeIDs = append(c.NDBNodeIDs, id)
			}
			return nil
		},
		show: func(c *Config) string {
			var ids []string
			for _, id := range c.NDBNodeIDs {
				ids = append(ids, strconv.Itoa(id))
			}
			return strings.Join(ids, ",")
		},
		check: func(c *Config) error {
			for i, id := range c.NDBNodeIDs {
				if id < 1 || id > maxNodeID {
					return fmt.Errorf("%d is out of range", id)
				}
				if slices.Contains(c.NDBNodeIDs[:i], id) {
					return fmt.Errorf("%d is there twice", id)
				}
			}
			return nil
		},
	}
}

func sqlDSNs() setting {
	return setting{
		name: "sql-dsn", fallback: "root@tcp(127.0.0.1:3306)/ndbtest", help: "DSNs, see below",
		want: "user[:password]@tcp(host:port)/database, several with spaces between them, or nothing to switch the backend off",
		list: " ", types: []string{yamlText}, secret: true,
		parse: func(c *Config, value string) error { c.SQLDSNs = strings.Fields(value); return nil },
		show:  func(c *Config) string { return strings.Join(c.SQLDSNs, " ") },
		check: func(c *Config) error { return checkDSNs(c.SQLDSNs) },
	}
}

func period(name, fallback, help string, least, most time.Duration, field func(*Config) *time.Duration) setting {
	return setting{
		name: name, fallback: fallback, help: help, types: []string{yamlText},
		want: fmt.Sprintf("a duration from %v to %v with its unit, such as 10s", least, most),
		parse: func(c *Config, value string) error {
			d, err := time.ParseDuration(value)
			if err != nil {
				return errWant
			}
			*field(c) = d
			return nil
		},
		show: func(c *Config) string { return field(c).String() },
		check: func(c *Config) error {
			if d := *field(c); d < least || d > most {
				return errWant
			}
			return nil
		},
	}
}

func logLevel() setting {
	names := []string{"debug", "info", "warn", "error"}
	return setting{
		name: "log-level", fallback: "info", help: "log this and worse: debug, info, warn, error",
		want: "debug, info, warn or error", types: []string{yamlText}, words: names,
		parse: func(c *Config, value string) error {
			if !slices.Contains(names, strings.ToLower(value)) {
				return errWant
			}
			return c.LogLevel.UnmarshalText([]byte(value))
		},
		show: func(c *Config) string { return strings.ToLower(c.LogLevel.String()) },
	}
}

// configFile has no types: it cannot be set in the file that it names.
func configFile() setting {
	return setting{
		name: "config", help: "YAML file with the names of settings as keys", want: "a readable YAML file", file: true,
		parse: func(c *Config, value string) error { c.ConfigFile = value; return nil },
		show:  func(c *Config) string { return c.ConfigFile },
	}
}
