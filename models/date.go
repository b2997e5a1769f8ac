package models

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"time"
)

// Date is a calendar date without time and without time zone. The zero value is
// no date, and neither is what other programs can have stored, such as
// 2020-05-00; see InCalendar.
//
// It keeps its parts apart, never a time.Time, so that no time zone can move
// it to the day before.
type Date struct {
	year  int16
	month uint8
	day   uint8
}

// The dates that the column type DATE promises to store.
var (
	minDate = Date{1000, 1, 1}
	maxDate = Date{9999, 12, 31}
)

// NewDate returns the date, or an error where the calendar has no such day or
// the year is not in 1..9999.
func NewDate(year, month, day int) (Date, error) {
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return Date{}, fmt.Errorf("%04d-%02d-%02d is not a date of the calendar", year, month, day)
	}
	return Date{int16(year), uint8(month), uint8(day)}, nil
}

// StoredDate returns what a column of dates holds, whether the calendar has it or
// not. Parts that no column can hold give the zero value.
func StoredDate(year, month, day int) Date {
	if year < 0 || year > 9999 || month < 0 || month > 15 || day < 0 || day > 31 {
		return Date{}
	}
	return Date{int16(year), uint8(month), uint8(day)}
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// ParseDate reads the form YYYY-MM-DD and nothing else.
func ParseDate(s string) (Date, error) {
	year, month, day, ok := splitDate(s)
	if !ok {
		return Date{}, fmt.Errorf("%.20q is not a date of the form YYYY-MM-DD", s)
	}
	return NewDate(year, month, day)
}

func splitDate(s string) (year, month, day int, ok bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, 0, 0, false
	}
	year, okYear := decimal(s[:4])
	month, okMonth := decimal(s[5:7])
	day, okDay := decimal(s[8:])
	return year, month, day, okYear && okMonth && okDay
}

func decimal(digits string) (int, bool) {
	n := 0
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		n = n*10 + int(digits[i]-'0')
	}
	return n, true
}

// Year is 1..9999 of a date of the calendar.
func (d Date) Year() int { return int(d.year) }

// Month is 1..12 of a date of the calendar.
func (d Date) Month() int { return int(d.month) }

// Day is 1..31 of a date of the calendar.
func (d Date) Day() int { return int(d.day) }

// IsZero tells whether d is the zero value.
func (d Date) IsZero() bool { return d == Date{} }

// InCalendar tells whether d is a date at all.
func (d Date) InCalendar() bool {
	_, err := NewDate(int(d.year), int(d.month), int(d.day))
	return err == nil
}

// Number is year, month and day as one number, as in 20200229; it orders as the
// dates do.
func (d Date) Number() int { return int(d.year)*10000 + int(d.month)*100 + int(d.day) }

// Compare returns -1, 0 or +1 as d is before, on or after other.
func (d Date) Compare(other Date) int {
	return cmp.Or(
		cmp.Compare(d.year, other.year),
		cmp.Compare(d.month, other.month),
		cmp.Compare(d.day, other.day),
	)
}

// String gives YYYY-MM-DD.
func (d Date) String() string { return string(d.appendTo(nil)) }

func (d Date) appendTo(dst []byte) []byte {
	return append(dst,
		'0'+byte(d.year/1000%10), '0'+byte(d.year/100%10), '0'+byte(d.year/10%10), '0'+byte(d.year%10), '-',
		'0'+d.month/10, '0'+d.month%10, '-',
		'0'+d.day/10, '0'+d.day%10)
}

// AppendText implements encoding.TextAppender.
func (d Date) AppendText(dst []byte) ([]byte, error) { return d.appendTo(dst), nil }

// MarshalText implements encoding.TextMarshaler, and with it JSON.
func (d Date) MarshalText() ([]byte, error) { return d.appendTo(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler, and with it JSON.
func (d *Date) UnmarshalText(text []byte) error {
	parsed, err := ParseDate(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Value implements driver.Valuer: text, which no driver shifts by a time zone.
func (d Date) Value() (driver.Value, error) { return d.String(), nil }

// Scan implements sql.Scanner for what a driver gives for a DATE column when
// it leaves dates as text: also what is no date of the calendar.
func (d *Date) Scan(src any) error {
	var text string
	switch src := src.(type) {
	case []byte:
		text = string(src)
	case string:
		text = src
	default:
		return fmt.Errorf("a date cannot be read from %T", src)
	}
	year, month, day, ok := splitDate(text)
	if !ok {
		return fmt.Errorf("%.20q is not a date of the form YYYY-MM-DD", text)
	}
	*d = StoredDate(year, month, day)
	return nil
}

// GormDataType is the column type for GORM.
func (Date) GormDataType() string { return "date" }
