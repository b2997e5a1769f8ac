package parity

import (
	"fmt"
	"slices"
	"strings"
)

// keyed makes steps of a request with an idempotency key which comes again and
// again, by either road, among others that change the row or have the same key.
func (g *generator) keyed(id int64) []step {
	key := pair{keyHeader, g.key()}
	before, write := g.keyedWrite(id, key)
	steps := append(before, write(false)...)
	for range 1 + g.IntN(3) {
		switch g.IntN(5) {
		case 0:
			steps = append(steps, g.write(id, g.delete(id))...)
		case 1:
			steps = append(steps, g.write(id, g.patch(id))...)
		case 2:
			_, other := g.keyedWrite(id, key)
			steps = append(steps, other(false)...) // most likely another request
		case 3:
			steps = append(steps, write(true)...)
		}
		steps = append(steps, write(false)...)
	}
	return steps
}

// key is mostly a new one, sometimes in quotes, and sometimes none.
func (g *generator) key() string {
	if g.keys == 0 || !oneIn(g.Rand, 8) {
		g.keys++
	}
	key := fmt.Sprintf("key-%d", g.keys)
	switch g.IntN(12) {
	case 0, 1, 2:
		return `"` + key + `"`
	case 3:
		return `"` + key + ` with spaces"`
	case 4:
		return pick(g.Rand, []string{"", `""`, "a b", `"a`, "é", strings.Repeat("k", 256), strings.Repeat("k", 255)})
	default:
		return key
	}
}

// keyedWrite returns what makes steps of one write with a key, and steps that let
// it succeed. Where it is written otherwise, it differs in what its answer depends
// on.
func (g *generator) keyedWrite(id int64, key pair) (before []step, write func(otherwise bool) []step) {
	preference := func(headers []pair, otherwise bool) []pair {
		if headers = append(slices.Clone(headers), key); otherwise {
			headers = slices.DeleteFunc(headers, func(h pair) bool { return h.name == "Prefer" })
			return append(headers, pair{"Prefer", pick(g.Rand, []string{"return=minimal", "return=representation"})})
		}
		return headers
	}
	if oneIn(g.Rand, 2) {
		b, about, reads := g.batch()
		for reads || hasOption(b, "partial") || hasOption(b, "chunk") && !oneIn(g.Rand, 8) {
			b, about, reads = g.batch()
		}
		return g.preparation(b, about), func(otherwise bool) []step {
			again := *b
			again.headers = preference(b.headers, otherwise)
			return g.manyRows(&again, about, false)
		}
	}
	if oneIn(g.Rand, 4) {
		id = 0
	}
	post := g.post(id)
	return nil, func(otherwise bool) []step {
		again := *post
		again.headers = preference(post.headers, otherwise)
		if id == 0 {
			return g.write(0, &creation{&again})
		}
		return g.write(id, &again)
	}
}

func hasOption(b *batch, name string) bool {
	return slices.ContainsFunc(b.options, func(o pair) bool { return o.name == name })
}
