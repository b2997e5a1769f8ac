package sqlstore

import (
	"math"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

func TestColumnLimits_BrokenBy(t *testing.T) {
	latin1 := columnLimits{charset: "latin1", maxCharacters: 3, nullable: true}
	small := columnLimits{min: math.MinInt16, max: math.MaxInt16}
	for name, c := range map[string]struct {
		limits columnLimits
		value  any
		want   string
	}{
		"NULL":                           {latin1, nil, ""},
		"NULL in a column that has none": {small, nil, columnrule.NotNull},
		"text that fits":                 {latin1, "åÅ€", ""},
		"too long":                       {latin1, "four", columnrule.Max},
		"too long by spaces alone":       {latin1, "abc ", columnrule.Max},
		"not of the character set":       {latin1, "東", columnrule.Charset},
		"neither that nor short enough":  {latin1, strings.Repeat("東", 4), columnrule.Charset},
		"of a set that nobody knows":     {columnLimits{charset: "gbk", maxCharacters: 3}, "東", ""},
		"greatest number":                {small, int32(math.MaxInt16), ""},
		"number too great":               {small, int32(math.MaxInt16 + 1), columnrule.Range},
		"number too small":               {small, int32(math.MinInt16 - 1), columnrule.Range},
		"number in what holds no number": {latin1, int32(math.MaxInt32), ""},
	} {
		if got := c.limits.brokenBy(c.value); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestRangeOf(t *testing.T) {
	for columnType, want := range map[string][2]int64{
		"tinyint":            {-128, 127},
		"smallint unsigned":  {0, math.MaxUint16},
		"mediumint":          {-1 << 23, 1<<23 - 1},
		"int":                {math.MinInt32, math.MaxInt32},
		"int(11)":            {math.MinInt32, math.MaxInt32},
		"int unsigned":       {0, math.MaxUint32},
		"bigint":             {math.MinInt64, math.MaxInt64},
		"bigint unsigned":    {0, math.MaxInt64},
		"varchar(64)":        {0, 0},
		"decimal(10,0)":      {0, 0},
		"date":               {0, 0},
		"point":              {0, 0},
		"enum('int','date')": {0, 0},
	} {
		if low, high := rangeOf(columnType); low != want[0] || high != want[1] {
			t.Errorf("%s: got %d to %d, want %d to %d", columnType, low, high, want[0], want[1])
		}
	}
}
