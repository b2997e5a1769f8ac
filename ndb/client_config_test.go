package ndb

import (
	"strings"
	"testing"
	"time"
)

func TestConfig_Validate_NamesFieldAndValue(t *testing.T) {
	tests := []struct {
		name   string
		config Config
		want   []string // in the error; none: valid
	}{
		{"zero", Config{}, nil},
		{"everything", Config{Name: "gate", NodeIDs: []int{53, 54}, MaxTransactions: 64, MaxWaiting: -1, RequestTimeout: time.Second}, nil},
		{"node ID 0", Config{NodeIDs: []int{53, 0}}, []string{"NodeIDs", "0"}},
		{"node ID 256", Config{NodeIDs: []int{256}}, []string{"NodeIDs", "256"}},
		{"node ID twice", Config{NodeIDs: []int{53, 54, 53}}, []string{"NodeIDs", "53 twice"}},
		{"line break", Config{Name: "a\nb"}, []string{"Name", `"a\nb"`}},
		{"long name", Config{Name: strings.Repeat("x", 65)}, []string{"Name", "xxx"}},
		{"transactions", Config{MaxTransactions: -1}, []string{"MaxTransactions", "-1"}},
		{"connect timeout", Config{ConnectTimeout: -time.Second}, []string{"ConnectTimeout", "-1s"}},
		{"request timeout", Config{RequestTimeout: -time.Second}, []string{"RequestTimeout", "-1s"}},
		{"misses", Config{HeartbeatMisses: -2}, []string{"HeartbeatMisses", "-2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.config.Validate()
			if (err != nil) != (len(tt.want) > 0) {
				t.Fatalf("got error %v, want one: %v", err, len(tt.want) > 0)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want it to contain %q", err, want)
				}
			}
		})
	}
}

func TestConfig_WithDefaults_KeepsWhatIsSet(t *testing.T) {
	got := Config{MaxTransactions: 10, MaxWaiting: -1, RequestTimeout: time.Minute}.withDefaults()
	if got.MaxTransactions != 10 || got.MaxWaiting != 0 || got.RequestTimeout != time.Minute {
		t.Errorf("got %d transactions, %d waiting, %v; want 10, 0, 1m", got.MaxTransactions, got.MaxWaiting, got.RequestTimeout)
	}
	if got.Name != "ndb-go" || got.Connectstring != "127.0.0.1:1186" || got.ConnectTimeout != time.Minute {
		t.Errorf("got %q at %q within %v, want the documented defaults", got.Name, got.Connectstring, got.ConnectTimeout)
	}
	if got := (Config{}).withDefaults(); got.MaxTransactions != 1024 || got.MaxWaiting != 16*1024 {
		t.Errorf("got %d transactions and %d waiting, want 1024 and 16384", got.MaxTransactions, got.MaxWaiting)
	}
}
