package access

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// defaultWatchEvery is how soon a change of a file is seen.
const defaultWatchEvery = 2 * time.Second

// Watcher loads files again when they change: keys, certificates. A file that
// cannot be loaded is told of once, and what it gave before stays.
type Watcher struct {
	Logger *slog.Logger
	Every  time.Duration // between looks at the files; default 2 s

	watched []*watched
	failing atomic.Int64 // of them
}

type watched struct {
	what  string
	paths []string
	load  func() error
	seen  []fileState // when load was called last
	bad   bool        // it failed then
}

// fileState is what changes with a file. A link to another file, as Kubernetes
// changes secrets, is a change too.
type fileState struct {
	info os.FileInfo // nil: it cannot be seen
}

func (s fileState) isOther(than fileState) bool {
	if s.info == nil || than.info == nil {
		return s.info != than.info
	}
	return !os.SameFile(s.info, than.info) || !s.info.ModTime().Equal(than.info.ModTime()) || s.info.Size() != than.info.Size()
}

// Add loads something that comes from files, and has Run load it again when one
// of them changes. Its error is that of load. It must not be called once Run was.
func (w *Watcher) Add(what string, load func() error, paths ...string) error {
	f := &watched{what: what, paths: paths, load: load}
	f.seen = f.look() // before load, so that a change during it is one
	if err := load(); err != nil {
		return err
	}
	w.watched = append(w.watched, f)
	return nil
}

func (f *watched) look() []fileState {
	states := make([]fileState, len(f.paths))
	for i, path := range f.paths {
		if info, err := os.Stat(path); err == nil {
			states[i].info = info
		}
	}
	return states
}

// Run looks at the files until the context ends. A signal has it load all of
// them.
func (w *Watcher) Run(ctx context.Context, reload <-chan os.Signal) {
	every := w.Every
	if every == 0 {
		every = defaultWatchEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.reload(false)
		case <-reload:
			w.reload(true)
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watcher) reload(all bool) {
	for _, f := range w.watched {
		now := f.look()
		if !all && slices.EqualFunc(now, f.seen, func(a, b fileState) bool { return !a.isOther(b) }) {
			continue
		}
		f.seen = now
		err := f.load()
		if bad := err != nil; bad != f.bad {
			f.bad = bad
			w.failing.Add(map[bool]int64{true: 1, false: -1}[bad])
		}
		if err != nil {
			w.Logger.Error("not loaded, and as it was before", "what", f.what, "files", f.paths, "error", err.Error())
			continue
		}
		w.Logger.Info("loaded", "what", f.what, "files", f.paths)
	}
}

// Failing is how many of the things that come from files could not be loaded when
// they changed last. It is safe for concurrent use.
func (w *Watcher) Failing() int { return int(w.failing.Load()) }
