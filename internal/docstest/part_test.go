package docstest

import "testing"

func TestReplacePart(t *testing.T) {
	const begin, end = "<!-- table: made of code by make generate -->\n", "<!-- end of table -->\n"
	tests := []struct {
		page, want string
		fails      bool
	}{
		{page: "a\n" + begin + end + "b\n", want: "a\n" + begin + "\nnew\n\n" + end + "b\n"},
		{page: "a\n" + begin + "\nold\n\n" + end + "b\n", want: "a\n" + begin + "\nnew\n\n" + end + "b\n"},
		{page: "a\n", fails: true},
		{page: begin, fails: true},
		{page: end + begin, fails: true},
	}
	for _, test := range tests {
		got, err := replacePart(test.page, "table", "new\n")
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%q: got %q and %v, want %q", test.page, got, err, test.want)
		}
	}
}
