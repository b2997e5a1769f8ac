package ndb

import (
	"slices"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// threeUp are takeovers of the data nodes 2, 3 and 4, all up.
func threeUp() *takeovers {
	t := newTakeovers([]*dataNode{{id: 2}, {id: 3}, {id: 4}})
	for _, id := range []signal.NodeID{2, 3, 4} {
		t.connected(id)
		t.up(id)
	}
	return t
}

func wantVerdicts(t *testing.T, got []verdict, want ...verdict) {
	t.Helper()
	slices.SortFunc(got, func(a, b verdict) int { return int(a.node) - int(b.node) })
	if !slices.Equal(got, want) {
		t.Errorf("got verdicts %v, want %v", got, want)
	}
}

func TestTakeovers_EverySurvivorHasSpoken_RolledBack(t *testing.T) {
	to := threeUp()
	wantVerdicts(t, to.lose(3, time.Now()))
	got, _ := to.reportDecided(2, 3, false)
	wantVerdicts(t, got)
	got, _ = to.reportDecided(4, 3, false)
	wantVerdicts(t, got, verdict{3, 0})
	got, _ = to.reportDecided(4, 3, true)
	wantVerdicts(t, got) // only once
}

func TestTakeovers_SurvivorsSpokeBeforeTheLinkWasLost_RolledBackAtOnce(t *testing.T) {
	to := threeUp()
	to.reportDecided(2, 3, false)
	if !to.hasFailed(3) {
		t.Error("got a node that has not failed, want one that has: its transactions were taken over")
	}
	to.reportDecided(4, 3, false)
	wantVerdicts(t, to.lose(3, time.Now()), verdict{3, 0})
}

func TestTakeovers_SurvivorLostBeforeItSpoke_Unknown(t *testing.T) {
	to := threeUp()
	to.lose(3, time.Now())
	to.reportDecided(2, 3, false)
	// What node 4 may have said about single transactions is lost with it.
	wantVerdicts(t, to.lose(4, time.Now()), verdict{3, codeNoVerdict})
	got, _ := to.reportDecided(2, 4, false)
	wantVerdicts(t, got, verdict{4, 0})
}

func TestTakeovers_NoSurvivorLeft_Unknown(t *testing.T) {
	to := threeUp()
	to.lose(2, time.Now())
	to.lose(3, time.Now())
	wantVerdicts(t, to.lose(4, time.Now()), verdict{2, codeClusterLost}, verdict{3, codeClusterLost}, verdict{4, codeClusterLost})
	if got := to.mayDialAt(2); !got.IsZero() {
		t.Errorf("got %v, want now: nobody is left who could say when", got)
	}
}

func TestTakeovers_NobodySpeaks_UnknownWhenOverdue(t *testing.T) {
	to, now := threeUp(), time.Now()
	to.lose(3, now)
	if got, want := to.verdictDue(3), now.Add(verdictTimeout); !got.Equal(want) {
		t.Errorf("got due at %v, want %v", got, want)
	}
	wantVerdicts(t, to.overdue(3, now.Add(verdictTimeout-1)))
	wantVerdicts(t, to.overdue(3, now.Add(verdictTimeout)), verdict{3, codeNoVerdict})
	wantVerdicts(t, to.overdue(3, now.Add(2*verdictTimeout)))
	if got := to.verdictDue(3); !got.IsZero() {
		t.Errorf("got due at %v, want never", got)
	}
	got, _ := to.reportDecided(2, 3, false)
	wantVerdicts(t, got)
}

func TestTakeovers_ConnectedAgainBeforeTheVerdict_Unknown(t *testing.T) {
	to := threeUp()
	to.lose(3, time.Now())
	wantVerdicts(t, to.connected(3), verdict{3, codeNoVerdict})
	if to.hasFailed(3) {
		t.Error("got a failed node, want a new connection to begin without a past")
	}
}

func TestTakeovers_MayDialAt(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name string
		news func(*takeovers)
		want time.Time
	}{
		{"only the link was lost", func(*takeovers) {}, now.Add(suspicionTimeout)},
		{"the node failed", func(to *takeovers) { to.reportFailed(3) }, now.Add(mourningTimeout)},
		{"its transactions are decided", func(to *takeovers) { to.reportDecided(2, 3, false) }, now.Add(mourningTimeout)},
		{"all is done", func(to *takeovers) { to.reportDecided(2, 3, true) }, time.Time{}},
		{"a node that does not exist failed", func(to *takeovers) { to.reportFailed(9) }, now.Add(suspicionTimeout)},
		{"it says so itself", func(to *takeovers) { to.reportDecided(3, 3, true) }, now.Add(suspicionTimeout)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to := threeUp()
			to.lose(3, now)
			tt.news(to)
			if got := to.mayDialAt(3); !got.Equal(tt.want) {
				t.Errorf("got %v after the loss, want %v", got.Sub(now), tt.want.Sub(now))
			}
		})
	}
}
