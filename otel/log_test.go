package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// log reads the log of a gateway as it grows.
type log struct {
	lines chan map[string]any // closed at the end of the log

	mu  sync.Mutex // guards all
	all strings.Builder
}

func readLog(r io.Reader) *log {
	l := &log{lines: make(chan map[string]any, 1000)}
	go func() { // ends with the log
		defer close(l.lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			l.mu.Lock()
			l.all.WriteString(scanner.Text() + "\n")
			l.mu.Unlock()
			line := map[string]any{}
			if json.Unmarshal(scanner.Bytes(), &line) == nil {
				l.lines <- line
			}
		}
	}()
	return l
}

func (l *log) wait(t *testing.T, message string) map[string]any {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-l.lines:
			if !ok {
				t.Fatalf("the log ended without %q:\n%s", message, l.text())
			}
			if line["msg"] == message {
				return line
			}
		case <-timeout:
			t.Fatalf("no %q in the log:\n%s", message, l.text())
		}
	}
}

// drain waits for the end of the log.
func (l *log) drain() {
	for range l.lines {
	}
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
