package rowformat_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ndbgate/ndbgate/api/rowformat"
)

const maxBytes = 16

// readLines notes what Next returns until the end.
func readLines(r io.Reader) (got []string) {
	for l := rowformat.NewLines(r, maxBytes); ; {
		line, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return got
		case errors.Is(err, rowformat.ErrTooLong):
			got = append(got, "too long")
		case err != nil:
			return append(got, err.Error())
		default:
			got = append(got, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	full := strings.Repeat("x", maxBytes)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"none":                         {"", nil},
		"one":                          {"a\n", []string{"a"}},
		"without its end":              {"a\nb", []string{"a", "b"}},
		"empty ones":                   {"\n\na\n\n", []string{"", "", "a", ""}},
		"CR LF":                        {"a\r\n\r\nb\r\n", []string{"a", "", "b"}},
		"CR alone is a character":      {"a\rb\n\r", []string{"a\rb", "\r"}},
		"byte order mark":              {"\xef\xbb\xbfa\nb\n", []string{"a", "b"}},
		"only that":                    {"\xef\xbb\xbf", []string{""}},
		"later it is a character":      {"a\n\xef\xbb\xbfb\n", []string{"a", "\xef\xbb\xbfb"}},
		"as long as may be":            {full + "\n" + full + "\r\n" + full, []string{full, full, full}},
		"as long, and a mark":          {"\xef\xbb\xbf" + full + "\r\n", []string{full}},
		"one byte longer":              {full + "x\na\n", []string{"too long", "a"}},
		"far longer":                   {"a\n" + strings.Repeat(full, 10) + "\nb\n", []string{"a", "too long", "b"}},
		"far longer without its end":   {strings.Repeat(full, 10), []string{"too long"}},
		"longer by what the end takes": {full + "xy\n\n", []string{"too long", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			for form, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.text), "byte by byte": iotest.OneByteReader(strings.NewReader(c.text)),
			} {
				if got := readLines(r); !slices.Equal(got, c.want) {
					t.Errorf("%s: got %q, want %q", form, got, c.want)
				}
			}
		})
	}
}

func TestLines_OfAStreamThatBreaks(t *testing.T) {
	broken := iotest.ErrReader(errors.New("broken"))
	for text, want := range map[string][]string{
		"a\nb":                           {"a", "broken"},
		"a\n" + strings.Repeat("x", 100): {"a", "too long", "broken"},
	} {
		if got := readLines(io.MultiReader(strings.NewReader(text), broken)); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLines_AreNumbered(t *testing.T) {
	l := rowformat.NewLines(strings.NewReader("a\n"+strings.Repeat("x", 100)+"\n\nd"), maxBytes)
	for want := 1; ; want++ {
		if _, err := l.Next(); errors.Is(err, io.EOF) {
			break
		}
		if got := l.Line(); got != want {
			t.Errorf("got line %d, want %d", got, want)
		}
	}
	if got := l.Line(); got != 4 {
		t.Errorf("got %d lines, want 4", got)
	}
}
