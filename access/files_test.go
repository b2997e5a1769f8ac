package access

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// promptly fails the test where a call does not come back.
func promptly(t *testing.T, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }() // ends with the call
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: still waiting", what)
		return nil
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, at("five"), "four")
	writeFile(t, at("six"), "fives")
	for link, to := range map[string]string{"..data": "five", "mounted": "..data", "loop": "loop", "to pipe": "pipe"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Relative: the paths of sockets are short.
	t.Chdir(dir)
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	for path, want := range map[string]string{
		at("five"):    "",
		at("mounted"): "",
		at("six"):     "it is longer than 5 bytes",
		at("pipe"):    "it is a named pipe, not a regular file",
		at("to pipe"): "it is a named pipe, not a regular file",
		at("socket"):  "it is a socket, not a regular file",
		dir:           "it is a directory, not a regular file",
		"/dev/zero":   "it is a device, not a regular file",
		at("nothing"): "no such file or directory",
		at("loop"):    "too many levels of symbolic links",
	} {
		var text []byte
		err := promptly(t, path, func() (err error) {
			text, err = ReadFile(path, 5)
			return err
		})
		if want == "" {
			if err != nil || string(text) != "four\n" {
				t.Errorf("%s: got %q, %v, want its text", path, text, err)
			}
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %q, %v, want %q", path, text, err, want)
		}
	}
	if _, err := ReadFile(at("nothing"), 5); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want one that is os.ErrNotExist", err)
	}
}

// A file that nobody writes to would stop the reloading of all others.
func TestWatcher_NamedPipe_IsAnErrorAndNoWait(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	dir := t.TempDir()
	secret, line := mustKey(t, "billing", Read, time.Time{})
	keyFile, jwksFile := filepath.Join(dir, "keys"), filepath.Join(dir, "jwks")
	writeFile(t, keyFile, line)
	writeFile(t, jwksFile, string(issuer.jwks()))
	keys, err := OpenKeys(keyFile, clock.now)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := OpenTokens(TokensConfig{Source: jwksFile, Issuer: "https://issuer.example", Audience: "ndbgate", Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	var log safeLog
	watcher := &Watcher{Logger: slog.New(slog.NewTextHandler(&log, nil)), Every: time.Hour}
	loaded := make(chan struct{}, 10)
	for _, err := range []error{
		watcher.Add("keys", keys.Load, keyFile), watcher.Add("public keys", tokens.Load, jwksFile),
		watcher.Add("the last", func() error { loaded <- struct{}{}; return nil }),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	<-loaded
	for _, path := range []string{keyFile, jwksFile} {
		if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	signal := make(chan os.Signal)
	var running sync.WaitGroup
	running.Go(func() { watcher.Run(ctx, signal) }) // ends with cancel
	signal <- os.Interrupt
	select {
	case <-loaded:
	case <-time.After(20 * time.Second):
		t.Fatal("what comes after the named pipes was not loaded")
	}
	cancel()
	running.Wait()
	if got := strings.Count(log.String(), `error="it is a named pipe, not a regular file"`); got != 2 || watcher.Failing() != 2 {
		t.Errorf("got %d errors and %d failing, want 2:\n%s", got, watcher.Failing(), log.String())
	}
	if _, err := keys.find(secret); err != nil {
		t.Errorf("the key of before: got %v", err)
	}
}

// safeLog is a text that several goroutines may write and read.
type safeLog struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
