package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of /proc/PID/stat: sysconf(_SC_CLK_TCK), which is
// 100 on all Linux platforms that Go runs on.
const ticksPerSecond = 100

// process is one process of this host.
type process struct {
	name string
	pid  int
	// command is the command line by which it is found again where it was started
	// anew; empty: it is not.
	command string
}

func (p *process) Name() string { return p.name }

func (p *process) Seconds(context.Context) (float64, error) {
	s, err := readStat(p.pid)
	if err == nil || p.command == "" {
		return s.seconds, err
	}
	all := processes()
	for _, again := range all {
		if again.command == p.command && !starts(again, all) {
			p.pid = again.pid
			s, err = readStat(p.pid)
			break
		}
	}
	return s.seconds, err
}

// stat is what /proc/PID/stat tells; proc(5).
type stat struct {
	parent  int
	seconds float64 // user and system time of all threads
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The second field is the program in parentheses, which it may have itself.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	const parent, user, system = 1, 11, 12 // fields 4, 14 and 15 of all
	if end < 0 || len(fields) <= system {
		return stat{}, fmt.Errorf("/proc/%d/stat: %.60q is too short", pid, text)
	}
	var s stat
	var ticks [2]float64
	s.parent, err = strconv.Atoi(fields[parent])
	for i, field := range []int{user, system} {
		var fieldErr error
		ticks[i], fieldErr = strconv.ParseFloat(fields[field], 64)
		err = errors.Join(err, fieldErr)
	}
	s.seconds = (ticks[0] + ticks[1]) / ticksPerSecond
	return s, err
}

// group is all processes of this host whose program is the text, or whose
// command line has it. They are looked for anew each time: a node may have been
// started again.
type group struct {
	name, text string
}

func (g *group) Name() string { return g.name }

func (g *group) Seconds(context.Context) (float64, error) {
	var sum float64
	found := false
	for _, p := range processes() {
		if p.program() != g.text && !strings.Contains(p.command, g.text) || p.pid == os.Getpid() {
			continue
		}
		if s, err := readStat(p.pid); err == nil { // else it has just ended
			sum += s.seconds
			found = true
		}
	}
	if !found {
		return 0, fmt.Errorf("no process %q", g.text)
	}
	return sum, nil
}

// running is a process with its command line, whose words are separated by
// spaces.
type running struct {
	pid     int
	command string
}

func (r running) program() string {
	first, _, _ := strings.Cut(r.command, " ")
	return filepath.Base(first)
}

// flag is the value of --NAME=VALUE in the command line.
func (r running) flag(name string) string {
	for word := range strings.FieldsSeq(r.command) {
		if value, ok := strings.CutPrefix(word, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

func processes() []running {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var found []running
	for _, name := range names {
		text, err := os.ReadFile(name)
		pid, numberErr := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || numberErr != nil || len(text) == 0 {
			continue // it has ended, or belongs to the kernel
		}
		found = append(found, running{pid, strings.TrimSpace(string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})))})
	}
	slices.SortFunc(found, func(a, b running) int { return a.pid - b.pid })
	return found
}

// Find looks for the data nodes and mysqlds of a cluster on this host. Those of
// another cluster than that of the connectstring are left out; an empty one takes
// all.
func Find(connectstring string) []Source {
	all := processes()
	var sources []Source
	for _, p := range all {
		var name string
		switch p.program() {
		case "ndbd", "ndbmtd":
			name = nodeName(Data, p)
			if starts(p, all) {
				continue
			}
		case "mysqld":
			name = nodeName(SQL, p)
		default:
			continue
		}
		if of := p.flag("ndb-connectstring"); connectstring != "" && of != "" && of != connectstring {
			continue
		}
		sources = append(sources, &process{name: name, pid: p.pid, command: p.command})
	}
	return sources
}

// starts tells a process that does nothing but start another one, which has the
// same command line: that of a data node.
func starts(p running, all []running) bool {
	return slices.ContainsFunc(all, func(child running) bool {
		if child.command != p.command {
			return false
		}
		s, err := readStat(child.pid)
		return err == nil && s.parent == p.pid
	})
}

func nodeName(role Role, p running) string {
	if id := p.flag("ndb-nodeid"); id != "" {
		return fmt.Sprintf("%s %s", role, id)
	}
	return fmt.Sprintf("%s (%d)", role, p.pid)
}

// Host is the processor time that all processes of the host have used since it
// started, and what there was to use. Virtual machines lose some to their
// neighbours, which counts as used.
func Host() (used, all float64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %.60q", line)
	}
	const idle, wait = 3, 4
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, 0, err
		}
		all += ticks / ticksPerSecond
		if i != idle && i != wait {
			used += ticks / ticksPerSecond
		}
	}
	return used, all, nil
}
