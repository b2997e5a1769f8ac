package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseFilter_MeansWhatItSays(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "TRUE",
		" \t\n":                      "TRUE",
		`city = "Oslo"`:              `city = "Oslo"`,
		`city="Oslo"`:                `city = "Oslo"`,
		`city = 'Oslo'`:              `city = "Oslo"`,
		`city = Oslo`:                `city = "Oslo"`,
		`city != "Oslo"`:             `city != "Oslo"`,
		`id > 5`:                     `id > 5`,
		`id>=-5`:                     `id >= -5`,
		`id = -9223372036854775808`:  `id = -9223372036854775808`,
		`department <= 2147483647`:   `department <= 2147483647`,
		`started < "2020-02-29"`:     `started < "2020-02-29"`,
		`started < 2020-02-29`:       `started < "2020-02-29"`,
		`city = ""`:                  `city = ""`,
		`city = "it's \"x\" \\"`:     `city = "it's \"x\" \\"`,
		`city = 'it\'s "x"'`:         `city = "it's \"x\""`,
		`city = "a\nb\r\t\u00e5"`:    `city = "a\nb\r\tå"`,
		`city = "Ås 東京"`:             `city = "Ås 東京"`,
		`ended = null`:               `ended = null`,
		`ended != null`:              `ended != null`,
		`department = null`:          `department = null`,
		`city = "null"`:              `city = "null"`,
		`city = "city"`:              `city = "city"`,
		`city = AND2`:                `city = "AND2"`,
		`ended:*`:                    `ended != null`,
		`ended : *`:                  `ended != null`,
		`ended:"*"`:                  `ended != null`,
		`first = "A*"`:               `like(first, "A%")`,
		`first = A*`:                 `like(first, "A%")`,
		`first != "*a*b"`:            `NOT like(first, "%a%b")`,
		`first = "*"`:                `like(first, "%")`,
		`first = "50%_\\*"`:          `like(first, "50\\%\\_\\\\%")`,
		`first = "a\*b"`:             `first = "a\*b"`,
		`first = "a\**"`:             `like(first, "a*%")`,
		`first < "A*"`:               `first < "A*"`,
		`in(first, "A*")`:            `first = "A\*"`,
		`like(last, "_erg\\%%")`:     `like(last, "_erg\\%%")`,
		`NOT like(last, "B")`:        `NOT like(last, "B")`,
		`in(department, 1,2 , 3)`:    `department = 1 OR department = 2 OR department = 3`,
		`NOT in(department, 1, 2)`:   `department != 1 AND department != 2`,
		`between(id, 1, 9)`:          `id >= 1 AND id <= 9`,
		`NOT between(id, 1, 9)`:      `id < 1 OR id > 9`,
		`NOT city = "a"`:             `city != "a"`,
		`NOT(city = "a")`:            `city != "a"`,
		`-city = "a"`:                `city != "a"`,
		`-(city = a OR id = 1)`:      `city != "a" AND id != 1`,
		`NOT ended:*`:                `ended = null`,
		`NOT (NOT id < 5)`:           `id < 5`,
		`((id = 1))`:                 `id = 1`,
		`( id = 1 )`:                 `id = 1`,
		`id = 1 AND id = 2`:          `id = 1 AND id = 2`,
		`id = 1 OR id = 2`:           `id = 1 OR id = 2`,
		`id=1 AND id=2 OR id=3`:      `id = 1 AND (id = 2 OR id = 3)`,
		`id=1 OR id=2 AND id=3`:      `(id = 1 OR id = 2) AND id = 3`,
		`(id=1 AND id=2) OR id=3`:    `(id = 1 AND id = 2) OR id = 3`,
		`id=1 AND (id=2 AND id=3)`:   `id = 1 AND id = 2 AND id = 3`,
		`NOT (id=1 AND city != "x")`: `id != 1 OR city = "x"`,
		"id=1\nAND\tid=2":            `id = 1 AND id = 2`,
		`NOT id = 1 AND id = 2`:      `id != 1 AND id = 2`,
		strings.Repeat("(", maxFilterDepth) + "id=1" + strings.Repeat(")", maxFilterDepth): `id = 1`,
		`in(id` + strings.Repeat(",1", maxFilterTerms) + `)`:                               strings.Repeat("id = 1 OR ", maxFilterTerms-1) + "id = 1",
		`city = "` + strings.Repeat("x", maxFilterBytes-9) + `"`:                           `city = "` + strings.Repeat("x", maxFilterBytes-9) + `"`,
	} {
		f, err := parseFilter(text)
		if err != nil {
			t.Errorf("%.80s: %v", text, err)
			continue
		}
		got := f.Normal().String()
		if got != want {
			t.Errorf("%.80s: got %.200s, want %.200s", text, got, want)
		}
		if again, err := parseFilter(got); got != "TRUE" && (err != nil || again.Normal().String() != got) {
			t.Errorf("%.80s: what it means cannot be read: got %v, error %v", text, again, err)
		}
	}
}

