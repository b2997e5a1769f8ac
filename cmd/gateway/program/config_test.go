package program

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// password must never be seen outside of a DSN.
const password = "hunter2-s3cret"

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad_NothingGiven_Defaults(t *testing.T) {
	cfg, err := Load(nil, lookup(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:9090", DefaultBackends: []store.Share{{Name: "ndb", Weight: 1}},
		NDBConnectstring: "127.0.0.1:1186", NDBDatabase: "ndbtest", NDBMaxTransactions: 64,
		SQLDSNs: []string{"root@tcp(127.0.0.1:3306)/ndbtest"}, SQLMaxOpenConns: 64,
		RequestTimeout: 10 * time.Second, KeyLifetime: 24 * time.Hour, SlowRequest: time.Second,
		MaxConnections: 16384, MaxStreams: 8, MaxItems: 100_000, MaxComparisons: 32, LogLevel: slog.LevelInfo,
		accessConfig: accessConfig{ClientScopes: access.Read | access.Write, SQLTLS: sqlstore.TLSAuto},
		origins:      map[string]string{},
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v, want %+v", cfg, want)
	}
}

func TestLoad_FlagBeatsEnvironmentBeatsFile(t *testing.T) {
	file := writeFile(t, "listen: 127.0.0.1:1\nadmin-listen: 127.0.0.1:2\nndb-database: fromfile\nndb-nodeids: [53, 54]\n")
	cfg, err := Load(
		[]string{"--listen", "127.0.0.1:10", "--config=" + file},
		lookup(map[string]string{"GATEWAY_LISTEN": "127.0.0.1:20", "GATEWAY_ADMIN_LISTEN": "127.0.0.1:21", "GATEWAY_CONFIG": "/nowhere"}))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{cfg.Listen, cfg.AdminListen, cfg.NDBDatabase, cfg.origin("listen"), cfg.origin("admin-listen"), cfg.origin("ndb-database"), cfg.origin("log-level")}
	want := []string{"127.0.0.1:10", "127.0.0.1:21", "fromfile", "flag --listen", "environment GATEWAY_ADMIN_LISTEN", "file " + file + " line 3", "default"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []int{53, 54}; !reflect.DeepEqual(cfg.NDBNodeIDs, want) {
		t.Errorf("node IDs: got %v, want %v", cfg.NDBNodeIDs, want)
	}
}

func TestLoad_EverySettingFromEverySource(t *testing.T) {
	values := map[string]string{
		"listen": ":1", "admin-listen": "localhost:2", "default-backend": "ndb=90,sql=10",
		"ndb-connectstring": "nodeid=5,mgm1:1186,mgm2", "ndb-database": "other", "ndb-nodeids": "53,54",
		"ndb-max-transactions": "7", "sql-dsn": "a:b@tcp(h:1)/d c@unix(/run/mysqld.sock)/e", "sql-max-open-conns": "8",
		"request-timeout": "250ms", "idempotency-lifetime": "1h30m0s", "rate-limit": "100", "rate-burst": "250", "trusted-proxies": "10.0.0.0/8,::1/128",
		"max-in-flight": "9", "max-connections": "10", "max-streams": "11", "max-items": "12000", "max-comparisons": "13", "log-level": "warn",
		"api-keys": "/etc/keys", "jwt-jwks": "https://issuer.example/keys", "jwt-issuer": "https://issuer.example", "jwt-audience": "ndbgate",
		"cors-origins": "https://a.example,http://b.example:1", "insecure": "true", "tls-cert": "/etc/cert.pem", "tls-key": "/etc/key.pem",
		"tls-client-ca": "/etc/ca.pem", "tls-client-scopes": "read,admin", "sql-tls": "verify-ca", "sql-tls-ca": "/etc/sql.pem",
	}
	var args []string
	env, yaml := map[string]string{}, ""
	for _, s := range settings {
		value, ok := values[s.name]
		if !ok {
			continue
		}
		args = append(args, "--"+s.name, value)
		env[s.envName()] = value
		yaml += s.name + ": " + value + "\n"
	}
	file := map[string]string{"GATEWAY_CONFIG": writeFile(t, yaml)}
	for _, source := range []struct {
		args []string
		env  map[string]string
	}{{args, nil}, {nil, env}, {nil, file}} {
		cfg, err := Load(source.args, lookup(source.env))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range settings {
			if want, ok := values[s.name]; ok && s.show(&cfg) != want {
				t.Errorf("%s: got %q, want %q", s.name, s.show(&cfg), want)
			}
		}
	}
}

func TestLoad_EmptyValueSwitchesBackendOff(t *testing.T) {
	tests := []struct {
		args []string
		env  map[string]string
		file string
		want []string
	}{
		{nil, nil, "", []string{"ndb", "sql"}},
		{[]string{"--sql-dsn="}, nil, "", []string{"ndb"}},
		{nil, map[string]string{"GATEWAY_SQL_DSN": ""}, "", []string{"ndb"}},
		{nil, nil, `sql-dsn: ""`, []string{"ndb"}},
		{nil, nil, `sql-dsn: []`, []string{"ndb"}},
		{[]string{"--ndb-connectstring", "", "--default-backend=sql"}, nil, "", []string{"sql"}},
		{[]string{"--sql-dsn=u@tcp(h)/d"}, map[string]string{"GATEWAY_SQL_DSN": ""}, "", []string{"ndb", "sql"}},
	}
	for _, test := range tests {
		args := test.args
		if test.file != "" {
			args = append(args, "--config="+writeFile(t, test.file))
		}
		cfg, err := Load(args, lookup(test.env))
		if err != nil {
			t.Errorf("%v %v %s: %v", test.args, test.env, test.file, err)
		} else if got := cfg.backendNames(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v %v %s: got %v, want %v", test.args, test.env, test.file, got, test.want)
		}
	}
}

func TestLoad_OthersVariablesAreNoMistake(t *testing.T) {
	env := map[string]string{"GATEWAY_SERVICE_HOST": "10.0.0.1", "GATEWAY_PORT": "tcp://10.0.0.1:80"}
	if _, err := Load(nil, lookup(env)); err != nil {
		t.Error(err)
	}
}

func TestLoad_Refusals(t *testing.T) {
	dsn := "root:" + password + "@tcp(127.0.0.1:3306)/ndbtest"
	tests := []struct {
		name string
		args []string
		env  map[string]string
		file string
		want []string
	}{
		{"no port", []string{"--listen=localhost"}, nil, "", []string{`listen "localhost" (flag --listen): expected host:port`}},
		{"port too high", nil, map[string]string{"GATEWAY_LISTEN": "h:65536"}, "", []string{`listen "h:65536" (environment GATEWAY_LISTEN): the port`}},
		{"empty listen", nil, map[string]string{"GATEWAY_LISTEN": ""}, "", []string{`listen "" (environment GATEWAY_LISTEN)`}},
		{"same listeners", []string{"--listen=:8000", "--admin-listen=127.0.0.1:8000"}, nil, "", []string{`admin-listen "127.0.0.1:8000" (flag --admin-listen): it is the address of listen`}},
		{"unknown backend", []string{"--default-backend=nbd"}, nil, "", []string{`default-backend "nbd" (flag --default-backend): switched on: ndb, sql`}},
		{"backend off", []string{"--ndb-connectstring="}, nil, "", []string{`default-backend "ndb" (default): switched on: sql`}},
		{"all backends off", []string{"--ndb-connectstring=", "--sql-dsn="}, nil, "", []string{"all backends are switched off; set ndb-connectstring or sql-dsn"}},
		{"connectstring", []string{"--ndb-connectstring=host:x"}, nil, "", []string{`ndb-connectstring (flag --ndb-connectstring): part 1 of 1 is no host[:port]; expected [nodeid=N,]host[:port]`}},
		{"connectstring is a user with a password", []string{"--ndb-connectstring=nodeid=5,root:" + password + ",h:1"}, nil, "", []string{`ndb-connectstring (flag --ndb-connectstring): part 2 of 3 is no host[:port]`}},
		{"connectstring is a DSN", []string{"--ndb-connectstring=" + dsn}, nil, "", []string{`ndb-connectstring (flag`, `part 1 of 1 is no host[:port]`}},
		{"connectstring is a DSN with commas", []string{"--ndb-connectstring=root:a," + password + ",b@tcp(h:1)/db"}, nil, "", []string{`ndb-connectstring (flag`, `part 1 of 3 is no host[:port]`}},
		{"connectstring nodeid", []string{"--ndb-connectstring=nodeid=256,h"}, nil, "", []string{`the nodeid is no number from 1 to 255`}},
		{"connectstring host", []string{"--ndb-connectstring=nodeid=5"}, nil, "", []string{`a host is missing`}},
		{"connectstring comma", []string{"--ndb-connectstring=h,"}, nil, "", []string{`part 2 of 2 is no host[:port]`}},
		{"database", []string{"--ndb-database="}, nil, "", []string{`ndb-database "" (flag --ndb-database): expected a name`}},
		{"node ID high", []string{"--ndb-nodeids=5,256"}, nil, "", []string{`ndb-nodeids "5,256" (flag --ndb-nodeids): 256 is out of range`}},
		{"node ID twice", []string{"--ndb-nodeids=5,6,5"}, nil, "", []string{`5 is there twice`}},
		{"node ID text", []string{"--ndb-nodeids=five"}, nil, "", []string{`ndb-nodeids "five" (flag --ndb-nodeids): expected different whole numbers`}},
		{"transactions", []string{"--ndb-max-transactions=0"}, nil, "", []string{`ndb-max-transactions "0" (flag --ndb-max-transactions): expected a whole number from 1 to 10000`}},
		{"connections", []string{"--sql-max-open-conns=many"}, nil, "", []string{`sql-max-open-conns "many"`}},
		{"timeout without unit", []string{"--request-timeout=10"}, nil, "", []string{`request-timeout "10" (flag --request-timeout): expected a duration`}},
		{"not on loopback", []string{"--listen=:1", "--admin-listen=10.0.0.1:2"}, nil, "", []string{
			`listen ":1" (flag --listen): it is not on loopback, so that others could read and write all rows: set api-keys, jwt-jwks or tls-client-ca, or insecure`,
			`admin-listen "10.0.0.1:2" (flag --admin-listen): it is not on loopback, so that others could see metrics and profiles`,
		}},
		{"insecure switched off again", []string{"--listen=:1", "--insecure", "false"}, map[string]string{"GATEWAY_INSECURE": "true"}, "", []string{`listen ":1" (flag --listen): it is not on loopback`}},
		{"insecure of a wrong value", []string{"--insecure=maybe"}, nil, "", []string{`insecure "maybe" (flag --insecure): expected true or false`}},
		{"JWKS without issuer", []string{"--jwt-jwks=x", "--jwt-audience=y"}, nil, "", []string{`jwt-jwks (flag --jwt-jwks): jwt-jwks, jwt-issuer and jwt-audience go together`}},
		{"blank audience", []string{"--jwt-jwks=x", "--jwt-issuer=y", "--jwt-audience= "}, nil, "", []string{`jwt-audience " " (flag --jwt-audience): it is blank; expected what tokens have in aud`}},
		{"blank issuer", []string{"--jwt-jwks=x", "--jwt-audience=y"}, map[string]string{"GATEWAY_JWT_ISSUER": "\t "}, "", []string{`(environment GATEWAY_JWT_ISSUER): it is blank`}},
		{"issuer without JWKS", []string{"--jwt-issuer=x"}, nil, "", []string{`jwt-issuer and jwt-audience go together`}},
		{"JWKS in the clear", []string{"--jwt-jwks=http://issuer.example/keys", "--jwt-audience=y", "--jwt-issuer=z"}, nil, "", []string{`must be an https URL, or an http URL of this host`}},
		{"certificate without key", []string{"--tls-cert=x"}, nil, "", []string{`tls-cert "x" (flag --tls-cert): tls-cert and tls-key go together`}},
		{"client CA without certificate", []string{"--tls-client-ca=x"}, nil, "", []string{`client certificates need tls-cert and tls-key`}},
		{"client scopes", []string{"--tls-client-scopes=all"}, nil, "", []string{`tls-client-scopes "all" (flag --tls-client-scopes): expected read, write and admin`}},
		{"all origins without access control", []string{"--cors-origins=*"}, nil, "", []string{`without access control every page`}},
		{"origin with a path", []string{"--cors-origins=https://a.example/"}, nil, "", []string{`cors-origins "https://a.example/" (flag --cors-origins): expected origins`}},
		{"origin with a star", []string{"--cors-origins=https://*.example", "--api-keys=x"}, nil, "", []string{`expected origins`}},
		{"SQL TLS", []string{"--sql-tls=required"}, nil, "", []string{`sql-tls "required" (flag --sql-tls): expected auto, off, preferred, verify-ca or verify-identity`}},
		{"lifetime of keys", []string{"--idempotency-lifetime=999ms"}, nil, "", []string{`idempotency-lifetime "999ms" (flag --idempotency-lifetime): expected a duration from 1s to 720h0m0s`}},
		{"trusted proxy", []string{"--trusted-proxies=10.0.0.0/8,proxy"}, nil, "", []string{`trusted-proxies "10.0.0.0/8,proxy" (flag --trusted-proxies): expected networks`}},
		{"trusted proxy of IPv4 as IPv6", []string{"--trusted-proxies=::ffff:127.0.0.0/104"}, nil, "", []string{"without ::ffff:"}},
		{"rate", []string{"--rate-limit=-1"}, nil, "", []string{`rate-limit "-1" (flag --rate-limit): expected a whole number from 0 to 1000000`}},
		{"items", []string{"--max-items=999"}, nil, "", []string{`max-items "999" (flag --max-items): expected a whole number from 1000 to 10000000`}},
		{"timeout zero", []string{"--request-timeout=0s"}, nil, "", []string{`request-timeout "0s"`}},
		{"log level", []string{"--log-level=loud"}, nil, "", []string{`log-level "loud" (flag --log-level): expected debug, info, warn or error`}},

		{"DSN without slash", []string{"--sql-dsn=root:" + password}, nil, "", []string{`sql-dsn (flag --sql-dsn): DSN 1 of 1: `}},
		{"DSN without net", nil, map[string]string{"GATEWAY_SQL_DSN": dsn + " root:" + password + "/ndbtest"}, "", []string{`sql-dsn (environment GATEWAY_SQL_DSN): DSN 2 of 2: `, `; expected user[:password]@tcp(host:port)/database`}},
		{"DSN address", []string{"--sql-dsn=root:" + password + "@tcp(127.0.0.1:3306/ndbtest"}, nil, "", []string{`DSN 1 of 1: `}},
		{"DSN parameter", []string{"--sql-dsn=" + dsn + "?parseTime=" + password}, nil, "", []string{`DSN 1 of 1: `}},
		{"DSN net", []string{"--sql-dsn=root:" + password + "@udp(h:1)/d"}, nil, "", []string{`DSN 1 of 1: `}},
		{"DSN database", []string{"--sql-dsn=root:" + password + "@tcp(h:1)/"}, nil, "", []string{`DSN 1 of 1: `}},
		{"second DSN not quoted", []string{"--sql-dsn", dsn, dsn}, nil, "", []string{`argument number 3: expected a flag`}},
		{"DSN in a wrong setting", []string{"--listen", dsn}, nil, "", []string{`listen (not shown: it looks like a DSN)`}},
		{"DSN for an unknown flag", []string{"--sql-dns=" + dsn, "--sqldsn", dsn}, nil, "", []string{`unknown flag "--sql-dns"; did you mean --sql-dsn?`, `unknown flag "--sqldsn"; did you mean --sql-dsn?`}},

		{"unknown flag", []string{"--verbose"}, nil, "", []string{`unknown flag "--verbose"`}},
		{"underscores", []string{"--log_level=info"}, nil, "", []string{`did you mean --log-level?`}},
		{"one dash", []string{"-listen=:1"}, nil, "", []string{`expected a flag; did you mean --listen?`}},
		{"argument", []string{"now"}, nil, "", []string{`argument "now": expected a flag`}},
		{"no value", []string{"--listen"}, nil, "", []string{`flag --listen: its value is missing`}},
		{"flag for a value", []string{"--listen", "--log-level=info"}, nil, "", []string{`flag --listen: its value is missing`}},

		{"no file", []string{"--config=/nowhere/x.yaml"}, nil, "", []string{`config "/nowhere/x.yaml" (flag --config): no such file or directory; expected a readable YAML file`}},
		{"no YAML", nil, nil, "listen: [", []string{`config "`, `(flag --config): line 1: `}},
		{"no mapping", nil, nil, "- listen", []string{`it is no list of names with values`}},
		{"two documents", nil, nil, "listen: :1\n---\nlisten: :2\n", []string{`more than one document`}},
		{"unknown key", nil, nil, "log-level: info\nsql_dsn: " + dsn, []string{`unknown key "sql_dsn" (file `, ` line 2); did you mean sql-dsn?`}},
		{"config in file", nil, nil, "config: other.yaml", []string{`unknown key "config"`}},
		{"key twice", nil, nil, "listen: :1\nlisten: :2", []string{`listen (file `, ` line 2): it is there twice`}},
		{"number for text", nil, nil, "listen: 8080", []string{`listen "8080" (file `, ` line 1): it is a whole number; expected host:port`}},
		{"text for number", nil, nil, `sql-max-open-conns: "64"`, []string{`sql-max-open-conns "64"`, `it is a text; expected a whole number`}},
		{"number for DSN", nil, nil, "sql-dsn: 12345678", []string{`sql-dsn (file `, `it is a whole number`}},
		{"float", nil, nil, "ndb-max-transactions: 1.5", []string{`"1.5"`, `it is a number; expected a whole number`}},
		{"bool", nil, nil, "log-level: true", []string{`it is true or false`}},
		{"list", nil, nil, "listen: [a]", []string{`it is a list`}},
		{"mapping", nil, nil, "sql-dsn: {dsn: " + password + "}", []string{`it is a list of names with values`}},
		{"null", nil, nil, "sql-dsn:", []string{`it is nothing at all, and "" would be the empty value`}},
		{"bad item", nil, nil, "ndb-nodeids: [5, true]", []string{`ndb-nodeids "true"`}},
		{"anchor", nil, nil, "sql-dsn: *" + password, []string{`unknown anchor`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := test.args
			if test.file != "" {
				args = append(args, "--config="+writeFile(t, test.file))
			}
			_, err := Load(args, lookup(test.env))
			if _, ok := errors.AsType[*ConfigError](err); !ok {
				t.Fatalf("got %v, want a *ConfigError", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want something with %q", err, want)
				}
			}
			for _, secret := range []string{password, "12345678"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error tells the password: %v", err)
				}
			}
		})
	}
}

func TestLoad_ReportsAllThatIsWrong(t *testing.T) {
	file := writeFile(t, "sql-max-open-conns: x\nunknown: 1\n")
	_, err := Load([]string{"--listen=x", "--nope", "--config", file}, lookup(map[string]string{"GATEWAY_LOG_LEVEL": "x", "GATEWAY_NDB_NODEIDS": "0"}))
	wrong, ok := errors.AsType[*ConfigError](err)
	if !ok || len(wrong.Problems) != 6 {
		t.Fatalf("got %v, want 6 problems", err)
	}
}

func TestValidate_ConfigMadeByHand(t *testing.T) {
	cfg, err := Load(nil, lookup(nil))
	if err != nil {
		t.Fatal(err)
	}
	cfg.origins = nil
	if err := cfg.Validate(); err != nil {
		t.Fatalf("valid Config: got %v", err)
	}
	cfg.SQLMaxOpenConns = -1
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), `sql-max-open-conns "-1"`) {
		t.Errorf("got %v, want the setting and its value", err)
	}
}
