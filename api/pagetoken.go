package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
)

// A page token is, in base64 without padding:
//
//	1 byte   version
//	8 bytes  of the SHA-256 of the filter and the order that it belongs to
//	for each property of the order, the id last: 0 where it is null, or 1 and
//	         an integer or a date as a number (varint), or text (length as an
//	         unsigned varint, UTF-8)
//	4 bytes  CRC-32 of all that, big-endian
//
// It is not signed: all that a made up token can do is to begin a page elsewhere
// among the employees that the filter selects.
const (
	pageTokenVersion = 2
	pageTokenHash    = 8
	pageTokenSum     = 4

	// maxPageToken is longer than any that has the longest text of all columns,
	// escaped.
	maxPageToken = 4096
)

// queryHash stands for what a page token belongs to.
func queryHash(q *models.EmployeeQuery) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%v", q.Filter)
	for _, o := range q.TotalOrder() {
		fmt.Fprintf(h, "\x00%s %v", o.Property.Name, o.Descending)
	}
	return h.Sum(nil)[:pageTokenHash]
}

// newPageToken returns the token of a place in the order of q.
func newPageToken(q *models.EmployeeQuery, place models.Cursor) string {
	raw := append([]byte{pageTokenVersion}, queryHash(q)...)
	for _, value := range place {
		if value == nil {
			raw = append(raw, 0)
			continue
		}
		raw = append(raw, 1)
		switch value := value.(type) {
		case int64:
			raw = binary.AppendVarint(raw, value)
		case int32:
			raw = binary.AppendVarint(raw, int64(value))
		case models.Date:
			raw = binary.AppendVarint(raw, int64(value.Number()))
		case string:
			raw = binary.AppendUvarint(raw, uint64(len(value)))
			raw = append(raw, value...)
		default:
			panic(fmt.Sprintf("api: no page token for a %T", value))
		}
	}
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	return base64.RawURLEncoding.EncodeToString(raw)
}

const (
	notOurToken = errText("is not a token that this service gave")
	otherQuery  = errText("belongs to a list with another filter or order")
)

// parsePageToken returns the place that a token of the same filter and order
// stands for.
func parsePageToken(q *models.EmployeeQuery, text string) (models.Cursor, error) {
	if len(text) > maxPageToken {
		return nil, notOurToken
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 1+pageTokenHash+pageTokenSum || raw[0] != pageTokenVersion {
		return nil, notOurToken
	}
	body, sum := raw[:len(raw)-pageTokenSum], raw[len(raw)-pageTokenSum:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(body) {
		return nil, notOurToken
	}
	if string(body[1:1+pageTokenHash]) != string(queryHash(q)) {
		return nil, otherQuery
	}
	rest := body[1+pageTokenHash:]
	var place models.Cursor
	for _, o := range q.TotalOrder() {
		value, n := cutValue(o.Property, rest)
		if n == 0 {
			return nil, notOurToken
		}
		place, rest = append(place, value), rest[n:]
	}
	if len(rest) > 0 {
		return nil, notOurToken
	}
	return place, nil
}

// cutValue reads a value of the property from the start of raw, and tells of how
// many bytes it is; 0 is none.
func cutValue(property models.Property, raw []byte) (value any, n int) {
	switch {
	case len(raw) == 0, raw[0] > 1, raw[0] == 0 && !property.Nullable:
		return nil, 0
	case raw[0] == 0:
		return nil, 1
	}
	raw = raw[1:]
	if isText(property) {
		length, n := binary.Uvarint(raw)
		if n <= 0 || length > uint64(len(raw)-n) || !utf8.Valid(raw[n:n+int(length)]) {
			return nil, 0
		}
		return string(raw[n : n+int(length)]), 1 + n + int(length)
	}
	number, n := binary.Varint(raw)
	if n <= 0 {
		return nil, 0
	}
	switch property.Pointer(new(models.Employee)).(type) {
	case *int64:
		return number, 1 + n
	case *int32:
		if number != int64(int32(number)) {
			return nil, 0
		}
		return int32(number), 1 + n
	case **models.Date:
		d := models.StoredDate(int(number/10000), int(number/100%100), int(number%100))
		if int64(d.Number()) != number {
			return nil, 0
		}
		return d, 1 + n
	default:
		panic("api: no page token for the property " + property.Name)
	}
}
