package rowformat_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ndbgate/ndbgate/api/rowformat"
)

const maxRecord = 64

// readRecords notes each record as its line, its fields in brackets, NULL as -.
func readRecords(r io.Reader) (got []string) {
	for c := rowformat.NewRecords(r, maxRecord); ; {
		fields, err := c.Next()
		var syntax *rowformat.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return got
		case errors.As(err, &syntax) && syntax.Fatal:
			return append(got, fmt.Sprintf("%d fatal", c.Line()))
		case errors.As(err, &syntax):
			got = append(got, fmt.Sprintf("%d wrong", c.Line()))
		case errors.Is(err, rowformat.ErrTooLong):
			got = append(got, fmt.Sprintf("%d too long", c.Line()))
		case err != nil:
			return append(got, err.Error())
		default:
			text := fmt.Sprint(c.Line(), " ")
			for _, f := range fields {
				if f.Null {
					text += "-"
				} else {
					text += "[" + string(f.Text) + "]"
				}
			}
			got = append(got, text)
		}
	}
}

func TestRecords(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"none":                             {"", nil},
		"fields":                           {"a,b,c\n", []string{"1 [a][b][c]"}},
		"CR LF":                            {"a,b\r\nc,d\r\n", []string{"1 [a][b]", "2 [c][d]"}},
		"without the last end":             {"a,b\nc,d", []string{"1 [a][b]", "2 [c][d]"}},
		"byte order mark":                  {"\xef\xbb\xbfa,b\n", []string{"1 [a][b]"}},
		"byte order mark before a quote":   {"\xef\xbb\xbf\"a\"\n", []string{"1 [a]"}},
		"nothing is NULL":                  {"a,,c\n,b,\n,\n", []string{"1 [a]-[c]", "2 -[b]-", "3 --"}},
		"quotes around nothing are not":    {`a,"",c` + "\n" + `""` + "\n", []string{"1 [a][][c]", "2 []"}},
		"spaces count":                     {" a, ,\tb\n", []string{"1 [ a][ ][\tb]"}},
		"quotes":                           {`"a","b c","d"` + "\n", []string{"1 [a][b c][d]"}},
		"commas in quotes":                 {`"a,b",",",c` + "\n", []string{"1 [a,b][,][c]"}},
		"quotes in quotes":                 {`"a""b","""","""c"""` + "\n", []string{`1 [a"b]["]["c"]`}},
		"lines in quotes":                  {"\"a\nb\",c\n\"d\r\ne\n\n\"\r\nf\n", []string{"1 [a\nb][c]", "3 [d\r\ne\n\n]", "7 [f]"}},
		"closed at the end":                {`a,"b"`, []string{"1 [a][b]"}},
		"empty lines are passed over":      {"\n\na\n\r\nb\n\n", []string{"3 [a]", "5 [b]"}},
		"a quote in the middle":            {"a,b\"c,d\ne\n", []string{"1 wrong", "2 [e]"}},
		"text behind a closing quote":      {"\"a\"b,c\nd\n", []string{"1 wrong", "2 [d]"}},
		"a space behind a closing quote":   {"\"a\" ,c\nd\n", []string{"1 wrong", "2 [d]"}},
		"a carriage return in the middle":  {"a\rb,c\nd\n", []string{"1 wrong", "2 [d]"}},
		"wrong behind lines in quotes":     {"\"a\nb\"c\nd\n", []string{"1 wrong", "3 [d]"}},
		"never closed":                     {"a\n\"b\nc\n", []string{"1 [a]", "2 fatal"}},
		"not closed for long":              {"a\n\"b\n" + strings.Repeat("c\n", maxRecord), []string{"1 [a]", "2 fatal"}},
		"a line too long in quotes":        {"\"b\n" + strings.Repeat("c", 2*maxRecord) + "\n\"\n", []string{"1 fatal"}},
		"a line too long":                  {strings.Repeat("c", 2*maxRecord) + "\na\n", []string{"1 too long", "2 [a]"}},
		"a line too long of quotes":        {strings.Repeat(`"`, 2*maxRecord) + "\na\n", []string{"1 too long", "2 [a]"}},
		"other bytes are left as they are": {"\xff\x00,é\n", []string{"1 [\xff\x00][é]"}},
	} {
		t.Run(name, func(t *testing.T) {
			for form, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.text), "byte by byte": iotest.OneByteReader(strings.NewReader(c.text)),
			} {
				if got := readRecords(r); !slices.Equal(got, c.want) {
					t.Errorf("%s: got %q, want %q", form, got, c.want)
				}
			}
		})
	}
}

func TestRecords_OfAStreamThatBreaks(t *testing.T) {
	r := io.MultiReader(strings.NewReader("a\n\"b"), iotest.ErrReader(errors.New("broken")))
	if got := readRecords(r); !slices.Equal(got, []string{"1 [a]", "broken"}) {
		t.Errorf("got %q", got)
	}
}

func appendRecord(dst []byte, fields []rowformat.Field) []byte {
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		text := f.Text
		if f.Null {
			text = nil
		} else if text == nil {
			text = []byte{}
		}
		dst = rowformat.AppendField(dst, text)
	}
	return append(dst, "\r\n"...)
}

func TestAppendField(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a": "a", " a ": " a ", "a,b": `"a,b"`, `"`: `""""`, `a"b"`: `"a""b"""`, "a\nb": "\"a\nb\"", "\r": "\"\r\"",
	} {
		if got := rowformat.AppendField([]byte("x,"), []byte(text)); string(got) != "x,"+want {
			t.Errorf("%q: got %s, want x,%s", text, got, want)
		}
	}
	if got := rowformat.AppendField([]byte("x,"), nil); string(got) != "x," {
		t.Errorf("NULL: got %s", got)
	}
}

// FuzzRecords: what is read and written again reads the same, and what the
// standard library writes is read as it reads it.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{"a,b\n", "a,\"b\n\"\"c\"\r\n,\n", "\"\",\n\n\xef\xbb\xbf", "\"a\"x\n", "a\"b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fields []rowformat.Field
		for c := rowformat.NewRecords(bytes.NewReader(data), 1<<10); ; {
			record, err := c.Next()
			if err != nil {
				break
			}
			fields = fields[:0]
			for _, field := range record {
				fields = append(fields, rowformat.Field{Text: bytes.Clone(field.Text), Null: field.Null})
			}
			sameAgain(t, fields)
		}
	})
}

func sameAgain(t *testing.T, fields []rowformat.Field) {
	text := appendRecord(nil, fields)
	if string(text) == "\r\n" { // one NULL looks like an empty line
		return
	}
	again, err := rowformat.NewRecords(io.MultiReader(strings.NewReader("\n"), bytes.NewReader(text)), 1<<20).Next()
	same := func(a, b rowformat.Field) bool { return a.Null == b.Null && bytes.Equal(a.Text, b.Text) }
	if err != nil || !slices.EqualFunc(again, fields, same) {
		t.Fatalf("%q: got %v, %v; want %v", text, again, err, fields)
	}
	theirs, err := csv.NewReader(bytes.NewReader(text)).Read()
	if err != nil {
		t.Fatalf("%q: the standard library says %v", text, err)
	}
	for i, f := range fields {
		want := strings.ReplaceAll(string(f.Text), "\r\n", "\n") // the standard library does that
		if theirs[i] != want {
			t.Fatalf("%q: the standard library reads %q, want %q", text, theirs[i], want)
		}
	}
}
