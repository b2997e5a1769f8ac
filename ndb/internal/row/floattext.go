package row

import (
	"bytes"
	"strconv"
)

// SELECT shows a number of FLOAT with six digits and one of DOUBLE with as many
// as tell it from all others; without an exponent where that is in these limits.
// Seen on a server of version 9.7.
const (
	floatDigits   = 6
	minPlainPower = -15
	maxPlainPower = 14
)

// appendFloatText appends v as SELECT shows it.
func appendFloatText(dst []byte, v float64, bits int) []byte {
	precision := -1
	if bits == 32 {
		precision = floatDigits - 1
	}
	scientific := strconv.AppendFloat(nil, v, 'e', precision, bits)
	mantissa, exponent, found := bytes.Cut(scientific, []byte("e"))
	power, err := strconv.Atoi(string(exponent))
	if !found || err != nil {
		return append(dst, scientific...) // NaN and infinity, which no server stores
	}
	if bytes.IndexByte(mantissa, '.') >= 0 {
		mantissa = bytes.TrimRight(bytes.TrimRight(mantissa, "0"), ".")
	}
	if power < minPlainPower || power > maxPlainPower {
		dst = append(append(dst, mantissa...), 'e')
		return strconv.AppendInt(dst, int64(power), 10)
	}
	rounded, err := strconv.ParseFloat(string(mantissa)+"e"+strconv.Itoa(power), 64)
	if err != nil {
		return append(dst, scientific...)
	}
	return strconv.AppendFloat(dst, rounded, 'f', -1, 64)
}
