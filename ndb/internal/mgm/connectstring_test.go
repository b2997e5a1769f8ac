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
		{"", "part 1 of 1 has no valid host"},
		{"nodeid=5", "names no management server"},
		{"a,,b", "part 2 of 3 has no valid host"},
		{"a:", "part 1 of 1 has a port"},
		{"a:0", "has a port"},
		{"a:65536", "not a number from 1 to 65535"},
		{"a:x", "has a port"},
		{":1186", "has no valid host"},
		{"a b", "has no valid host"},
		{"[::1", "is no host[:port]"},
		{"[::1]x", "is no host[:port]"},
		{"nodeid=0,a", "part 1 of 2 has a nodeid"},
		{"nodeid=256,a", "not a number from 1 to 255"},
		{"nodeid=x,a", "has a nodeid"},
		{"a,nodeid=5", "before the servers"},
		{"nodeid=5,nodeid=6,a", "stands once"},
		{"bind-address=a,b", "is a setting that is not known"},
		{"http://a", "has a port"},
		{"a/b", "has no valid host"},
		{"root:s3cret", "has a port"},
		{"nodeid=5,root:s3cret,a:1", "part 2 of 3 has a port"},
		{"root:a,s3cret,b@tcp(h:1)/db", "part 1 of 3 has a port"},
		{"s3cret@h", "has no valid host"},
		{"s3cret=1,h", "is a setting that is not known"},
	}
	for _, test := range tests {
		got, err := ParseConnectstring(test.in)
		if err == nil {
			t.Errorf("%q: got %+v", test.in, got)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, test.want) || !strings.Contains(text, form) {
			t.Errorf("%q: got error %q, want %q and the form in it", test.in, text, test.want)
		}
		if strings.Contains(text, "s3cret") {
			t.Errorf("got error %q, want it to quote nothing", text)
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
