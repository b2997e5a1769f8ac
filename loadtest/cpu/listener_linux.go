package cpu

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Listening finds the process of this host that listens on a TCP port, and names
// it. False: there is none, or another user's.
func Listening(name string, port int) (Source, bool) {
	sockets := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		addListeners(sockets, file, port)
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil || len(sockets) == 0 {
		return nil, false
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && sockets[to] {
			if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
				return &process{name: name, pid: pid}, true
			}
		}
	}
	return nil, false
}

// addListeners adds the sockets that listen on the port, as links in /proc/PID/fd
// name them; proc_net_tcp in the kernel's documentation.
func addListeners(sockets map[string]bool, file string, port int) {
	f, err := os.Open(file)
	if err != nil {
		return // no IPv6
	}
	defer f.Close()
	const local, state, inode = 1, 3, 9
	suffix := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > inode && strings.HasSuffix(fields[local], suffix) && fields[state] == "0A" {
			sockets["socket:["+fields[inode]+"]"] = true
		}
	}
}
