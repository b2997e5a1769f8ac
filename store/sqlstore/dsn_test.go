package sqlstore

import (
	"strings"
	"testing"
	"time"
)

func TestParseDSN_SetsWhatTheRoadNeeds(t *testing.T) {
	const dsn = "me:secret@tcp(db:3306)/ndbtest?parseTime=true&interpolateParams=true&multiStatements=true&rejectReadOnly=true" +
		"&charset=latin1&collation=latin1_swedish_ci&sql_mode=''&SESSION%20SQL_MODE=''&transaction_isolation='SERIALIZABLE'&autocommit=0" +
		"&time_zone=%27%2B00:00%27&readTimeout=7s&tls=skip-verify"
	c, err := parseDSN(dsn, &Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.ClientFoundRows || c.ParseTime || c.InterpolateParams || c.MultiStatements || c.RejectReadOnly || !c.CheckConnLiveness {
		t.Errorf("got flags %+v", c)
	}
	if c.Timeout != 2*time.Second || c.ReadTimeout != 7*time.Second {
		t.Errorf("got timeouts %v and %v, want 2s and 7s", c.Timeout, c.ReadTimeout)
	}
	if c.TLS == nil || !c.TLS.InsecureSkipVerify {
		t.Error("TLS settings were lost")
	}
	if c.Collation != collation || !strings.Contains(c.FormatDSN(), "charset=utf8mb4&") {
		t.Errorf("got collation %s, DSN %s", c.Collation, c.FormatDSN())
	}
	want := map[string]string{"time_zone": "'+00:00'"}
	for name, value := range sessionVariables {
		want[name] = value
	}
	for name, value := range want {
		if c.Params[name] != value {
			t.Errorf("got %s = %s, want %s", name, c.Params[name], value)
		}
	}
	if len(c.Params) != len(want) {
		t.Errorf("got parameters %v, want %v", c.Params, want)
	}
}

func TestParseDSN_DialTimeout(t *testing.T) {
	for dsn, want := range map[string]time.Duration{
		"root@tcp(db)/ndbtest":            3 * time.Second,
		"root@tcp(db)/ndbtest?timeout=4s": 4 * time.Second,
	} {
		c, err := parseDSN(dsn, &Config{DialTimeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if c.Timeout != want {
			t.Errorf("%s: got %v, want %v", dsn, c.Timeout, want)
		}
	}
}

// With a sign missing, parts of the password land anywhere in the driver's
// error.
func TestOpen_BadDSN_NamedWithoutPassword(t *testing.T) {
	for _, dsn := range []string{
		"",
		"root:s3cr3t@tcp(db:3306)",
		"root:s3cr3t@tcp(db:3306)/",
		"root:s3cr3t@tcp(db:3306)/?charset=utf8mb4",
		"root:s3cr3t@tcp(db:3306/ndbtest",
		"root:s3cr3t@db:3306/ndbtest",
		"root:s3cr3t/ndbtest",
		"tcp(root:s3cr3t@db:3306)/ndbtest",
		"mysql://root:s3cr3t@db:3306/ndbtest",
		"root@udp(db:3306)/s3cr3t",
		"root@tcp(db:3306)/ndbtest?parseTime=s3cr3t",
		"root@tcp(db:3306)/ndbtest?timeout=s3cr3t",
		"root@tcp(db:3306)/ndbtest?tls=s3cr3t",
		"root@tcp(db:3306)/ndbtest?loc=s3cr3t",
		"root@tcp(db:3306)/ndbtest?serverPubKey=s3cr3t",
		"root@tcp(db:3306)/ndbtest?strict=s3cr3t",
		"root@tcp(db:3306)/ndbtest?x=%s3cr3t",
		"root@tcp(db:3306)/%s3cr3t",
	} {
		s, err := Open(Config{DSNs: []string{"root@tcp(db:3306)/ndbtest", dsn}})
		if err == nil {
			t.Errorf("%s: got no error", dsn)
			_ = s.Close()
			continue
		}
		if !strings.HasPrefix(err.Error(), "DSN 2 of 2: ") || strings.Contains(err.Error(), "3cr3t") {
			t.Errorf("%s: got error %q, want DSN 2 named and no secret", dsn, err)
		}
	}
}

func TestOpen_BadConfig(t *testing.T) {
	dsns := []string{"root@tcp(db:3306)/ndbtest"}
	for want, c := range map[string]Config{
		"no DSN":                  {},
		"max open connections -1": {DSNs: dsns, MaxOpenConns: -1},
		"statement timeout -1s":   {DSNs: dsns, StatementTimeout: -time.Second},
		"dial timeout -1s":        {DSNs: dsns, DialTimeout: -time.Second},
		"table \"a`b\"":           {DSNs: dsns, Table: "a`b"},
	} {
		if _, err := Open(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestOpen_WaitsForNoDatabase(t *testing.T) {
	// 192.0.2.0/24 is for documentation: nobody answers there.
	start := time.Now()
	s, err := Open(Config{DSNs: []string{"root:s3cr3t@tcp(192.0.2.1:3306)/ndbtest"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}
