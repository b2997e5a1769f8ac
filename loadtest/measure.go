package loadtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/cpu"
	"github.com/ndbgate/ndbgate/loadtest/target"
)

// beat is how often a running cell is looked at.
const beat = 100 * time.Millisecond

// measure runs one cell. The result is nil where nothing was measured; reason is
// why the cell was cut short.
func (r *runner) measure(ctx context.Context, index int, c *cell) (result *Cell, reason, err error) {
	sessions, err := openSessions(ctx, c)
	if err != nil {
		return nil, nil, fmt.Errorf("%s by %s: %w", c.workload.Name, c.road.Name, err)
	}
	defer closeSessions(sessions)

	span := newSpan(r.config.Warmup, r.config.Duration, r.config.MaxOps)
	m := &measurement{
		runner: r, index: index, cell: c, span: span,
		series: newSeries(r.config.Interval, r.config.Duration),
		meter:  cpu.NewMeter(append([]cpu.Source{cpu.Self{}}, r.config.CPU...)),
		cpu:    map[string]*CPU{},
	}
	workers := m.workers(sessions)
	// The workers end with the span, or with this context.
	working, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	var busy atomic.Int64
	busy.Store(int64(len(workers)))
	for _, w := range workers {
		running.Go(func() { // ends with the span or the context
			w.run(working)
			// Only when all operations have ended is the cell over: each of them counts.
			if busy.Add(-1) == 0 && span.spent() {
				span.cut(errMaxOps)
			}
		})
	}
	died := m.watch(ctx)
	if died != nil {
		stop()
	}
	running.Wait()
	return m.result(workers), span.cutReason(), died
}

