package access

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// watching runs a Watcher of one file, which tells of each load by the text that it
// has found.
type watching struct {
	path   string
	loads  chan string
	signal chan os.Signal
	stop   func() (log string)
}

func watch(t *testing.T, every time.Duration) *watching {
	t.Helper()
	w := &watching{path: filepath.Join(t.TempDir(), "file"), loads: make(chan string, 100), signal: make(chan os.Signal)}
	writeFile(t, w.path, "first")
	var log bytes.Buffer
	watcher := &Watcher{Logger: slog.New(slog.NewTextHandler(&log, nil)), Every: every}
	load := func() error {
		text, err := os.ReadFile(w.path)
		w.loads <- strings.TrimSpace(string(text))
		if strings.HasPrefix(string(text), "bad") {
			err = errors.New("it is bad")
		}
		return err
	}
	if err := watcher.Add("words", load, w.path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { watcher.Run(ctx, w.signal) }) // ends with cancel
	w.stop = func() string {
		cancel()
		running.Wait()
		return log.String()
	}
	t.Cleanup(func() { w.stop() })
	w.want(t, "first")
	return w
}

func (w *watching) want(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-w.loads:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%q was not loaded", want)
	}
}

func TestWatcher_LoadsWhatHasChanged(t *testing.T) {
	w := watch(t, time.Millisecond)
	writeFile(t, w.path, "second, which is longer")
	// A write is not one step: what is seen in the midst of it is seen again.
	for got := ""; got != "second, which is longer"; {
		select {
		case got = <-w.loads:
		case <-time.After(20 * time.Second):
			t.Fatal("not loaded")
		}
	}
	// Another file of the same size and time, as where a link is turned.
	next := w.path + ".next"
	writeFile(t, next, "third!, which is longer")
	info, err := os.Stat(w.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(next, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, w.path); err != nil {
		t.Fatal(err)
	}
	w.want(t, "third!, which is longer")
	if log := w.stop(); strings.Count(log, "msg=loaded") < 2 || strings.Contains(log, "ERROR") {
		t.Errorf("log:\n%s", log)
	}
	if len(w.loads) > 0 {
		t.Errorf("loaded %q without a change", <-w.loads)
	}
}

func TestWatcher_BrokenFile_IsToldOfOnce(t *testing.T) {
	w := watch(t, time.Millisecond)
	next := w.path + ".next"
	writeFile(t, next, "bad")
	if err := os.Rename(next, w.path); err != nil {
		t.Fatal(err)
	}
	w.want(t, "bad")
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.want(t, "")
	writeFile(t, next, "good")
	if err := os.Rename(next, w.path); err != nil {
		t.Fatal(err)
	}
	w.want(t, "good")
	log := w.stop()
	if strings.Count(log, "level=ERROR") != 2 || !strings.Contains(log, `error="it is bad"`) || strings.Count(log, "msg=loaded") != 1 {
		t.Errorf("log:\n%s\nwant two errors and one success", log)
	}
}

func TestWatcher_SignalLoadsAll(t *testing.T) {
	w := watch(t, time.Hour)
	w.signal <- os.Interrupt
	w.want(t, "first")
}

func TestWatcher_Add_FailsWithTheFile(t *testing.T) {
	broken := errors.New("broken")
	if err := (&Watcher{}).Add("x", func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
