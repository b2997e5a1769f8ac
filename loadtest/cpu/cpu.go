// Package cpu tells how much processor time processes have used: those of this
// host by /proc, those of others by the metrics that they show.
package cpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Source is a process, or a group of them.
type Source interface {
	// Name is what reports call it.
	Name() string
	// Seconds is the processor time that it has used since it started. It falls
	// where the process was started again.
	Seconds(ctx context.Context) (float64, error)
}

// Role is the part that a process plays, by the name of its source.
type Role string

// The roles.
const (
	Data      Role = "data node"
	SQL       Role = "mysqld"
	Gateway   Role = "gateway"
	Generator Role = "generator"
	None      Role = "other"
)

// RoleOf takes a source for what its name begins with.
func RoleOf(name string) Role {
	for _, role := range []Role{Data, SQL, Gateway, Generator} {
		if strings.HasPrefix(name, string(role)) {
			return role
		}
	}
	return None
}

// IsDatabase tells the roles that make up the database.
func (r Role) IsDatabase() bool { return r == Data || r == SQL }

// Parse reads a source: NAME=pid:123, NAME=name:mysqld (all processes with that
// program or text in their command line), or NAME=URL of metrics for Prometheus
// with process_cpu_seconds_total.
func Parse(text string) (Source, error) {
	name, where, ok := strings.Cut(text, "=")
	if !ok || name == "" || where == "" {
		return nil, fmt.Errorf("cpu %q: want NAME=pid:N, NAME=name:PROGRAM or NAME=URL", text)
	}
	if number, ok := strings.CutPrefix(where, "pid:"); ok {
		pid, err := strconv.Atoi(number)
		if err != nil || pid < 1 {
			return nil, fmt.Errorf("cpu %q: %q is no process ID", text, number)
		}
		return &process{name: name, pid: pid}, nil
	}
	if program, ok := strings.CutPrefix(where, "name:"); ok && program != "" {
		return &group{name: name, text: program}, nil
	}
	if strings.HasPrefix(where, "http://") || strings.HasPrefix(where, "https://") {
		return &metrics{name: name, url: where}, nil
	}
	return nil, fmt.Errorf("cpu %q: want NAME=pid:N, NAME=name:PROGRAM or NAME=URL", text)
}

// metrics is a process that counts its own time.
type metrics struct {
	name, url string
}

func (m *metrics) Name() string { return m.name }

// Limits of metrics.
const (
	metricsTimeout  = 2 * time.Second
	maxMetricsBytes = 16 << 20
)

var errNoMetric = errors.New("no process_cpu_seconds_total in it")

func (m *metrics) Seconds(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: status %d", m.url, resp.StatusCode)
	}
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxMetricsBytes))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "process_cpu_seconds_total "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("%s: %w", m.url, errors.Join(lines.Err(), errNoMetric))
}
