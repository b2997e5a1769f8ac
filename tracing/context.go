package tracing

import "encoding/hex"

// Context names a span of a trace, as the header traceparent does. The zero
// Context names none.
type Context struct {
	TraceID [16]byte
	SpanID  [8]byte
	Sampled bool
	State   string // header tracestate, passed on as it came
}

// Layout of version 00: version-traceid-parentid-flags, in lower-case hex.
const (
	parentLen    = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	maxStateLen  = 512 // bytes; the standard asks to pass on at least as many
	sampledFlag  = 1
	versionFF    = "ff" // forbidden
	traceIDStart = 3
	spanIDStart  = traceIDStart + 32 + 1
	flagsStart   = spanIDStart + 16 + 1
)

// Parse reads the headers traceparent and tracestate. Anything that the standard
// does not allow gives the zero Context: a broken header restarts the trace and is
// no error. A state that is too long is left out.
func Parse(traceparent, tracestate string) Context {
	var c Context
	var version, flags [1]byte
	if len(traceparent) < parentLen || traceparent[:2] == versionFF {
		return Context{}
	}
	// A later version may add fields behind a dash.
	if len(traceparent) > parentLen && (traceparent[:2] == "00" || traceparent[parentLen] != '-') {
		return Context{}
	}
	for _, field := range []struct {
		dst   []byte
		start int
	}{{version[:], 0}, {c.TraceID[:], traceIDStart}, {c.SpanID[:], spanIDStart}, {flags[:], flagsStart}} {
		end := field.start + 2*len(field.dst)
		if !lowerHex(field.dst, traceparent[field.start:end]) || (end < parentLen && traceparent[end] != '-') {
			return Context{}
		}
	}
	if !c.Valid() {
		return Context{}
	}
	c.Sampled = flags[0]&sampledFlag != 0
	if len(tracestate) <= maxStateLen {
		c.State = tracestate
	}
	return c
}

func lowerHex(dst []byte, src string) bool {
	for _, c := range []byte(src) {
		if c >= 'A' && c <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(dst, []byte(src))
	return err == nil
}

// Valid tells whether c names a span.
func (c Context) Valid() bool { return c.TraceID != [16]byte{} && c.SpanID != [8]byte{} }

// Traceparent is the header's value, or nothing where c names no span.
func (c Context) Traceparent() string {
	if !c.Valid() {
		return ""
	}
	b := make([]byte, 0, parentLen)
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, c.TraceID[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, c.SpanID[:])
	if c.Sampled {
		return string(append(b, "-01"...))
	}
	return string(append(b, "-00"...))
}

// Trace is the trace's ID in hex, or nothing where c names no span.
func (c Context) Trace() string {
	if !c.Valid() {
		return ""
	}
	return hex.EncodeToString(c.TraceID[:])
}
