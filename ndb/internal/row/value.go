package row

import (
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// AppendValue appends v by its Go type: nil is NULL; integers of all sizes and
// bool; float32 and float64; string and []byte; Date, StoredDate, DateTime, time.Time
// and time.Duration; and pointers to string, int64, int32 and Date, nil ones being
// NULL.
func AppendValue(dst []byte, f Form, c *dictinfo.Column, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return AppendNull(dst, f, c)
	case string:
		return AppendString(dst, f, c, v)
	case []byte:
		if v == nil {
			return AppendNull(dst, f, c)
		}
		return AppendBytes(dst, f, c, v)
	case int, int8, int16, int32, int64:
		return AppendInt64(dst, f, c, toInt64(v))
	case uint, uint8, uint16, uint32, uint64:
		return AppendUint64(dst, f, c, toUint64(v))
	case bool:
		if v {
			return AppendUint64(dst, f, c, 1)
		}
		return AppendUint64(dst, f, c, 0)
	case float64:
		return AppendFloat64(dst, f, c, v)
	case float32:
		return AppendFloat64(dst, f, c, float64(v))
	case Date:
		return AppendDate(dst, f, c, v.Year, v.Month, v.Day)
	case StoredDate:
		return AppendStoredDate(dst, f, c, v)
	case DateTime:
		return AppendDateTime(dst, f, c, v)
	case time.Time:
		return AppendTime(dst, f, c, v)
	case time.Duration:
		return AppendDuration(dst, f, c, v)
	}
	return appendPointer(dst, f, c, v)
}

func appendPointer(dst []byte, f Form, c *dictinfo.Column, v any) ([]byte, error) {
	switch v := v.(type) {
	case *string:
		if v != nil {
			return AppendString(dst, f, c, *v)
		}
	case *int64:
		if v != nil {
			return AppendInt64(dst, f, c, *v)
		}
	case *int32:
		if v != nil {
			return AppendInt64(dst, f, c, int64(*v))
		}
	case *Date:
		if v != nil {
			return AppendDate(dst, f, c, v.Year, v.Month, v.Day)
		}
	default:
		return dst, typeError(c, fmt.Sprintf("%T", v))
	}
	return AppendNull(dst, f, c)
}

func toInt64(v any) int64 {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	}
	return v.(int64)
}

func toUint64(v any) uint64 {
	switch v := v.(type) {
	case uint:
		return uint64(v)
	case uint8:
		return uint64(v)
	case uint16:
		return uint64(v)
	case uint32:
		return uint64(v)
	}
	return v.(uint64)
}
