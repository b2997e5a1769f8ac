package sqlstore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// logLines receives what a store logs.
type logLines struct {
	mu    sync.Mutex // guards all
	all   bytes.Buffer
	lines chan string
}

func newLog() (*slog.Logger, *logLines) {
	l := &logLines{lines: make(chan string, 100)}
	return slog.New(slog.NewTextHandler(l, nil)), l
}

func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(line)
	select {
	case l.lines <- string(line):
	default: // a store may not wait for its log
	}
	return len(line), nil
}

// wait returns when a line holds all the texts.
func (l *logLines) wait(t *testing.T, texts ...string) {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case line := <-l.lines:
			found := true
			for _, text := range texts {
				found = found && strings.Contains(line, text)
			}
			if found {
				return
			}
		case <-timeout:
			t.Fatalf("no line with %q was logged", texts)
		}
	}
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
