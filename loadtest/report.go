package loadtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Format names the form of a report.
const Format = "ndbgate-loadtest/1"

// Kinds of reports.
const (
	runKind     = "run"
	batchKind   = "batch"
	findMaxKind = "find-max"
)

// Report is everything about a run.
type Report struct {
	Format string    `json:"format"`
	Title  string    `json:"title"`
	Kind   string    `json:"kind"` // run, batch or find-max
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"`
	// EndedBy is "complete", or why the run ended before.
	EndedBy string `json:"ended_by"`

	Tool     Tool     `json:"tool"`
	Host     Host     `json:"host"`
	Settings Settings `json:"settings"`
	Target   any      `json:"target,omitempty"` // what the target tells of itself
	Command  []string `json:"command,omitempty"`

	Cells         []Cell         `json:"cells,omitempty"`
	Maxima        []Maximum      `json:"maxima,omitempty"` // of find-max
	Batches       []Batch        `json:"batches,omitempty"`
	Verifications []Verification `json:"verifications,omitempty"`
	Events        []Event        `json:"events,omitempty"` // of hooks
	Notes         []string       `json:"notes,omitempty"`
}

// Tool is the program that measured.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // empty: unknown
	Go      string `json:"go"`
}

// Settings are what two runs must share to be compared.
type Settings struct {
	Way       string     `json:"way"` // http, direct or null
	Backends  []string   `json:"backends"`
	Workloads []Workload `json:"workloads,omitempty"`
	Threads   []int      `json:"threads,omitempty"`
	Rate      float64    `json:"rate,omitempty"` // 0: a closed loop
	Arrivals  Arrivals   `json:"arrivals,omitempty"`
	Seconds   float64    `json:"seconds,omitempty"`
	Warmup    float64    `json:"warmup_seconds"`
	Repeats   int        `json:"repeats"`
	MaxOps    int64      `json:"max_ops,omitempty"`
	Rows      int64      `json:"rows,omitempty"`
	FirstID   int64      `json:"first_id,omitempty"`
	MaxRows   int64      `json:"max_rows,omitempty"`
	Seed      uint64     `json:"seed"`
	Keys      Keys       `json:"keys,omitempty"`
	Article   bool       `json:"article,omitempty"`
	Timeout   float64    `json:"timeout_seconds,omitempty"`
	Sizes     []int      `json:"rows_per_commit,omitempty"`
	Writers   []int      `json:"writers,omitempty"`
}

// Cell is what was measured of one workload, road, number of threads and repeat.
type Cell struct {
	Workload string  `json:"workload"`
	Backend  string  `json:"backend"`
	Variant  Variant `json:"variant,omitempty"`
	Threads  int     `json:"threads"`
	Rate     float64 `json:"rate,omitempty"` // that was asked for
	Repeat   int     `json:"repeat"`

	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"` // measured
	// Partial is why the cell is shorter than it should be; empty: it is not.
	Partial string `json:"partial,omitempty"`

	Ops        int64        `json:"ops"`  // that were done
	Rows       int64        `json:"rows"` // that they read or changed
	Throughput float64      `json:"ops_per_second"`
	Errors     []ErrorCount `json:"errors,omitempty"`

	Latency Latency  `json:"latency"`
	Service *Latency `json:"service,omitempty"` // of an open loop: from when it was sent
	// Late and Dropped are of an open loop. LateTimer are those late ones for which
	// a worker had waited: the generator itself was slow.
	Late      int64 `json:"late,omitempty"`
	LateTimer int64 `json:"late_timer,omitempty"`
	Dropped   int64 `json:"dropped,omitempty"`

	ByOp []OpLatency `json:"by_op,omitempty"` // of a mix

	CPU     []CPU   `json:"cpu,omitempty"`
	HostCPU float64 `json:"host_cpu_percent"` // of all processors; -1: not known
	// PerCPUSecond is how many operations a second of processor time of database and
	// gateway is good for, as far as they are known; 0: neither is.
	PerCPUSecond float64 `json:"ops_per_cpu_second,omitempty"`
	// SchedulerP99 is how long goroutines of the generator that could run waited
	// for a processor, in milliseconds.
	SchedulerP99 float64 `json:"generator_scheduling_p99_ms"`

	Series []Point `json:"series,omitempty"`
	Notes  []Note  `json:"notes,omitempty"`
}

