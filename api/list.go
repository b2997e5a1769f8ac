package api

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
)

const (
	defaultPageSize = 100
	maxPageSize     = 1000
)

// employeePage is the answer of a list.
type employeePage struct {
	Employees     []models.Employee `json:"employees"`
	NextPageToken string            `json:"next_page_token,omitempty"`
}

func (s *server) listEmployees(x *exchange) error {
	p, err := parseListParameters(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	// One more than asked for tells whether there is a next page.
	p.query.Limit = p.pageSize + 1
	done := x.timed()
	found, err := x.store.List(x.ctx, p.query)
	done()
	if err != nil {
		return err
	}
	page := employeePage{Employees: found}
	if len(found) > p.pageSize {
		page.Employees = found[:p.pageSize]
		page.NextPageToken = pageToken{after: found[p.pageSize-1].ID, query: p.queryHash}.String()
	}
	x.w.Header().Set("Cache-Control", "private, no-cache")
	return x.json(http.StatusOK, page)
}

// listParameters are the query parameters of a list.
type listParameters struct {
	query     models.EmployeeQuery
	pageSize  int
	queryHash uint64 // of what selects and orders, so that a page token fits one query
}

// parseListParameters reads all parameters and returns a problem that names
// every wrong one.
func parseListParameters(rawQuery string) (listParameters, error) {
	p := listParameters{pageSize: defaultPageSize}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return p, newProblem(codeInvalidParameter, "the query cannot be read: a % must be followed by two hexadecimal digits, and ; is not allowed")
	}
	var faults []fault
	var token string
	hash := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 1 {
			faults = append(faults, parameterFault(name, "repeated", "must be given once"))
			continue
		}
		value := values[name][0]
		var err error
		switch name {
		case "page_size":
			p.pageSize, err = parsePageSize(value)
		case "page_token":
			token = value
		case "order_by":
			if value != "id" && value != "id asc" {
				err = errText("must be id")
			}
		case "":
			return p, newProblem(codeInvalidParameter, "a parameter has no name")
		default:
			var match models.Match
			match, err = parseMatch(name, value)
			p.query.Matches = append(p.query.Matches, match)
			fmt.Fprintf(hash, "%q=%q;", name, value)
		}
		if err != nil {
			faults = append(faults, parameterFault(name, "invalid", err.Error()))
		}
	}
	p.queryHash = hash.Sum64()
	if token != "" {
		after, err := parsePageToken(token, p.queryHash)
		if err != nil && len(faults) == 0 {
			faults = append(faults, parameterFault("page_token", "invalid", err.Error()))
		}
		p.query.AfterID = after
	}
	if len(faults) > 0 {
		return p, newProblem(codeInvalidParameter, "each entry of errors names a parameter", faults...)
	}
	return p, nil
}

// errText is what is wrong with a parameter, for the client.
type errText string

func (e errText) Error() string { return string(e) }

func parsePageSize(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPageSize || strconv.Itoa(n) != text {
		return 0, errText(fmt.Sprintf("must be an integer from 1 to %d", maxPageSize))
	}
	return n, nil
}

// parseMatch reads a simple filter: the name of a property and the value that
// it must equal.
func parseMatch(name, text string) (models.Match, error) {
	property, ok := models.EmployeeProperty(name)
	if !ok {
		return models.Match{}, errText("is not a parameter of this call")
	}
	value, err := parseValue(property, text)
	return models.Match{Property: property, Value: value}, err
}

func parseValue(property models.Property, text string) (any, error) {
	switch property.Pointer(new(models.Employee)).(type) {
	case *int64:
		n, err := parseInteger(text, 64)
		return n, err
	case *int32:
		n, err := parseInteger(text, 32)
		return int32(n), err
	case **string:
		if !utf8.ValidString(text) {
			return nil, errText("must be valid UTF-8")
		}
		return text, nil
	case **models.Date:
		d, err := models.ParseDate(text)
		if err != nil {
			return nil, errText("must be a date of the calendar as YYYY-MM-DD")
		}
		return d, nil
	default:
		panic("api: no filter for the property " + property.Name)
	}
}

func parseInteger(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || strconv.FormatInt(n, 10) != text {
		limit := int64(math.MaxInt64) >> (64 - bits)
		return 0, errText(fmt.Sprintf("must be an integer from %d to %d", -limit-1, limit))
	}
	return n, nil
}

// pageToken says where the next page begins and for which query.
type pageToken struct {
	after int64
	query uint64
}

const (
	pageTokenVersion  = 1
	pageTokenSizeByte = 1 + 8 + 8
)

// String gives the opaque form.
func (t pageToken) String() string {
	raw := []byte{pageTokenVersion}
	raw = binary.BigEndian.AppendUint64(raw, uint64(t.after))
	raw = binary.BigEndian.AppendUint64(raw, t.query)
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parsePageToken(text string, query uint64) (after int64, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != pageTokenSizeByte || raw[0] != pageTokenVersion {
		return 0, errText("is not a token that this service gave")
	}
	t := pageToken{int64(binary.BigEndian.Uint64(raw[1:])), binary.BigEndian.Uint64(raw[9:])}
	if t.query != query || t.after < 0 {
		return 0, errText("belongs to a list with other filters")
	}
	return t.after, nil
}
