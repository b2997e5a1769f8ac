package api

import (
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/access"
)

func TestWithoutKeys(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"/v1/employees/1", "/v1/employees/1"},
		{"", ""},
		{"/v1/ndbgate_aZ0-_9/x", "/v1/ndbgate_REMOVED/x"},
		{"ndbgate_a&b=ndbgate_b", "ndbgate_REMOVED&b=ndbgate_REMOVED"},
		{"ndbgate_ndbgate_secret", "ndbgate_REMOVED"},
		{"ndbgate_", "ndbgate_REMOVED"},
		{"xndbgate_secret\xff", "xndbgate_REMOVED\xff"},
	} {
		if got := withoutKeys(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
	if got := testing.AllocsPerRun(100, func() { withoutKeys("/v1/employees/1") }); got != 0 {
		t.Errorf("a path without a key: got %v allocations, want none", got)
	}
}

// A key that strays into other parts of a request is neither logged nor told again.
func TestKeys_InOtherPartsOfARequest_AreNotTold(t *testing.T) {
	gate, key := newGate(t, access.Read)
	for _, opts := range []Options{{}, {Access: gate}} {
		b := newGuardedBench(t, opts)
		for _, q := range []request{
			{method: "GET", path: "/v1/employees/" + key},
			{method: "GET", path: "/" + key},
			{method: "GET", path: "/v1/%6edbgate_" + strings.TrimPrefix(key, keyMark)},
			{method: "GET", path: "/v1/employees?" + key + "=1"},
			{method: "GET", path: "/v1/employees?access_token=" + key},
			{method: "GET", path: "/v1/employees?order_by=" + key},
			{method: "GET", path: "/v1/employees?filter=" + key + "%3D1"},
			{method: "GET", path: "/v1/employees", headers: []string{"X-Request-Id: " + key}},
			{method: "GET", path: "/v1/employees", headers: []string{"X-Request-Id: id-" + key}},
			{method: "GET", path: "/v1/employees", headers: []string{"X-Backend: " + key}},
		} {
			for _, authorization := range []string{"-", "Bearer " + key} {
				b.log.Reset()
				q.headers = append(q.headers, "Authorization: "+authorization)
				w := b.do(q)
				var headers strings.Builder
				if err := w.Header().Write(&headers); err != nil {
					t.Fatal(err)
				}
				secret := strings.TrimPrefix(key, keyMark)
				if told := b.log.String() + headers.String() + w.Body.String(); strings.Contains(told, secret) || !strings.Contains(told, `"msg":"request"`) {
					t.Errorf("%s %v: the key shows in\n%s", q.path, q.headers, told)
				}
			}
		}
	}
}