// badFilters are by their text; after it come the code, the position, and a part
// of the message.
var badFilters = []struct {
	text     string
	code     string
	position int
	message  string
}{
	{`Oslo`, "unsupported", 1, "Oslo stands alone"},
	{`"Oslo"`, "unsupported", 1, "stands alone"},
	{`city = "a" Oslo`, "syntax", 12, "AND, OR or the end is expected, but got Oslo"},
	{`city`, "syntax", 5, "is expected behind city, but got the end"},
	{`city "Oslo"`, "syntax", 6, "is expected behind city"},
	{`town = "Oslo"`, "unknown", 1, "there is no property town; there are id, first"},
	{`City = "Oslo"`, "unknown", 1, "no property City"},
	{`municipality = "Oslo"`, "unknown", 1, "no property municipality"},
	{`city.name = "Oslo"`, "unknown", 1, "no property city.name"},
	{`"city" = "Oslo"`, "unsupported", 1, "stands alone"},
	{`city =`, "syntax", 7, "a value of city is expected, but got the end"},
	{`city = AND id = 1`, "syntax", 8, "a value of city is expected, but got AND"},
	{`= "Oslo"`, "syntax", 1, "a property, a function, NOT or ( is expected, but got ="},
	{`city == "Oslo"`, "syntax", 6, "there is no =="},
	{`city <> "Oslo"`, "syntax", 6, "there is no <>"},
	{`city ! "Oslo"`, "syntax", 6, "only known in !="},
	{`city = "Oslo`, "syntax", 8, "has no end"},
	{`city = 'Oslo"`, "syntax", 8, "has no end"},
	{`city = "a\"`, "syntax", 8, "has no end"},
	{`city = "a\q"`, "syntax", 10, `\ must be followed by`},
	{`city = "a\u12"`, "syntax", 10, `\ must be followed by`},
	{`city = "a\ud800"`, "syntax", 10, `\ must be followed by`},
	{`city = "a\`, "syntax", 10, `\ must be followed by`},
	{"city = \"\xff\"", "syntax", 0, "UTF-8"},
	{`city = "Ås" AND foo = 1`, "unknown", 17, "no property foo"},
	{`city = last`, "unsupported", 8, "two properties cannot be compared"},
	{`city < null`, "unsupported", 6, "null has no order"},
	{`in(city, null)`, "type", 10, "null is no value"},
	{`city : "Os"`, "unsupported", 8, ":* asks whether"},
	{`city:`, "unsupported", 6, ":* asks whether"},
	{`id = "5"`, "type", 6, "numbers have no quotes"},
	{`id = 5.0`, "type", 6, "must be an integer"},
	{`id = 010`, "type", 6, "must be an integer"},
	{`id = 0x10`, "type", 6, "must be an integer"},
	{`id = 1e3`, "type", 6, "must be an integer"},
	{`id = 9223372036854775808`, "type", 6, "must be an integer"},
	{`department = 2147483648`, "type", 14, "to 2147483647"},
	{`department = two`, "type", 14, "must be an integer"},
	{`started = "2020-02-30"`, "type", 11, "must be a date of the calendar"},
	{`started = "0000-00-00"`, "type", 11, "must be a date of the calendar"},
	{`started = 2020`, "type", 11, "YYYY-MM-DD"},
	{`started = "2020-*"`, "type", 11, "YYYY-MM-DD"},
	{`id = 1 and id = 2`, "syntax", 8, "write AND in capitals"},
	{`id = 1 or id = 2`, "syntax", 8, "write OR in capitals"},
	{`not id = 1`, "unsupported", 1, "not stands alone"},
	{`id = 1 id = 2`, "syntax", 8, "AND, OR or the end is expected, but got id"},
	{`id = 1 AND`, "syntax", 11, "but got the end"},
	{`id = 1 OR AND`, "syntax", 11, "but got AND"},
	{`AND id = 1`, "syntax", 1, "but got AND"},
	{`NOT`, "syntax", 4, "but got the end"},
	{`NOT NOT id = 1`, "syntax", 5, "needs parentheses"},
	{`- -id = 1`, "syntax", 3, "needs parentheses"},
	{`(id = 1`, "syntax", 8, "AND, OR or ) is expected, but got the end"},
	{`id = 1)`, "syntax", 7, "no ( for this )"},
	{`()`, "syntax", 2, "but got )"},
	{`id = (1)`, "syntax", 6, "a value of id is expected, but got ("},
	{`id = 1, 2`, "syntax", 7, "but got ,"},
	{`max(id)`, "unknown", 1, "there is no function max; there are in, between and like"},
	{`IN(id, 1)`, "unknown", 1, "there is no function IN"},
	{`in()`, "unknown", 4, "no property )"},
	{`in(id)`, "syntax", 6, "at least one value"},
	{`in(id,)`, "syntax", 7, "a value of id is expected, but got )"},
	{`in(id, 1 2)`, "syntax", 10, ", or ) is expected in in(), but got 2"},
	{`in(id, 1`, "syntax", 9, ", or ) is expected in in(), but got the end"},
	{`in(1, 2)`, "unknown", 4, "no property 1"},
	{`between(id, 1)`, "syntax", 14, "2 values, not 1"},
	{`between(id, 1, 2, 3)`, "syntax", 20, "2 values, not 3"},
	{`between(city, 1)`, "syntax", 16, "2 values"},
	{`like(id, "1%")`, "type", 6, "like is for text"},
	{`like(city)`, "syntax", 10, "a pattern, not 0"},
	{`like(city, "a", "b")`, "syntax", 20, "a pattern, not 2"},
	{strings.Repeat("(", maxFilterDepth+1) + "id=1" + strings.Repeat(")", maxFilterDepth+1), "limit", maxFilterDepth + 1, "may be 20 deep"},
	{strings.Repeat("NOT (", maxFilterDepth/2) + "-id=1" + strings.Repeat(")", maxFilterDepth/2), "limit", 5*maxFilterDepth/2 + 1, "may be 20 deep"},
	{strings.Repeat("id=1 AND ", maxFilterTerms) + "id=1", "limit", 9*maxFilterTerms + 3, "there may be 100 comparisons"},
	{`in(id` + strings.Repeat(",1", maxFilterTerms+1) + `)`, "limit", 7 + 2*maxFilterTerms, "there may be 100 comparisons"},
	{`city = "` + strings.Repeat("x", maxFilterBytes) + `"`, "limit", 0, "longer than 4096 bytes"},
	{strings.Repeat("x", 100), "unsupported", 1, strings.Repeat("x", maxTokenShown) + "… stands alone"},
}

func TestParseFilter_BadInput_NamesThePlaceAndWhatIsAllowed(t *testing.T) {
	for _, c := range badFilters {
		t.Run(fmt.Sprintf("%.40s", c.text), func(t *testing.T) {
			f, err := parseFilter(c.text)
			var got *filterFault
			if !errors.As(err, &got) {
				t.Fatalf("got %v, error %v, want a fault", f, err)
			}
			if got.code != c.code || got.position != c.position || !strings.Contains(got.message, c.message) {
				t.Errorf("got %s at %d: %s\nwant %s at %d: …%s…", got.code, got.position, got.message, c.code, c.position, c.message)
			}
		})
	}
}

// Whatever is read means the same when it is written and read again.
func FuzzParseFilter(f *testing.F) {
	for _, text := range []string{
		`city = "Oslo" AND (department = 2 OR NOT ended = null)`, `-first = "A\*\u00e5*"`, `in(id, 1, -2)`, `between(started, "2020-01-01", '2020-12-31')`,
		`like(last, "a_\\%")`, `ended:*`, `((`, `"`, `NOT NOT`, "\xff",
	} {
		f.Add(text)
	}
	for _, c := range badFilters {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseFilter(text)
		if err != nil {
			var fault *filterFault
			if !errors.As(err, &fault) || fault.position < 0 || fault.position > len(text)+1 || fault.message == "" {
				t.Fatalf("got error %#v", err)
			}
			return
		}
		meaning := got.String()
		again, err := parseFilter(meaning)
		var fault *filterFault
		switch {
		case meaning == "TRUE":
		case errors.As(err, &fault) && fault.code == "limit": // escaping and parentheses make it longer
		case err != nil:
			t.Fatalf("%q means %q, which cannot be read: %v", text, meaning, err)
		case again.Normal().String() != got.Normal().String():
			t.Fatalf("%q means %q, which means %q", text, got.Normal(), again.Normal())
		}
	})
}

func BenchmarkParseFilter(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseFilter(`city = "Oslo" AND (department = 2 OR department = 3) AND NOT first = "A*"`); err != nil {
			b.Fatal(err)
		}
	}
}
