package row

import (
	"strconv"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// appendTemporalText takes YYYY-MM-DD, YYYY-MM-DD HH:MM:SS[.ffffff] (UTC for
// TIMESTAMP) and [-]HHH:MM:SS[.ffffff].
func appendTemporalText(dst []byte, f Form, c *dictinfo.Column, s string) ([]byte, error) {
	bad := func() ([]byte, error) { return dst, valueError(c, ErrType, "%q", s) }
	switch c.Type {
	case dictinfo.TypeDate:
		d, ok := parseDate(s)
		if !ok {
			return bad()
		}
		return AppendDate(dst, f, c, d.Year, d.Month, d.Day)
	case dictinfo.TypeTime2:
		text, negative := strings.CutPrefix(s, "-")
		h, m, sec, micros, ok := parseClock(text)
		if !ok || h > 838 {
			return bad()
		}
		d := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec)*time.Second + time.Duration(micros)*time.Microsecond
		if negative {
			d = -d
		}
		return AppendDuration(dst, f, c, d)
	}
	date, clock, _ := strings.Cut(s, " ")
	d, ok := parseDate(date)
	h, m, sec, micros, clockOK := parseClock(clock)
	if !ok || !clockOK {
		return bad()
	}
	dt := DateTime{d, h, m, sec, micros}
	if c.Type == dictinfo.TypeDatetime2 {
		return AppendDateTime(dst, f, c, dt)
	}
	if dt == (DateTime{}) {
		return appendTemporal(dst, f, c, 0, timestampWholeBytes, 0)
	}
	if !dt.Valid() {
		return dst, valueError(c, ErrRange, "%s", s)
	}
	return AppendTime(dst, f, c, time.Date(d.Year, time.Month(d.Month), d.Day, h, m, sec, micros*1000, time.UTC))
}

func parseDate(s string) (d Date, ok bool) {
	if len(s) != len("YYYY-MM-DD") || s[4] != '-' || s[7] != '-' {
		return d, false
	}
	var ok1, ok2, ok3 bool
	d.Year, ok1 = parseDigits(s[:4])
	d.Month, ok2 = parseDigits(s[5:7])
	d.Day, ok3 = parseDigits(s[8:])
	return d, ok1 && ok2 && ok3
}

// parseClock takes two or three digits of hours.
func parseClock(s string) (hour, minute, second, micros int, ok bool) {
	s, fraction, hasFraction := strings.Cut(s, ".")
	hours, rest, _ := strings.Cut(s, ":")
	if len(hours) < 2 || len(hours) > 3 || len(rest) != len("MM:SS") || rest[2] != ':' {
		return 0, 0, 0, 0, false
	}
	hour, ok1 := parseDigits(hours)
	minute, ok2 := parseDigits(rest[:2])
	second, ok3 := parseDigits(rest[3:])
	ok = ok1 && ok2 && ok3 && minute < 60 && second < 60
	if hasFraction {
		var ok4 bool
		micros, ok4 = parseDigits(fraction)
		ok = ok && ok4 && len(fraction) <= maxFractionDigit
		for range maxFractionDigit - min(len(fraction), maxFractionDigit) {
			micros *= 10
		}
	}
	return hour, minute, second, micros, ok
}

func parseDigits(s string) (int, bool) {
	if s == "" || len(s) > maxFractionDigit || !isDigits(s) {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func appendTemporalAsText(dst []byte, c *dictinfo.Column, src []byte, s Span) ([]byte, error) {
	switch c.Type {
	case dictinfo.TypeDate:
		d, err := GetDate(c, src, s)
		if err != nil {
			return dst, err
		}
		return appendDateText(dst, d), nil
	case dictinfo.TypeDatetime2:
		d, err := GetDateTime(c, src, s)
		if err != nil {
			return dst, err
		}
		return appendDateTimeText(dst, c, d), nil
	case dictinfo.TypeTime2:
		d, err := Duration(c, src, s)
		if err != nil {
			return dst, err
		}
		if d < 0 {
			dst = append(dst, '-')
		}
		d = d.Abs()
		return appendClock(dst, c, int(d/time.Hour), int(d/time.Minute%60), int(d/time.Second%60), int(d%time.Second/time.Microsecond)), nil
	}
	t, err := Time(c, src, s)
	switch {
	case err != nil:
		return dst, err
	case t.IsZero():
		return appendDateTimeText(dst, c, DateTime{}), nil
	}
	date := Date{t.Year(), int(t.Month()), t.Day()}
	return appendDateTimeText(dst, c, DateTime{date, t.Hour(), t.Minute(), t.Second(), t.Nanosecond() / 1000}), nil
}

func appendDateText(dst []byte, d Date) []byte {
	dst = append(appendZeros(dst, d.Year, 4), '-')
	dst = append(appendZeros(dst, d.Month, 2), '-')
	return appendZeros(dst, d.Day, 2)
}

func appendDateTimeText(dst []byte, c *dictinfo.Column, d DateTime) []byte {
	return appendClock(append(appendDateText(dst, d.Date), ' '), c, d.Hour, d.Minute, d.Second, d.Microsecond)
}

// appendClock appends as many digits of the fraction as the column has.
func appendClock(dst []byte, c *dictinfo.Column, hour, minute, second, micros int) []byte {
	dst = append(appendZeros(dst, hour, 2), ':')
	dst = append(appendZeros(dst, minute, 2), ':')
	dst = appendZeros(dst, second, 2)
	if digits := int(min(c.Precision, maxFractionDigit)); digits > 0 {
		dst = appendZeros(append(dst, '.'), micros, maxFractionDigit)
		dst = dst[:len(dst)-maxFractionDigit+digits]
	}
	return dst
}

// appendZeros appends n with zeros in front up to width.
func appendZeros(dst []byte, n, width int) []byte {
	power := 1
	for range width - 1 {
		power *= 10
	}
	for ; power > 1 && n < power; power /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(n), 10)
}
