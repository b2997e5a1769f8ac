package loadtest

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Host is the machine that the generator runs on.
type Host struct {
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Kernel   string `json:"kernel,omitempty"`
	CPUs     int    `json:"cpus"`
	CPU      string `json:"cpu,omitempty"`
	MemoryMB int64  `json:"memory_mb,omitempty"`
}

func thisHost() Host {
	h := Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	// What is not known stays empty: other systems have no such files.
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.Kernel = strings.TrimSpace(string(kernel))
	}
	h.CPU = procValue("/proc/cpuinfo", "model name")
	if kb, err := strconv.ParseInt(strings.TrimSuffix(procValue("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		h.MemoryMB = kb / 1024
	}
	return h
}

// procValue finds "name : value" in a file.
func procValue(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
