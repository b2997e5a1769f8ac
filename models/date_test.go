package models_test

import (
	"encoding/json"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

func TestParseDate(t *testing.T) {
	for _, text := range []string{"0001-01-01", "1000-01-01", "1900-02-28", "2000-02-29", "2024-02-29", "2026-11-30", "9999-12-31"} {
		d, err := models.ParseDate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := d.String(); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
		if d.IsZero() {
			t.Errorf("%s: is zero", text)
		}
	}
	for _, text := range []string{
		"", "2020", "2020-1-1", "20-01-01", "2020-01-01 ", " 2020-01-01", "2020/01/01", "2020-01-01T00:00:00Z",
		"2020-00-01", "2020-13-01", "2020-01-00", "2020-01-32", "2020-04-31", "2021-02-29", "1900-02-29", "0000-00-00", "0000-01-01",
		"-001-01-01", "+020-01-01", "2020-0a-01", "２020-01-01", "20200-1-01",
	} {
		if d, err := models.ParseDate(text); err == nil || !d.IsZero() {
			t.Errorf("%q: got %v, error %v; want an error", text, d, err)
		}
	}
}

func TestNewDate(t *testing.T) {
	d, err := models.NewDate(2024, 2, 29)
	if err != nil || d.Year() != 2024 || d.Month() != 2 || d.Day() != 29 {
		t.Errorf("got %v, error %v", d, err)
	}
	for _, c := range [][3]int{{0, 1, 1}, {10000, 1, 1}, {-1, 1, 1}, {2020, 0, 1}, {2020, 13, 1}, {2020, 1, 0}, {2023, 2, 29}, {66537, 1, 1}, {2020, 257, 1}} {
		if d, err := models.NewDate(c[0], c[1], c[2]); err == nil {
			t.Errorf("%v: got %v, want an error", c, d)
		}
	}
}

func TestDate_Compare(t *testing.T) {
	ordered := []string{"0001-12-31", "1999-12-31", "2000-01-01", "2000-01-02", "2000-02-01", "2001-01-01"}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := date(t, a).Compare(date(t, b)); got != want {
				t.Errorf("%s and %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestDate_JSON(t *testing.T) {
	var got struct{ D *models.Date }
	if err := json.Unmarshal([]byte(`{"D":"2020-02-29"}`), &got); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil || string(text) != `{"D":"2020-02-29"}` {
		t.Errorf("got %s, error %v", text, err)
	}
	for _, bad := range []string{`{"D":"2021-02-29"}`, `{"D":""}`, `{"D":20200229}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s: got no error", bad)
		}
	}
}

func TestDate_Scan(t *testing.T) {
	for _, c := range []struct {
		src  any
		want string
		is   bool // of the calendar
	}{
		{"2020-02-29", "2020-02-29", true},
		{[]byte("9999-12-31"), "9999-12-31", true},
		{"0000-00-00", "0000-00-00", false},
		{"2020-05-00", "2020-05-00", false},
		{"2020-00-17", "2020-00-17", false},
		{"2020-02-31", "2020-02-31", false},
		{"2020-99-31", "0000-00-00", false}, // which no column holds
	} {
		d := date(t, "1111-11-11")
		if err := d.Scan(c.src); err != nil {
			t.Errorf("%v: %v", c.src, err)
		}
		if d.String() != c.want || d.InCalendar() != c.is {
			t.Errorf("%v: got %v, of the calendar %v; want %q, %v", c.src, d, d.InCalendar(), c.want, c.is)
		}
	}
	for _, src := range []any{nil, 20200229, "2020-02-29 00:00:00", "", []byte("x")} {
		d := date(t, "1111-11-11")
		if err := d.Scan(src); err == nil {
			t.Errorf("%v: got no error", src)
		}
	}
}

func TestDate_Value(t *testing.T) {
	got, err := date(t, "2020-02-29").Value()
	if err != nil || got != "2020-02-29" {
		t.Errorf("got %v, error %v", got, err)
	}
}

func date(t *testing.T, text string) models.Date {
	t.Helper()
	d, err := models.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func ptr[T any](v T) *T { return &v }
