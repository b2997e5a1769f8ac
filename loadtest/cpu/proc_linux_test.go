package cpu

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestProc_SeesThisProcessAndOthers(t *testing.T) {
	for i := range 20_000_000 { // time that /proc shows
		_ = strconv.Itoa(i)
	}
	own, err := Parse("me=pid:" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	byProc, err := own.Seconds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	self, err := Self{}.Seconds(t.Context())
	if err != nil || self <= 0 || byProc > self+0.05 || byProc < self-0.5 {
		t.Errorf("got %v by /proc and %v by the process itself (%v)", byProc, self, err)
	}

	// What was started anew is found again by its command line.
	gone := &process{name: "me", pid: 1 << 30, command: strings.Join(os.Args, " ")}
	if seconds, err := gone.Seconds(t.Context()); err != nil || seconds <= 0 || gone.pid != os.Getpid() {
		t.Errorf("got %v, %v of process %d", seconds, err, gone.pid)
	}

	marker := "cpu-test-" + strconv.Itoa(os.Getpid())
	sleeper := exec.Command("sh", "-c", "read -r line # "+marker)
	in, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	named := &group{name: "sleeper", text: marker}
	if _, err := named.Seconds(t.Context()); err != nil {
		t.Error(err)
	}
	in.Close()
	_ = sleeper.Wait() // it ends with its input
	if _, err := named.Seconds(t.Context()); err == nil {
		t.Error("a process that has ended was found")
	}
	if used, all, err := Host(); err != nil || used <= 0 || all < used {
		t.Errorf("got %v of %v used, %v", used, all, err)
	}
}

func TestListening_FindsTheProcess(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	port, err := strconv.Atoi(server.URL[strings.LastIndexByte(server.URL, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	source, ok := Listening("gateway", port)
	if p, isProcess := source.(*process); !ok || !isProcess || p.pid != os.Getpid() {
		t.Errorf("got %+v, want this process", source)
	}
	if source, ok := Listening("gateway", 1); ok {
		t.Errorf("got %+v on a port where nobody listens", source)
	}
}
