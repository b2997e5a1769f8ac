package cpu

import (
	"context"
	"fmt"
)

// Meter takes the time that sources use between its readings. Not safe for
// concurrent use.
type Meter struct {
	sources  []Source
	last     []reading
	lastHost reading
	lastAll  float64
}

type reading struct {
	seconds float64
	err     error
}

// Use is what a source has used between two readings.
type Use struct {
	Name    string
	Seconds float64
	Err     error // the time is not known; for people
}

// NewMeter returns a meter of the sources. Its first reading comes before Read
// tells anything of use.
func NewMeter(sources []Source) *Meter {
	return &Meter{sources: sources, last: make([]reading, len(sources))}
}

// Read returns what each source has used since the reading before, and how much
// of the host was used, from 0 to 1, or -1 where that is not known.
func (m *Meter) Read(ctx context.Context) (uses []Use, host float64) {
	for i, source := range m.sources {
		now := reading{}
		now.seconds, now.err = source.Seconds(ctx)
		use := Use{Name: source.Name(), Seconds: now.seconds - m.last[i].seconds, Err: m.last[i].err}
		if now.err != nil {
			use.Err = now.err
		}
		if use.Seconds < 0 { // started again, and all of it is since then
			use.Seconds = now.seconds
		}
		if use.Err != nil {
			use.Seconds, use.Err = 0, fmt.Errorf("%s: %w", use.Name, use.Err)
		}
		m.last[i] = now
		uses = append(uses, use)
	}
	return uses, m.readHost()
}

func (m *Meter) readHost() float64 {
	used, all, err := Host()
	last, lastAll := m.lastHost, m.lastAll
	m.lastHost, m.lastAll = reading{used, err}, all
	if err != nil || last.err != nil || all <= lastAll {
		return -1
	}
	return (used - last.seconds) / (all - lastAll)
}
