package page

import (
	"math"
	"strconv"
	"strings"
)

// linearTicks are round numbers from 0 to at least most, four to six of them.
func linearTicks(most float64) []float64 {
	if most <= 0 || math.IsNaN(most) || math.IsInf(most, 0) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if most/(step*f) <= 5 {
			step *= f
			break
		}
	}
	ticks := []float64{0}
	for i := 1.0; ticks[len(ticks)-1] < most*(1-1e-9); i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// logTicks are powers of ten around the values, with room below the least one.
func logTicks(least, most float64) []float64 {
	if most <= 0 || math.IsInf(least, 0) || least <= 0 {
		return []float64{0.1, 1}
	}
	const room = 1.1
	var ticks []float64
	for e := math.Floor(math.Log10(least / room)); ; e++ {
		ticks = append(ticks, math.Pow(10, e))
		if ticks[len(ticks)-1] >= most {
			break
		}
	}
	if len(ticks) == 1 {
		ticks = append([]float64{ticks[0] / 10}, ticks...)
	}
	return ticks
}

// short writes a number for an axis, as in 25k.
func short(v float64) string {
	switch {
	case math.Abs(v) >= 1e6:
		return trim(v/1e6, 1) + "M"
	case math.Abs(v) >= 1e4, math.Abs(v) >= 1e3 && math.Mod(v, 100) == 0:
		return trim(v/1e3, 1) + "k"
	default:
		return trim(v, 3)
	}
}

func trim(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// group writes a number with some three digits that count, and thin spaces
// between thousands. It is a dash where the number is not known.
func group(v float64) string {
	digits := 0
	switch a := math.Abs(v); {
	case math.IsNaN(v), math.IsInf(v, 0):
		return "–"
	case a == 0:
	case a < 1:
		digits = 3
	case a < 10:
		digits = 2
	case a < 1000:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	number, fraction, _ := strings.Cut(text, ".")
	if fraction != "" {
		fraction = "." + fraction
	}
	return spaced(number) + fraction
}

// whole writes all digits, with thin spaces as group.
func whole(n int) string { return spaced(strconv.Itoa(n)) }

func spaced(number string) string {
	var b strings.Builder
	for i, r := range number {
		if i > 0 && (len(number)-i)%3 == 0 && number[i-1] != '-' {
			b.WriteRune('\u202f')
		}
		b.WriteRune(r)
	}
	return b.String()
}