// ErrorCount is how often operations failed for one kind of reason.
type ErrorCount struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

// Latency is the distribution of a time, in milliseconds.
type Latency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
	// Histogram is all of it: HdrHistogram V2, compressed, base64, in nanoseconds.
	Histogram string `json:"hdr,omitempty"`
}

// OpLatency is that of one operation of a mix.
type OpLatency struct {
	Op Op `json:"op"`
	Latency
}

// CPU is the processor time of a process in the measured time.
type CPU struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Percent float64 `json:"percent"` // of all processors of this host
	Unknown string  `json:"unknown,omitempty"`
}

// Point is one interval of a cell.
type Point struct {
	At           float64 `json:"t"` // seconds since the measured time began
	OpsPerSecond float64 `json:"ops_per_second"`
	Errors       int64   `json:"errors,omitempty"`
	P50          float64 `json:"p50_ms"`
	P99          float64 `json:"p99_ms"`
	Max          float64 `json:"max_ms"`
	HostCPU      float64 `json:"host_cpu_percent"`     // -1: not known
	DatabaseCPU  float64 `json:"database_cpu_percent"` // of all processors; -1: not known
}

// Maximum is the most that was found of a workload by a road.
type Maximum struct {
	Workload   string  `json:"workload"`
	Backend    string  `json:"backend"`
	Variant    Variant `json:"variant,omitempty"`
	Threads    int     `json:"threads"`
	Rate       float64 `json:"rate,omitempty"` // that was kept
	Throughput float64 `json:"ops_per_second"`
	P99        float64 `json:"p99_ms"`
	Stopped    string  `json:"stopped"` // why more was not tried
}

// Verification is a look at the rows by one road.
type Verification struct {
	When     string   `json:"when"` // before or after
	Backend  string   `json:"backend"`
	Rows     int64    `json:"rows"`
	Wanted   int64    `json:"wanted"`
	Sampled  int      `json:"sampled"`
	Checksum string   `json:"checksum"` // SHA-256 of the sample
	Problems []string `json:"problems,omitempty"`
}

// Event is a command that ran during the measurement.
type Event struct {
	Name  string  `json:"name"`
	At    float64 `json:"at"`   // seconds since the run began
	Cell  int     `json:"cell"` // index of the cell it was meant for
	Since float64 `json:"t"`    // seconds since its measured time began
	Error string  `json:"error,omitempty"`
}

// Batch is what was measured of one size of a batch.
type Batch struct {
	Backend string `json:"backend"`
	Way     string `json:"way"`    // how the rows were sent
	Engine  string `json:"engine"` // of the table
	Size    int    `json:"rows_per_commit"`
	Writers int    `json:"writers"`
	// Runs are the milliseconds of each batch, of each writer.
	Runs    [][]float64 `json:"runs_ms"`
	Wall    float64     `json:"wall_ms"` // of all writers together
	Rows    int64       `json:"rows"`
	CPU     []CPU       `json:"cpu,omitempty"`
	HostCPU float64     `json:"host_cpu_percent"`
	Error   string      `json:"error,omitempty"`
}

// WriteTo writes the report as JSON.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return 0, err
	}
	n, err := w.Write(append(text, '\n'))
	return int64(n), err
}

// maxReportBytes bounds what ReadReport reads.
const maxReportBytes = 1 << 30

// ErrNoReport is the error of a file that is none, or of another format.
var ErrNoReport = errors.New("no report of this program")

// ReadReport reads what WriteTo has written.
func ReadReport(src io.Reader) (*Report, error) {
	var r Report
	if err := json.NewDecoder(io.LimitReader(src, maxReportBytes)).Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoReport, err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("%w: its format is %.40q, want %q", ErrNoReport, r.Format, Format)
	}
	if r.Kind != runKind && r.Kind != batchKind && r.Kind != findMaxKind {
		return nil, fmt.Errorf("%w: its kind is %.40q", ErrNoReport, r.Kind)
	}
	return &r, nil
}