func openSessions(ctx context.Context, c *cell) ([]target.Session, error) {
	var sessions []target.Session
	for range c.threads {
		s, err := c.road.Target.Open(ctx)
		if err != nil {
			closeSessions(sessions)
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

func closeSessions(sessions []target.Session) {
	for _, s := range sessions {
		s.Close()
	}
}

// measurement is a cell in progress.
type measurement struct {
	*runner
	index  int
	cell   *cell
	span   *span
	series *series
	pulse  pulse
	meter  *cpu.Meter

	cpu       map[string]*CPU
	host      []load // of each interval
	hostSum   float64
	hostTime  time.Duration
	scheduler schedulerWaits
}

func (m *measurement) workers(sessions []target.Session) []*worker {
	var pace *pacer
	if m.cell.rate > 0 {
		pace = newPacer(m.cell.rate, m.config.Arrivals, newRand(m.config.Seed, m.index, -1))
	}
	var workers []*worker
	for i, session := range sessions {
		random := newRand(m.config.Seed, m.index, i)
		workers = append(workers, &worker{
			span: m.span, session: session, data: m.data, random: random, choose: newChooser(m.data, random),
			workload: &m.cell.workload, variant: m.cell.variant, pulse: &m.pulse, pacer: pace, maxLag: m.config.MaxLag,
			rec: newRecorder(m.span, m.series, &m.cell.workload, pace != nil),
		})
	}
	return workers
}

// watch follows the cell to its end: takes processor times, tells the progress,
// and gives up where the target is down for too long.
func (m *measurement) watch(ctx context.Context) error {
	if !m.sleepTo(ctx, m.span.warmup) {
		return m.died()
	}
	m.meter.Read(ctx)
	m.scheduler = readSchedulerWaits()
	stopHooks := m.startHooks(ctx)
	defer stopHooks()
	last := m.span.now()
	for i := time.Duration(1); ; i++ {
		next := min(m.span.warmup+i*m.series.interval, m.span.end())
		on := m.sleepTo(ctx, next)
		now := m.span.now()
		m.take(ctx, now-last)
		last = now
		if !on || next >= m.span.end() {
			return m.died()
		}
	}
}

// take adds what was used since the last time.
func (m *measurement) take(ctx context.Context, elapsed time.Duration) {
	if elapsed <= 0 {
		return
	}
	// After an interrupt the times are wanted all the same.
	uses, host := m.meter.Read(context.WithoutCancel(ctx))
	available := elapsed.Seconds() * float64(m.report.Host.CPUs)
	database := 0.0
	for _, use := range uses {
		total := m.cpu[use.Name]
		if total == nil {
			total = &CPU{Name: use.Name}
			m.cpu[use.Name] = total
		}
		total.Seconds += use.Seconds
		if use.Err != nil {
			total.Unknown = use.Err.Error()
		}
		if cpu.RoleOf(use.Name).IsDatabase() {
			database += use.Seconds
		}
	}
	l := load{host: -1, database: -1}
	known := slices.ContainsFunc(uses, func(use cpu.Use) bool { return cpu.RoleOf(use.Name).IsDatabase() })
	if host >= 0 {
		l.host = host * 100
		m.hostSum += host * elapsed.Seconds()
	}
	m.hostTime += elapsed
	if known {
		l.database = database / available * 100
	}
	m.host = append(m.host, l)
}

// sleepTo follows the cell until the time, and returns false where it ends
// before.
func (m *measurement) sleepTo(ctx context.Context, until time.Duration) bool {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for m.span.now() < until {
		m.tell()
		if m.died() != nil {
			return false
		}
		timer.Reset(min(beat, until-m.span.now()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			m.span.cut(errInterrupted)
			return false
		case <-m.span.cutOff:
			return false
		}
	}
	return true
}

var errInterrupted = errors.New("interrupted")

// died tells that the target has been down for too long, and cuts the cell.
func (m *measurement) died() error {
	why, down := m.pulse.lastDown.Load().(string)
	last := time.Duration(m.pulse.lastDone.Load())
	if !down || m.span.now()-last < m.config.GiveUp {
		return nil
	}
	err := fmt.Errorf("%w: nothing was done for %v: %s", ErrTargetDied, m.config.GiveUp, why)
	m.span.cut(err)
	return err
}

// result is what the workers have measured, nil where there was no measured
// time.
func (m *measurement) result(workers []*worker) *Cell {
	measured := m.span.end() - m.span.warmup
	if measured <= 0 {
		return nil
	}
	c := m.cell
	all := newRecorder(m.span, m.series, &c.workload, m.cell.rate > 0)
	for _, w := range workers {
		w.rec.mergeInto(all)
	}
	cell := &Cell{
		Workload: c.workload.Name, Backend: c.road.Name, Variant: c.variant, Threads: c.threads, Rate: m.cell.rate, Repeat: c.repeat,
		Began: m.span.began.Add(m.span.warmup), Seconds: measured.Seconds(),
		Ops: all.counts.ops, Rows: all.counts.rows, Throughput: float64(all.counts.ops) / measured.Seconds(),
		Latency: latencyOf(all.latency), Late: all.counts.late, LateTimer: all.counts.lateTimer, Dropped: all.counts.dropped,
		HostCPU: -1, SchedulerP99: readSchedulerWaits().since(m.scheduler).p99(),
		Series: m.series.result(measured, m.host),
	}
	if reason := m.span.cutReason(); reason != nil {
		cell.Partial = reason.Error()
	}
	if all.service != nil {
		service := latencyOf(all.service)
		cell.Service = &service
	}
	for i, h := range all.byOp {
		cell.ByOp = append(cell.ByOp, OpLatency{c.workload.Mix[i].Op, latencyOf(h)})
	}
	for _, kind := range slices.Sorted(maps.Keys(all.counts.errors)) {
		cell.Errors = append(cell.Errors, *all.counts.errors[kind])
	}
	if m.hostSum > 0 {
		cell.HostCPU = m.hostSum / m.hostTime.Seconds() * 100
	}
	for _, name := range slices.Sorted(maps.Keys(m.cpu)) {
		use := *m.cpu[name]
		use.Percent = use.Seconds / (m.hostTime.Seconds() * float64(m.report.Host.CPUs)) * 100
		cell.CPU = append(cell.CPU, use)
	}
	if ops := cell.perCPUSecond(); !math.IsNaN(ops) {
		cell.PerCPUSecond = ops
	}
	cell.Notes = bottleneckNotes(cell, &m.report.Host, m.report.Settings.Way)
	return cell
}
