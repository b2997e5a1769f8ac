package row

import (
	"fmt"
	"math"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Date is a DATE. The zero value is 0000-00-00, which columns can hold.
type Date struct {
	Year  int // 0 to 9999
	Month int // 1 to 12
	Day   int // 1 to 31
}

// String gives YYYY-MM-DD.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// Valid tells days of the calendar, and the zero Date.
func (d Date) Valid() bool {
	if d == (Date{}) {
		return true
	}
	return d.Year >= 0 && d.Year <= maxYear && d.Month >= 1 && d.Month <= 12 && d.Day >= 1 && d.Day <= daysIn(d.Year, d.Month)
}

// daysIn is the length of a month of the proleptic Gregorian calendar.
func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// StoredDate is what a DATE column can hold though the calendar has no such day,
// as in 2020-05-00: a value to compare with.
type StoredDate Date

// String gives YYYY-MM-DD.
func (d StoredDate) String() string { return Date(d).String() }

// DateTime is a DATETIME, which knows no time zone.
type DateTime struct {
	Date
	Hour, Minute, Second int
	Microsecond          int
}

// String gives YYYY-MM-DD HH:MM:SS.ffffff.
func (d DateTime) String() string {
	return fmt.Sprintf("%v %02d:%02d:%02d.%06d", d.Date, d.Hour, d.Minute, d.Second, d.Microsecond)
}

// Valid tells whether all fields are in their ranges.
func (d DateTime) Valid() bool {
	return d.Date.Valid() && d.Hour >= 0 && d.Hour < 24 && d.Minute >= 0 && d.Minute < 60 && d.Second >= 0 && d.Second < 60 &&
		d.Microsecond >= 0 && d.Microsecond < microsPerSecond
}

const (
	maxYear          = 9999
	microsPerSecond  = 1_000_000
	maxFractionDigit = 6

	dateSizeBytes  = 3
	dateDayBits    = 5
	dateMonthBits  = 4
	dateDayMask    = 1<<dateDayBits - 1
	dateMonthMask  = 1<<dateMonthBits - 1
	dateYearShift  = dateDayBits + dateMonthBits
	minuteShift    = 6
	hourShift      = 12
	sixtyMask      = 1<<6 - 1 // seconds and minutes
	dayShift       = 17
	yearMonthShift = 22
	monthsPerYear  = 13 // months count from 1

	time2WholeBytes     = 3
	datetime2WholeBytes = 5
	timestampWholeBytes = 4
	hourOfDayMask       = 1<<5 - 1
	timeHourMask        = 1<<10 - 1

	// MaxTime is the longest TIME, in either direction.
	MaxTime = 838*time.Hour + 59*time.Minute + 59*time.Second
)

// AppendDate appends a day of the calendar, or 0, 0, 0, to a column of DATE.
func AppendDate(dst []byte, f Form, c *dictinfo.Column, year, month, day int) ([]byte, error) {
	d := Date{year, month, day}
	switch {
	case c.Type != dictinfo.TypeDate:
		return dst, typeError(c, "a date")
	case !d.Valid():
		return dst, valueError(c, ErrRange, "%v", d)
	}
	return appendDate(dst, f, c, d), nil
}

// AppendStoredDate appends what fits the bits of a column of DATE.
func AppendStoredDate(dst []byte, f Form, c *dictinfo.Column, d StoredDate) ([]byte, error) {
	switch {
	case c.Type != dictinfo.TypeDate:
		return dst, typeError(c, "a date")
	case d.Year < 0 || d.Year > maxYear || d.Month&^dateMonthMask != 0 || d.Day&^dateDayMask != 0:
		return dst, valueError(c, ErrRange, "%v", Date(d))
	}
	return appendDate(dst, f, c, Date(d)), nil
}

func appendDate(dst []byte, f Form, c *dictinfo.Column, d Date) []byte {
	return appendUint(dst, f, c, uint64(d.Day|d.Month<<dateDayBits|d.Year<<dateYearShift), dateSizeBytes)
}

// AppendDateTime appends a date and time to a column of DATETIME, whose
// fraction must be able to hold it.
func AppendDateTime(dst []byte, f Form, c *dictinfo.Column, d DateTime) ([]byte, error) {
	switch {
	case c.Type != dictinfo.TypeDatetime2:
		return dst, typeError(c, "a date and time")
	case !d.Valid():
		return dst, valueError(c, ErrRange, "%v", d)
	}
	fraction, err := fractionOf(c, d.Microsecond)
	if err != nil {
		return dst, err
	}
	v := uint64((d.Year*monthsPerYear+d.Month)<<yearMonthShift | d.Day<<dayShift | d.Hour<<hourShift | d.Minute<<minuteShift | d.Second)
	return appendTemporal(dst, f, c, v|1<<(8*datetime2WholeBytes-1), datetime2WholeBytes, fraction)
}

// AppendDuration appends a time to a column of TIME, whose fraction must be able
// to hold it.
func AppendDuration(dst []byte, f Form, c *dictinfo.Column, d time.Duration) ([]byte, error) {
	switch {
	case c.Type != dictinfo.TypeTime2:
		return dst, typeError(c, "a duration")
	case d > MaxTime || d < -MaxTime || d%time.Microsecond != 0:
		return dst, valueError(c, ErrRange, "%v", d)
	}
	size := d.Abs()
	fraction, err := fractionOf(c, int(size%time.Second/time.Microsecond))
	if err != nil {
		return dst, err
	}
	seconds := uint64(size / time.Second)
	v := seconds/3600<<hourShift | seconds/60%60<<minuteShift | seconds%60
	bits := 8 * fractionBytes(c)
	v = v<<bits | fraction
	if d < 0 {
		v = -v
	}
	v += 1 << (8*time2WholeBytes - 1 + bits)
	return appendTemporal(dst, f, c, v>>bits, time2WholeBytes, v&(1<<bits-1))
}

// AppendTime appends a moment to a column of TIMESTAMP. A column of DATETIME
// takes what the clock shows in t's location, and one of DATE the day there.
func AppendTime(dst []byte, f Form, c *dictinfo.Column, t time.Time) ([]byte, error) {
	if t.Nanosecond()%1000 != 0 && c.Type != dictinfo.TypeDate {
		return dst, valueError(c, ErrRange, "%v has nanoseconds", t)
	}
	year, month, day := t.Date()
	switch c.Type {
	case dictinfo.TypeDate:
		return AppendDate(dst, f, c, year, int(month), day)
	case dictinfo.TypeDatetime2:
		d := DateTime{Date{year, int(month), day}, t.Hour(), t.Minute(), t.Second(), t.Nanosecond() / 1000}
		return AppendDateTime(dst, f, c, d)
	case dictinfo.TypeTimestamp2:
	default:
		return dst, typeError(c, "a time")
	}
	// Second 0 is the zero timestamp, 0000-00-00 00:00:00.
	if unix := t.Unix(); unix < 1 || unix > math.MaxInt32 {
		return dst, valueError(c, ErrRange, "%v", t)
	}
	fraction, err := fractionOf(c, t.Nanosecond()/1000)
	if err != nil {
		return dst, err
	}
	return appendTemporal(dst, f, c, uint64(t.Unix()), timestampWholeBytes, fraction)
}

// fractionBytes is how many bytes the fraction of the column has: one for each
// two digits, started ones too.
func fractionBytes(c *dictinfo.Column) int { return (int(c.Precision) + 1) / 2 }

// fractionOf turns microseconds into the number that is stored, in units of the
// fraction's bytes. It fails where digits would be lost.
func fractionOf(c *dictinfo.Column, micros int) (uint64, error) {
	if c.Precision > maxFractionDigit {
		return 0, valueError(c, ErrUnsupported, "%d digits of a second", c.Precision)
	}
	unit := 1 // microseconds that the last digit of the column counts
	for range maxFractionDigit - c.Precision {
		unit *= 10
	}
	if micros%unit != 0 {
		return 0, valueError(c, ErrRange, "fraction .%06d in %d digits", micros, c.Precision)
	}
	for range maxFractionDigit/2 - fractionBytes(c) {
		micros /= 100
	}
	return uint64(micros), nil
}

func appendTemporal(dst []byte, f Form, c *dictinfo.Column, whole uint64, wholeBytes int, fraction uint64) ([]byte, error) {
	n := wholeBytes + fractionBytes(c)
	if n != c.SizeBytes() {
		return dst, valueError(c, ErrUnsupported, "%d digits of a second in %d bytes", c.Precision, c.SizeBytes())
	}
	dst = appendBigEndian(begin(dst, f, c, n), whole, wholeBytes)
	return end(appendBigEndian(dst, fraction, fractionBytes(c)), f, n), nil
}

func appendBigEndian(dst []byte, v uint64, n int) []byte {
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// splitTemporal is the reverse of appendTemporal; the fraction is in
// microseconds.
func splitTemporal(c *dictinfo.Column, v []byte, wholeBytes int) (whole uint64, micros int, err error) {
	n := fractionBytes(c)
	if len(v) != wholeBytes+n || n > maxFractionDigit/2 {
		return 0, 0, valueError(c, ErrCorrupt, "%d bytes with %d digits of a second", len(v), c.Precision)
	}
	whole, micros = bigEndian(v[:wholeBytes]), int(bigEndian(v[wholeBytes:]))
	for range maxFractionDigit/2 - n {
		micros *= 100
	}
	return whole, micros, nil
}

func bigEndian(b []byte) uint64 {
	v := uint64(0)
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v
}
