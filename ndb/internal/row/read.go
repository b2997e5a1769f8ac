package row

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// The functions below read the value of column c that s marks in src. They
// return a ValueError with ErrNull for NULL, ErrType where the column does not
// hold such values, and ErrCorrupt for bytes that are none of its values.

// Int64 reads integers, YEAR, BIT, ENUM and SET. Numbers beyond 63 bits are
// ErrRange.
func Int64(c *dictinfo.Column, src []byte, s Span) (int64, error) {
	size, signed, ok := integer(c.Type)
	if !ok || !signed {
		v, err := Uint64(c, src, s)
		if err == nil && v > math.MaxInt64 {
			return 0, valueError(c, ErrRange, "%d", v)
		}
		return int64(v), err
	}
	v, err := littleEndian(c, src, s, size)
	shift := 64 - 8*size
	return int64(v<<shift) >> shift, err
}

// Uint64 reads integers, YEAR, BIT, ENUM and SET. Negative numbers are ErrRange.
func Uint64(c *dictinfo.Column, src []byte, s Span) (uint64, error) {
	if size, signed, ok := integer(c.Type); ok {
		if !signed {
			return littleEndian(c, src, s, size)
		}
		v, err := Int64(c, src, s)
		if err == nil && v < 0 {
			return 0, valueError(c, ErrRange, "%d", v)
		}
		return uint64(v), err
	}
	switch {
	case c.Type == dictinfo.TypeYear:
		v, err := littleEndian(c, src, s, 1)
		if v != 0 {
			v += yearStart
		}
		return v, err
	case c.Type == dictinfo.TypeBit:
		return bits(c, src, s)
	case IsNumbered(c):
		return littleEndian(c, src, s, c.SizeBytes())
	}
	return 0, typeError(c, "read as an integer")
}

func littleEndian(c *dictinfo.Column, src []byte, s Span, size int) (uint64, error) {
	if err := checkSize(c, s, size); err != nil {
		return 0, err
	}
	switch b := src[s.Off : s.Off+s.Len]; size {
	case 8:
		return binary.LittleEndian.Uint64(b), nil
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), nil
	default:
		v := uint64(0)
		for i, x := range b {
			v |= uint64(x) << (8 * i)
		}
		return v, nil
	}
}

func checkSize(c *dictinfo.Column, s Span, size int) error {
	switch {
	case s.Null:
		return valueError(c, ErrNull, "")
	case int(s.Len) != size:
		return valueError(c, ErrCorrupt, "%d bytes", s.Len)
	}
	return nil
}

func bits(c *dictinfo.Column, src []byte, s Span) (uint64, error) {
	if s.Null {
		return 0, valueError(c, ErrNull, "")
	}
	n := int(c.Elements)
	if n > maxBits || (int(s.Bit)+n+7)/8 > int(s.Len) {
		return 0, valueError(c, ErrCorrupt, "%d bits in %d bytes", n, s.Len)
	}
	var words [12]byte // 64 bits that begin within a word
	copy(words[:], s.Bytes(src))
	v := binary.LittleEndian.Uint64(words[:]) >> s.Bit
	if s.Bit > 0 {
		v |= uint64(binary.LittleEndian.Uint32(words[8:])) << (64 - s.Bit)
	}
	if n < 64 {
		v &= 1<<n - 1
	}
	return v, nil
}

// Float64 reads FLOAT and DOUBLE.
func Float64(c *dictinfo.Column, src []byte, s Span) (float64, error) {
	switch c.Type {
	case dictinfo.TypeDouble:
		v, err := littleEndian(c, src, s, 8)
		return math.Float64frombits(v), err
	case dictinfo.TypeFloat:
		v, err := littleEndian(c, src, s, 4)
		return float64(math.Float32frombits(uint32(v))), err
	}
	return 0, typeError(c, "read as a floating point number")
}

// GetDate reads DATE.
func GetDate(c *dictinfo.Column, src []byte, s Span) (Date, error) {
	if c.Type != dictinfo.TypeDate {
		return Date{}, typeError(c, "read as a date")
	}
	v, err := littleEndian(c, src, s, dateSizeBytes)
	return Date{Year: int(v >> dateYearShift), Month: int(v >> dateDayBits & dateMonthMask), Day: int(v & dateDayMask)}, err
}

// GetDateTime reads DATETIME.
func GetDateTime(c *dictinfo.Column, src []byte, s Span) (DateTime, error) {
	if c.Type != dictinfo.TypeDatetime2 {
		return DateTime{}, typeError(c, "read as a date and time")
	}
	if s.Null {
		return DateTime{}, valueError(c, ErrNull, "")
	}
	v, micros, err := splitTemporal(c, s.Bytes(src), datetime2WholeBytes)
	if err != nil {
		return DateTime{}, err
	}
	yearMonth := int(v &^ (1 << (8*datetime2WholeBytes - 1)) >> yearMonthShift)
	d := DateTime{
		Date:   Date{Year: yearMonth / monthsPerYear, Month: yearMonth % monthsPerYear, Day: int(v >> dayShift & dateDayMask)},
		Hour:   int(v >> hourShift & hourOfDayMask),
		Minute: int(v >> minuteShift & sixtyMask),
		Second: int(v & sixtyMask), Microsecond: micros,
	}
	return d, nil
}

