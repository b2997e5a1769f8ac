package api

import (
	"fmt"
	"strconv"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
)

const csvLineEnd = "\r\n" // says RFC 4180

// exportColumns are the columns of an export in CSV.
var exportColumns = models.EmployeeProperties()

// appendCSVHeader appends the line that names the columns.
func appendCSVHeader(dst []byte) []byte {
	for i, p := range exportColumns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p.Name...)
	}
	return append(dst, csvLineEnd...)
}

func appendCSVRecord(dst []byte, e *models.Employee) []byte {
	for i, p := range exportColumns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCSVValue(dst, p.Value(e))
	}
	return append(dst, csvLineEnd...)
}

func appendCSVValue(dst []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return dst
	case int64:
		return strconv.AppendInt(dst, value, 10)
	case int32:
		return strconv.AppendInt(dst, int64(value), 10)
	case string:
		return rowformat.AppendField(dst, []byte(value))
	case models.Date:
		dst, err := value.AppendText(dst)
		if err != nil {
			panic("api: a date that cannot be encoded: " + err.Error())
		}
		return dst
	default:
		panic(fmt.Sprintf("api: no field of CSV for %T", value))
	}
}
