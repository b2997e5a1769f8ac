package tracing_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/tracing"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestParse_GivesBackWhatTheStandardAllows(t *testing.T) {
	for _, test := range []struct{ name, header, want string }{
		{"sampled", parent, parent},
		{"not sampled", parent[:53] + "00", parent[:53] + "00"},
		{"other flags are not passed on", parent[:53] + "ff", parent},
		{"a later version", "cc" + parent[2:], parent},
		{"a later version with more", "cc" + parent[2:] + "-what", parent},
		{"a later version with more, without a dash", "cc" + parent[2:] + ".what", ""},
		{"version 00 with more", parent + "-what", ""},
		{"forbidden version", "ff" + parent[2:], ""},
		{"nothing", "", ""},
		{"too short", parent[:54], ""},
		{"upper case", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", ""},
		{"no hex", "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", ""},
		{"no trace", "00-00000000000000000000000000000000-b7ad6b7169203331-01", ""},
		{"no span", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", ""},
		{"other separators", "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01", ""},
	} {
		if got := tracing.Parse(test.header, "").Traceparent(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestParse_State_IsKeptUnlessTooLong(t *testing.T) {
	if got := tracing.Parse(parent, "a=b").State; got != "a=b" {
		t.Errorf("got %q", got)
	}
	if got := tracing.Parse(parent, string(make([]byte, 512))).State; len(got) != 512 {
		t.Errorf("got %d bytes of a state of 512", len(got))
	}
	if got := tracing.Parse(parent, string(make([]byte, 513))).State; got != "" {
		t.Errorf("got %d bytes of a state that is too long", len(got))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(parent)
	f.Add("cc" + parent[2:] + "-what")
	f.Fuzz(func(t *testing.T, header string) {
		c := tracing.Parse(header, "")
		if again := tracing.Parse(c.Traceparent(), ""); again != c {
			t.Errorf("%q: got %v, and %v of its own header", header, c, again)
		}
	})
}

// recorder is a tracer that counts its spans in their IDs.
type recorder struct {
	started []tracing.Start
	parents []tracing.Context
	skip    bool
}

type span struct{ context tracing.Context }

func (r *recorder) Start(_ context.Context, remote tracing.Context, s tracing.Start) tracing.Span {
	if r.skip {
		return nil
	}
	r.started, r.parents = append(r.started, s), append(r.parents, remote)
	return span{tracing.Context{TraceID: [16]byte{1}, SpanID: [8]byte{byte(len(r.started))}, Sampled: true}}
}

func (s span) Context() tracing.Context { return s.context }
func (s span) Rename(string)            {}
func (s span) Set(...slog.Attr)         {}
func (s span) End(time.Time, error)     {}

func TestJoin_Begin_SpansAreBelowEachOther(t *testing.T) {
	r := &recorder{}
	remote := tracing.Parse(parent, "")
	ctx, outer := tracing.Join(t.Context(), r, remote, tracing.Start{Name: "request"})
	inner := tracing.Begin(ctx, tracing.Start{Name: "statement", Kind: tracing.Client})
	if r.parents[0] != remote || r.parents[1] != outer.Context() || tracing.Of(ctx) != outer.Context() {
		t.Errorf("got parents %v", r.parents)
	}
	inner.End(time.Time{}, errors.New("refused"))
}

func TestJoin_NotRecorded_ContextGoesOn(t *testing.T) {
	remote := tracing.Parse(parent, "a=b")
	for name, tracer := range map[string]tracing.Tracer{"without a tracer": nil, "not sampled": &recorder{skip: true}} {
		ctx, span := tracing.Join(t.Context(), tracer, remote, tracing.Start{})
		if span != nil || tracing.Begin(ctx, tracing.Start{}) != nil || tracing.Of(ctx) != remote {
			t.Errorf("%s: got span %v, context %v", name, span, tracing.Of(ctx))
		}
	}
}

func TestJoin_WithoutATrace_CostsNothing(t *testing.T) {
	ctx := t.Context()
	if allocs := testing.AllocsPerRun(100, func() {
		joined, _ := tracing.Join(ctx, nil, tracing.Context{}, tracing.Start{})
		if joined != ctx || tracing.Begin(joined, tracing.Start{}) != nil || tracing.Of(joined).Valid() {
			t.Error("there is a trace")
		}
	}); allocs != 0 {
		t.Errorf("got %v allocations", allocs)
	}
}
