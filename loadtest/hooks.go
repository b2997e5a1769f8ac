package loadtest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Hook runs something at a time of the measurement.
type Hook struct {
	Name    string
	At      time.Duration // since the measured time of its cell began
	Cell    int           // index of the cell in the order of the run; -1: every one
	Timeout time.Duration // default: a minute
	// Always has it run at the end of a cell that ends before its time, too: it
	// mends what another one has broken.
	Always bool
	// Run does it. It must end with its context, which is over by Timeout; the end
	// of the cell, or an interrupt, does not cut it off.
	Run func(ctx context.Context) error
}

// hookTimeout is the default of Hook.Timeout.
const hookTimeout = time.Minute

// startHooks starts those of the cell, and returns what waits for them, once the
// cell has ended.
func (m *measurement) startHooks(ctx context.Context) (wait func()) {
	ended, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	var mu sync.Mutex // guards the events of the report
	for _, h := range m.config.Hooks {
		if h.Cell != m.index && h.Cell != -1 {
			continue
		}
		running.Go(func() { // ends by the hook's timeout, once the cell has ended
			timer := time.NewTimer(h.At)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ended.Done():
				if !h.Always {
					return
				}
			}
			event := Event{Name: h.Name, Cell: m.index, At: time.Since(m.began).Seconds(), Since: (m.span.now() - m.span.warmup).Seconds()}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(h.Timeout, hookTimeout))
			defer cancel()
			if err := h.Run(ctx); err != nil {
				event.Error = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			m.report.Events = append(m.report.Events, event)
		})
	}
	return func() {
		end()
		running.Wait()
		slices.SortFunc(m.report.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	}
}
