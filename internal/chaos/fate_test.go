package chaos

import (
	"errors"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"

	"github.com/ndbgate/ndbgate/internal/chaos/history"
)

func TestFateOf(t *testing.T) {
	body := []byte(`{"id":1,"first":"f1","last":null,"city":"c1","started":null,"ended":null,"department":7}`)
	saw := &history.Row{Present: true, First: "f1", City: "c1", Department: 7}
	problem := func(code string) []byte { return []byte(`{"code":"` + code + `"}`) }
	lost := &url.Error{Op: "Put", Err: io.ErrUnexpectedEOF}
	tests := []struct {
		name  string
		kind  history.Kind
		a     answer
		want  fate
		wrong bool
	}{
		{"read", history.Get, answer{status: 200, body: body}, fate{outcome: history.Done, saw: saw}, false},
		{"create", history.Create, answer{status: 201, body: body}, fate{outcome: history.Created, saw: saw}, false},
		{"put that creates", history.Put, answer{status: 201}, fate{outcome: history.Created}, false},
		{"put that replaces", history.Put, answer{status: 204}, fate{outcome: history.Replaced}, false},
		{"patch", history.Patch, answer{status: 200, body: body}, fate{outcome: history.Done, saw: saw}, false},
		{"delete", history.Delete, answer{status: 204}, fate{outcome: history.Done}, false},
		{"no row", history.Get, answer{status: 404, body: problem("not_found")}, fate{outcome: history.NotFound}, false},
		{"row exists", history.Create, answer{status: 409, body: problem("already_exists")}, fate{outcome: history.Exists}, false},
		{"other row", history.Put, answer{status: 412, body: problem("precondition_failed")}, fate{outcome: history.Mismatch}, false},
		{"unavailable", history.Put, answer{status: 503, body: problem("unavailable")}, notDone, false},
		{"deadline before sending", history.Put, answer{status: 504, body: problem("timeout")}, notDone, false},
		{"unknown", history.Put, answer{status: 504, body: problem("outcome_unknown")}, unknown, false},
		{"unknown read", history.Get, answer{status: 504, body: problem("outcome_unknown")}, notDone, true},
		{"failure of the gateway", history.Put, answer{status: 500, body: problem("internal")}, unknown, true},
		{"failure of a read", history.Get, answer{status: 500, body: problem("internal")}, notDone, true},
		{"answer of a stranger", history.Put, answer{status: 502, body: []byte("<html>")}, unknown, true},
		{"never connected", history.Put, answer{err: &url.Error{Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}}, notDone, false},
		{"connection lost", history.Put, answer{err: lost}, unknown, false},
		{"connection of a read lost", history.Get, answer{err: lost}, notDone, false},
		{"answer cut short", history.Put, answer{status: 200, body: body[:9], err: errors.New("cut")}, unknown, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := fateOf(test.kind, test.a)
			if (got.wrong != "") != test.wrong {
				t.Errorf("complaint: got %q, want one: %t", got.wrong, test.wrong)
			}
			if got.outcome != test.want.outcome || got.notDone != test.want.notDone ||
				(got.saw == nil) != (test.want.saw == nil) || got.saw != nil && *got.saw != *test.want.saw {
				t.Errorf("got %+v, saw %v, want %+v, saw %v", got, got.saw, test.want, test.want.saw)
			}
		})
	}
}

func TestTagged_OneTagForTwoRows_OrTwoForOne_IsAnError(t *testing.T) {
	r := &row{tags: map[string]history.Row{}}
	a, b := history.Row{Present: true, First: "a"}, history.Row{Present: true, First: "b"}
	for _, step := range []struct {
		tag   string
		value history.Row
		want  bool
	}{{"1", a, true}, {"1", a, true}, {"2", b, true}, {"1", b, false}, {"3", a, false}} {
		if err := r.tagged(step.tag, step.value); (err == nil) != step.want {
			t.Errorf("%s for %v: got %v, want it accepted: %t", step.tag, step.value, err, step.want)
		}
	}
}
