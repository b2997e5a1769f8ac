package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

// checkTimeout bounds each try of check; all run at the same time. A management
// server may take 4 s to give a node ID where one was given back just now.
const checkTimeout = 6 * time.Second

// errNotAllOK says that check printed a backend that failed.
var errNotAllOK = errors.New("not all backends are ok")

// finding is what check knows of one backend.
type finding struct {
	road
	err  error
	took time.Duration
	down []string // nodes that do not answer, though the backend as a whole does
	// noKeys: requests with Idempotency-Key are refused.
	noKeys bool
}

// check tries every backend once and prints a line for each. It returns
// errNotAllOK where one failed.
func check(ctx context.Context, cfg Config, p process) error {
	if _, err := openGuard(&cfg, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	roads, err := p.open(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	findings := tryAll(ctx, roads)
	if err := printFindings(p.stdout, findings); err != nil {
		return err
	}
	if err := newRegistry(cfg, roads).Close(); err != nil {
		return err
	}
	return verdict(findings)
}

func tryAll(ctx context.Context, roads []road) []finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	findings := make([]finding, len(roads))
	var tries sync.WaitGroup
	for i, r := range roads {
		tries.Go(func() { findings[i] = try(ctx, r) }) // ends with Ping, by checkTimeout
	}
	tries.Wait()
	return findings
}

func try(ctx context.Context, r road) finding {
	start := time.Now()
	f := finding{road: r, err: r.backend.Ping(ctx)}
	f.took = time.Since(start)
	if f.err != nil {
		return f
	}
	f.noKeys = errors.Is(r.backend.CheckAnswers(ctx), store.ErrNoAnswers)
	nodes := r.backend.Status().Nodes
	for _, node := range nodes {
		if !node.Up {
			f.down = append(f.down, node.Address)
		}
	}
	if len(f.down) == len(nodes) {
		f.down = nil // one of them has just answered
	}
	return f
}

func printFindings(w io.Writer, findings []finding) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		state, detail := f.describe()
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.name, f.address, state, detail)
	}
	return table.Flush()
}

func (f *finding) describe() (state, detail string) {
	took := f.took.Round(time.Millisecond)
	switch {
	case errors.Is(f.err, context.DeadlineExceeded):
		return "failed", fmt.Sprintf("no answer within %v", took)
	case f.err != nil:
		return "failed", fmt.Sprintf("%s, after %v", plainReason(f.err), took)
	}
	var buts []string
	if len(f.down) > 0 {
		buts = append(buts, "down: "+strings.Join(f.down, ", "))
	}
	if f.noKeys {
		buts = append(buts, "Idempotency-Key is refused: "+store.ErrNoAnswers.Error())
	}
	if len(buts) == 0 {
		return "ok", took.String()
	}
	return "ok", fmt.Sprintf("%v, but %s", took, strings.Join(buts, "; "))
}

// plainReason puts an error on one line, without the kind that "failed" says.
func plainReason(err error) string {
	text := strings.Replace(err.Error(), store.ErrUnavailable.Error()+": ", "", 1)
	return strings.ReplaceAll(text, "\n", "; ")
}

func verdict(findings []finding) error {
	for _, f := range findings {
		if f.err != nil {
			return errNotAllOK
		}
	}
	return nil
}
