package mgm

import (
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

func TestParseConnectstring(t *testing.T) {
	tests := []struct {
		in     string
		nodeID signal.NodeID
		addrs  []string
	}{
		{"localhost", 0, []string{"localhost:1186"}},
		{"10.0.0.1:1187", 0, []string{"10.0.0.1:1187"}},
		{"nodeid=55,a,b:2", 55, []string{"a:1186", "b:2"}},
		{" NodeId = 255 , a:1 , b ", 255, []string{"a:1", "b:1186"}},
		{"[::1]", 0, []string{"[::1]:1186"}},
		{"[fe80::1%eth0]:99,::1", 0, []string{"[fe80::1%eth0]:99", "[::1]:1186"}},
	}
	for _, test := range tests {
		got, err := ParseConnectstring(test.in)
		if err != nil || got.NodeID != test.nodeID || !slices.Equal(got.Addrs, test.addrs) {
			t.Errorf("%q: got %+v, %v, want %d %v", test.in, got, err, test.nodeID, test.addrs)
		}
	}
}

func TestParseConnectstring_Wrong_ErrorSaysWhat(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", `"" has no valid host`},
		{"nodeid=5", "names no management server"},
		{"a,,b", `"" has no valid host`},
		{"a:", `port "" of "a:"`},
		{"a:0", `port "0" of "a:0"`},
		{"a:65536", "not a number from 1 to 65535"},
		{"a:x", `port "x"`},
		{":1186", `":1186" has no valid host`},
		{"a b", `"a b" has no valid host`},
		{"[::1", "missing ']'"},
		{"[::1]x", "missing port"},
		{"nodeid=0,a", `node id "0"`},
		{"nodeid=256,a", `node id "256"`},
		{"nodeid=x,a", `node id "x"`},
		{"a,nodeid=5", "before the servers"},
		{"nodeid=5,nodeid=6,a", "stands once"},
		{"bind-address=a,b", `unknown setting "bind-address"`},
		{"http://a", `port "//a"`},
		{"a/b", `"a/b" has no valid host`},
	}
	for _, test := range tests {
		got, err := ParseConnectstring(test.in)
		if err == nil {
			t.Errorf("%q: got %+v", test.in, got)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got error %q, want %q in it", test.in, err, test.want)
		}
	}
}

func FuzzParseConnectstring(f *testing.F) {
	f.Add("nodeid=5,a:1,[::1]:2,b")
	f.Fuzz(func(t *testing.T, s string) {
		cs, err := ParseConnectstring(s)
		if err != nil {
			return
		}
		again, err := ParseConnectstring(strings.Join(cs.Addrs, ","))
		if err != nil || !slices.Equal(again.Addrs, cs.Addrs) {
			t.Errorf("%q gives %q, which gives %q, %v", s, cs.Addrs, again.Addrs, err)
		}
	})
}
