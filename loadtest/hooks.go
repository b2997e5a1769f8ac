package loadtest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Hook runs something at a time of the measurement.
type Hook struct {
	Name string
	At   time.Duration // since the measured time of its cell began
	Cell int           // index of the cell in the order of the run; -1: every one
	// Run must end with the context.
	Run func(ctx context.Context) error
}

// startHooks starts those of the cell, and returns what waits for them.
func (m *measurement) startHooks(ctx context.Context) (wait func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var mu sync.Mutex // guards the events of the report
	for _, h := range m.config.Hooks {
		if h.Cell != m.index && h.Cell != -1 {
			continue
		}
		running.Go(func() { // ends with the cell
			timer := time.NewTimer(h.At)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			event := Event{Name: h.Name, Cell: m.index, At: time.Since(m.began).Seconds(), Since: (m.span.now() - m.span.warmup).Seconds()}
			if err := h.Run(ctx); err != nil {
				event.Error = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			m.report.Events = append(m.report.Events, event)
		})
	}
	return func() {
		cancel()
		running.Wait()
		slices.SortFunc(m.report.Events, func(a, b Event) int { return int((a.At - b.At) * 1000) })
	}
}
