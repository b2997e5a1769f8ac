package program

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

func TestDefaultBackend_Shares(t *testing.T) {
	both := []store.Share{{Name: "ndb", Weight: 90}, {Name: "sql", Weight: 10}}
	tests := []struct {
		name string
		args []string
		env  map[string]string
		file string
		want []store.Share
	}{
		{"plain", []string{"--default-backend=sql"}, nil, "", []store.Share{{Name: "sql", Weight: 1}}},
		{"one with a weight", []string{"--default-backend=sql=7"}, nil, "", []store.Share{{Name: "sql", Weight: 7}}},
		{"flag", []string{"--default-backend", "ndb=90,sql=10"}, nil, "", both},
		{"spaces", []string{"--default-backend= ndb = 90 , sql = 10 "}, nil, "", both},
		{"environment", nil, map[string]string{"GATEWAY_DEFAULT_BACKEND": "ndb=90,sql=10"}, "", both},
		{"text in the file", nil, nil, "default-backend: ndb=90,sql=10", both},
		{"list in the file", nil, nil, "default-backend: [ndb=90, sql=10]", both},
		{"order is kept", []string{"--default-backend=sql=10,ndb=90"}, nil, "", []store.Share{both[1], both[0]}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := test.args
			if test.file != "" {
				args = append(args, "--config="+writeFile(t, test.file))
			}
			cfg, err := Load(args, lookup(test.env))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(cfg.DefaultBackends, test.want) {
				t.Errorf("got %v, want %v", cfg.DefaultBackends, test.want)
			}
		})
	}
}

func TestDefaultBackend_Refusals(t *testing.T) {
	for value, want := range map[string]string{
		"":                         `default-backend "" (flag --default-backend): switched on: ndb, sql; expected a backend`,
		"oracle":                   `default-backend "oracle" (flag --default-backend): switched on: ndb, sql; expected a backend`,
		"NDB":                      `switched on: ndb, sql`,
		"oracle=5":                 `switched on: ndb, sql`,
		"ndb=90,oracle=10":         `default-backend "ndb=90,oracle=10" (flag --default-backend): part 2 of 2 names none that is switched on (ndb, sql); expected a backend`,
		"ndb=90,sql":               `part 2 of 2 has no weight`,
		"ndb,sql":                  `part 1 of 2 has no weight`,
		"ndb=90,":                  `part 2 of 2 has no weight`,
		"ndb=":                     `the weight in part 1 of 1 is no whole number`,
		"ndb=many,sql=1":           `the weight in part 1 of 2 is no whole number`,
		"ndb=1.5,sql=1":            `the weight in part 1 of 2 is no whole number`,
		"ndb=1=2,sql=1":            `the weight in part 1 of 2 is no whole number`,
		"ndb=99999999999999999999": `the weight in part 1 of 1 is no whole number`,
		"ndb=0,sql=0":              `the weight of ndb is not from 1 to 10000`,
		"ndb=90,sql=-10":           `the weight of sql is not from 1 to 10000`,
		"ndb=10001":                `the weight of ndb is not from 1 to 10000`,
		"ndb=50,ndb=50":            `ndb is there twice`,
		"a:" + password + "=1,b@tcp(h)/d=" + password: `default-backend (not shown: it looks like a DSN) (flag --default-backend): the weight in part 2 of 2`,
	} {
		_, err := Load([]string{"--default-backend=" + value}, lookup(nil))
		if _, ok := errors.AsType[*ConfigError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", value, err, want)
			continue
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("%q: the error tells the password", value)
		}
	}
	_, err := Load([]string{"--default-backend=ndb=90,sql=10", "--sql-dsn="}, lookup(nil))
	if want := "part 2 of 2 names none that is switched on (ndb)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a weighted backend that is off: got %v, want %q", err, want)
	}
}

func TestServe_WeightsReachTheRegistry(t *testing.T) {
	s := serveInTest(t, opens(road{name: "ndb", backend: &memstore.Store{}}, road{name: "sql", backend: &memstore.Store{}}),
		"--default-backend=sql=3,ndb=97")
	want := `{"default":"ndb","weights":[{"name":"sql","weight":3},{"name":"ndb","weight":97}],`
	if status, body := mustGet(t, s.public+"/v1/backends"); status != http.StatusOK || !strings.HasPrefix(body, want) {
		t.Errorf("got %d %s, want it to begin with %s", status, body, want)
	}
	s.stop()
	s.exitCode(t)
}

func TestValidate_NoDefaultBackend(t *testing.T) {
	cfg, err := Load(nil, lookup(nil))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultBackends = nil
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "default-backend") {
		t.Errorf("got %v, want the setting", err)
	}
}
