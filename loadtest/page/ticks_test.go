package page

import (
	"math"
	"slices"
	"testing"
)

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		most float64
		want []float64
	}{
		{0, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{math.NaN(), []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{9.5, []float64{0, 2, 4, 6, 8, 10}},
		{85, []float64{0, 20, 40, 60, 80, 100}},
		{100, []float64{0, 20, 40, 60, 80, 100}},
		{42834, []float64{0, 10000, 20000, 30000, 40000, 50000}},
	} {
		got := linearTicks(c.most)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%v: got %v, want %v", c.most, got, c.want)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want        []float64
	}{
		{2, 80, []float64{1, 10, 100}},
		{10, 100, []float64{1, 10, 100}}, // room below what lies on a tick
		{0.4, 0.5, []float64{0.1, 1}},
		{math.Inf(1), 0, []float64{0.1, 1}},
	} {
		got := logTicks(c.least, c.most)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%v to %v: got %v, want %v", c.least, c.most, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{group(0), "0"},
		{group(0.1234), "0.123"},
		{group(1.5), "1.50"},
		{group(999.94), "999.9"},
		{group(1234.5), "1\u202f234"},
		{group(1234567), "1\u202f234\u202f567"},
		{group(-1234), "-1\u202f234"},
		{group(math.NaN()), "–"},
		{whole(100), "100"},
		{whole(50000), "50\u202f000"},
		{short(1e6), "1M"},
		{short(2.5e6), "2.5M"},
		{short(25000), "25k"},
		{short(1500), "1.5k"},
		{short(1234), "1234"},
		{short(0.25), "0.25"},
		{slug("Find first!"), "find-first-"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