// Duration reads TIME.
func Duration(c *dictinfo.Column, src []byte, s Span) (time.Duration, error) {
	if c.Type != dictinfo.TypeTime2 {
		return 0, typeError(c, "read as a duration")
	}
	if s.Null {
		return 0, valueError(c, ErrNull, "")
	}
	b := s.Bytes(src)
	fraction := fractionBytes(c)
	if len(b) != time2WholeBytes+fraction || fraction > maxFractionDigit/2 {
		return 0, valueError(c, ErrCorrupt, "%d bytes", len(b))
	}
	// Negative times are the complement of the whole, fraction included.
	v := int64(bigEndian(b)) - 1<<(8*len(b)-1)
	negative := v < 0
	if negative {
		v = -v
	}
	micros := v & (1<<(8*fraction) - 1)
	for range maxFractionDigit/2 - fraction {
		micros *= 100
	}
	v >>= 8 * fraction
	seconds := (v>>hourShift&timeHourMask)*3600 + (v>>minuteShift&sixtyMask)*60 + v&sixtyMask
	d := time.Duration(seconds)*time.Second + time.Duration(micros)*time.Microsecond
	if negative {
		return -d, nil
	}
	return d, nil
}

// Time reads TIMESTAMP, in UTC. The zero timestamp is the zero Time.
func Time(c *dictinfo.Column, src []byte, s Span) (time.Time, error) {
	if c.Type != dictinfo.TypeTimestamp2 {
		return time.Time{}, typeError(c, "read as a time")
	}
	if s.Null {
		return time.Time{}, valueError(c, ErrNull, "")
	}
	seconds, micros, err := splitTemporal(c, s.Bytes(src), timestampWholeBytes)
	if err != nil || seconds == 0 && micros == 0 {
		return time.Time{}, err
	}
	return time.Unix(int64(seconds), int64(micros)*1000).UTC(), nil
}

// AppendText appends a value of any type as text, as the server prints it, but
// that floating point numbers have as many digits as they need, ENUM, SET and
// BIT are numbers, and TIMESTAMP is in UTC. Characters become UTF-8; text that
// is UTF-8 already, valid or not, stays as it is. Nothing is appended for NULL,
// which is an error.
func AppendText(dst []byte, c *dictinfo.Column, src []byte, s Span) ([]byte, error) {
	if s.Null {
		return dst, valueError(c, ErrNull, "")
	}
	switch c.Type {
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar:
		if !IsNumbered(c) {
			return appendCharacters(dst, c, s.Bytes(src))
		}
	case dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
		return append(dst, s.Bytes(src)...), nil
	case dictinfo.TypeDecimal, dictinfo.TypeDecimalunsigned:
		return appendDecimalText(dst, c, s.Bytes(src))
	case dictinfo.TypeFloat, dictinfo.TypeDouble:
		v, err := Float64(c, src, s)
		if err != nil {
			return dst, err
		}
		return appendFloatText(dst, v, 8*c.SizeBytes()), nil
	case dictinfo.TypeDate, dictinfo.TypeDatetime2, dictinfo.TypeTime2, dictinfo.TypeTimestamp2:
		return appendTemporalAsText(dst, c, src, s)
	}
	if _, signed, ok := integer(c.Type); ok && signed {
		v, err := Int64(c, src, s)
		if err != nil {
			return dst, err
		}
		return strconv.AppendInt(dst, v, 10), nil
	}
	v, err := Uint64(c, src, s)
	if err != nil {
		return dst, err
	}
	if c.Type == dictinfo.TypeYear {
		return appendZeros(dst, int(v), 4), nil
	}
	return strconv.AppendUint(dst, v, 10), nil
}

// String is AppendText as a string.
func String(c *dictinfo.Column, src []byte, s Span) (string, error) {
	if s.Null {
		return "", valueError(c, ErrNull, "")
	}
	var buf [64]byte
	text, err := AppendText(buf[:0], c, src, s)
	return string(text), err
}

// Value reads a value of any type: int64, uint64, float64, string (characters
// and DECIMAL), []byte (binary, a copy), Date, DateTime, time.Time,
// time.Duration, or nil for NULL.
func Value(c *dictinfo.Column, src []byte, s Span) (any, error) {
	if s.Null {
		return nil, nil
	}
	switch c.Type {
	case dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
		return append([]byte{}, s.Bytes(src)...), nil
	case dictinfo.TypeFloat, dictinfo.TypeDouble:
		return Float64(c, src, s)
	case dictinfo.TypeDate:
		return GetDate(c, src, s)
	case dictinfo.TypeDatetime2:
		return GetDateTime(c, src, s)
	case dictinfo.TypeTime2:
		return Duration(c, src, s)
	case dictinfo.TypeTimestamp2:
		return Time(c, src, s)
	case dictinfo.TypeDecimal, dictinfo.TypeDecimalunsigned:
		return String(c, src, s)
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar:
		if !IsNumbered(c) {
			return String(c, src, s)
		}
	}
	if _, signed, ok := integer(c.Type); ok && signed {
		return Int64(c, src, s)
	}
	return Uint64(c, src, s)
}
