package program

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxQuoted is how much of a wrong value a message repeats.
const maxQuoted = 80

// quoteHarmless quotes a value for a message, unless it looks like a DSN that
// strayed into the wrong setting.
func quoteHarmless(value string) string {
	if colon := strings.IndexByte(value, ':'); colon >= 0 && strings.LastIndexByte(value, '@') > colon {
		return "(not shown: it looks like a DSN)"
	}
	if runes := []rune(value); len(runes) > maxQuoted {
		return strconv.Quote(string(runes[:maxQuoted])) + "..."
	}
	return strconv.Quote(value)
}

var plainWord = regexp.MustCompile(`^-{0,2}[A-Za-z][A-Za-z0-9_-]{0,40}$`)

// nameArgument names the argument at index i for a message. It quotes plain
// words only: the second of two DSNs without quotes around them is an argument
// of its own.
func nameArgument(i int, arg string) string {
	if plainWord.MatchString(arg) {
		return strconv.Quote(arg)
	}
	return fmt.Sprintf("number %d", i+1)
}

// hint proposes the name that is nearest to a wrong one, or nothing where none
// is near.
func hint(wrong, prefix string, names []string) string {
	wrong = strings.ToLower(strings.ReplaceAll(strings.TrimLeft(wrong, "-"), "_", "-"))
	best, bestDistance := "", 2+len(wrong)/3
	for _, name := range names {
		if d := editDistance(wrong, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + prefix + best + "?"
}

// editDistance counts the bytes to insert, delete or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
