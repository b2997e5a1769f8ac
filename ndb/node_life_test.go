package ndb

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

func TestNode_StartLevels_OpenAndCloseItForTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepareTestCluster(t, Config{}, 2)
		node := c.nodes[2]
		node.conf.StartLevel, node.conf.NodeGroup = signal.StartLevelStarting, 0x10000
		c.launch()
		c.wantState(2, NodeStarting, false)
		if got := c.info(2).NodeGroup; got != -1 {
			t.Errorf("got node group %d, want -1", got)
		}

		node.set(func(f *fakeNode) { f.conf.NodeGroup = 1 })
		node.setLevel(signal.StartLevelStarted)
		c.wantState(2, NodeStarted, true)
		if got := c.info(2); got.NodeGroup != 1 || got.Version != "9.7.2" || got.Address != node.address || got.Since.IsZero() {
			t.Errorf("got %+v, want group 1, version 9.7.2, its address and the time", got)
		}
		l := c.api().linkTo(2)

		for level := signal.StartLevelStopping1; level <= signal.StartLevelStopping4; level++ {
			node.setLevel(level)
			c.wantState(2, NodeStopping, false)
		}
		select {
		case <-l.down:
			t.Error("got a lost link, want one that lets running transactions go on")
		default:
		}

		node.setLevel(signal.StartLevelStarted)
		c.wantState(2, NodeStarted, true)
		if got := c.api().linkTo(2); got != l {
			t.Error("got another link, want that of the connection")
		}

		node.kill()
		c.wantState(2, NodeDisconnected, false)
		<-l.down
	})
}

func TestNode_SingleUserMode_OnlyForTheSingleUser(t *testing.T) {
	tests := []struct {
		name   string
		user   signal.NodeID
		usable bool
	}{
		{"us", testAPINode, true},
		{"another", testAPINode + 1, false},
		{"none", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newTestCluster(t, 2)
				c.nodes[2].set(func(f *fakeNode) { f.conf.SingleUser, f.conf.SingleUserAPI = true, tt.user })
				c.nodes[2].setLevel(signal.StartLevelSingleUser)
				c.wantState(2, NodeSingleUser, tt.usable)
				c.nodes[2].setLevel(signal.StartLevelStarted)
				c.wantState(2, NodeStarted, true)
			})
		})
	}
}

func TestNode_Heartbeats_QuickUntilTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepareTestCluster(t, Config{}, 2)
		node := c.nodes[2]
		node.silent = true
		c.launch()
		c.pass(350 * time.Millisecond)
		if _, beats := node.count(); beats != 4 {
			t.Errorf("got %d registrations in 350 ms without an answer, want 4", beats)
		}
		c.wantState(2, NodeRegistering, false)

		node.set(func(f *fakeNode) { f.silent = false })
		c.pass(100 * time.Millisecond)
		c.wantState(2, NodeStarted, true)
		_, before := node.count()
		c.pass(15 * time.Second)
		if _, beats := node.count(); beats-before != 20 {
			t.Errorf("got %d heartbeats in 10 intervals, want 20", beats-before)
		}
		if got := c.Stats(); got.LinksUp != 1 || got.LinksLost != 0 || got.SignalsSent == 0 || got.BytesReceived == 0 || got.Writes == 0 {
			t.Errorf("got %+v, want one link up that has carried something", got)
		}
	})
}

func TestNode_NoAnswerToRegistration_ClosesAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepareTestCluster(t, Config{}, 2)
		c.nodes[2].silent = true
		c.launch()
		c.pass(59 * time.Second)
		if hellos, _ := c.nodes[2].count(); hellos != 1 {
			t.Errorf("got %d connections within 59 s, want 1", hellos)
		}
		c.pass(2 * time.Second)
		if hellos, _ := c.nodes[2].count(); hellos != 2 {
			t.Errorf("got %d connections after 61 s, want 2", hellos)
		}
	})
}

func TestNode_HeartbeatsUnanswered_ClosesAfterThreeIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		c.nodes[2].set(func(f *fakeNode) { f.silent = true })
		c.pass(3 * 1500 * time.Millisecond)
		c.wantState(2, NodeStarted, true)
		c.pass(1500 * time.Millisecond)
		if got := c.info(2).State; got == NodeStarted {
			t.Errorf("got %v after four intervals without an answer, want a closed link", got)
		}
		if got := c.Stats().LinksLost; got != 1 {
			t.Errorf("got %d lost links, want 1", got)
		}
		c.wantState(3, NodeStarted, true)

		c.nodes[2].set(func(f *fakeNode) { f.silent = false })
		c.pass(suspicionTimeout)
		c.wantState(2, NodeStarted, true)
	})
}

func TestNode_RegistrationRefused_IsPermanent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepareTestCluster(t, Config{}, 2)
		c.nodes[2].refuse = signal.RegErrorVersion
		c.launch()
		err := c.awaitUsable(t.Context())
		if err == nil || !permanent(err) {
			t.Fatalf("got %v, want a refusal that is permanent", err)
		}
		c.pass(10 * time.Second)
		if hellos, _ := c.nodes[2].count(); hellos > 11 {
			t.Errorf("got %d attempts in 10 s, want at most one a second", hellos)
		}
	})
}

func TestNode_NotExpected_RetriesWithoutHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepareTestCluster(t, Config{}, 2)
		c.nodes[2].bye = true
		c.launch()
		c.pass(3 * time.Second)
		if hellos, _ := c.nodes[2].count(); hellos < 14 || hellos > 16 {
			t.Errorf("got %d hellos in 3 s, want one every 200 ms", hellos)
		}
		c.pass(57 * time.Second)
		hellos, _ := c.nodes[2].count()
		if hellos > 25+60 {
			t.Errorf("got %d hellos in a minute, want fewer after the first", hellos)
		}
		c.nodes[2].set(func(f *fakeNode) { f.bye = false })
		c.pass(time.Second)
		c.wantState(2, NodeStarted, true)
	})
}
