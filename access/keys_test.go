package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clock is one that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func mustKey(t testing.TB, name string, scopes Scopes, expires time.Time) (secret string, line string) {
	t.Helper()
	secret, key, err := NewKey(name, scopes, expires)
	if err != nil {
		t.Fatal(err)
	}
	return secret, key.String()
}

func writeFile(t testing.TB, path string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reasonOf is the reason of a *RefusedError, and empty without an error.
func reasonOf(t testing.TB, err error) string {
	t.Helper()
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("got %v, want a *RefusedError", err)
	}
	if refused == nil {
		return ""
	}
	return refused.Reason
}

func TestKeys(t *testing.T) {
	clock := newClock()
	billing, billingLine := mustKey(t, "billing", Read|Write, time.Time{})
	rotated, rotatedLine := mustKey(t, "billing", Read, time.Time{})
	ending, endingLine := mustKey(t, "auditor", Read, clock.at.Add(time.Hour))
	ended, endedLine := mustKey(t, "intern", Read, clock.at)
	unknown, _ := mustKey(t, "billing", Admin, time.Time{})
	path := filepath.Join(t.TempDir(), "keys")
	writeFile(t, path, "# of the team\r", "", "  "+billingLine+"  ", rotatedLine, endingLine, endedLine)
	keys, err := OpenKeys(path, clock.now)
	if err != nil {
		t.Fatal(err)
	}
	gate := &Gate{Keys: keys}
	for _, c := range []struct {
		name, secret string
		want         Principal
		reason       string
	}{
		{"good", billing, Principal{KindKey, "billing", Read | Write}, ""},
		{"the other one while keys change", rotated, Principal{KindKey, "billing", Read}, ""},
		{"before its end", ending, Principal{KindKey, "auditor", Read}, ""},
		{"at its end", ended, Principal{}, "the API key has expired"},
		{"unknown", unknown, Principal{}, "the API key is not known, or not any more"},
		{"one character less", billing[:len(billing)-1], Principal{}, "the API key is not known, or not any more"},
		{"one character more", billing + "A", Principal{}, "the API key is not known, or not any more"},
		{"prefix alone", keyPrefix, Principal{}, "the API key is not known, or not any more"},
		{"nothing", "", Principal{}, "there is no key or token behind Bearer"},
		{"hash instead of key", strings.Fields(billingLine)[2], Principal{}, "it is no API key"},
		{"token", "e30.e30.e30", Principal{}, "it is no API key"},
		{"huge", keyPrefix + strings.Repeat("A", maxBearerBytes), Principal{}, "it is longer than 8192 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			grant, err := gate.Bearer(t.Context(), c.secret)
			if got := reasonOf(t, err); got != c.reason {
				t.Errorf("got the reason %q, want %q", got, c.reason)
			}
			if err == nil && grant.Principal != c.want {
				t.Errorf("got %+v, want %+v", grant.Principal, c.want)
			}
		})
	}
}

func TestKeys_GrantEndsWithTheKey(t *testing.T) {
	clock := newClock()
	_, other := mustKey(t, "other", Read, time.Time{})
	removed, removedLine := mustKey(t, "removed", Read, time.Time{})
	ending, endingLine := mustKey(t, "ending", Read, clock.at.Add(time.Minute))
	path := filepath.Join(t.TempDir(), "keys")
	writeFile(t, path, other, removedLine, endingLine)
	keys, err := OpenKeys(path, clock.now)
	if err != nil {
		t.Fatal(err)
	}
	var grants []*Grant
	for _, secret := range []string{removed, ending} {
		grant, err := (&Gate{Keys: keys}).Bearer(t.Context(), secret)
		if err != nil || grant.Check() != nil {
			t.Fatal(err, grant.Check())
		}
		grants = append(grants, grant)
	}
	writeFile(t, path, other, endingLine)
	if err := keys.Load(); err != nil {
		t.Fatal(err)
	}
	clock.at = clock.at.Add(time.Minute)
	for i, want := range []string{"the API key is not known, or not any more", "the API key has expired"} {
		if got := reasonOf(t, grants[i].Check()); got != want {
			t.Errorf("%s: got %q, want %q", grants[i], got, want)
		}
	}
}

func TestKeys_BrokenFile_KeepsWhatWasThere(t *testing.T) {
	secret, line := mustKey(t, "billing", Read, time.Time{})
	path := filepath.Join(t.TempDir(), "keys")
	writeFile(t, path, line)
	keys, err := OpenKeys(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, line, "oops")
	if err := keys.Load(); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("got %v, want an error that names line 2", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := keys.Load(); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want that the file is not there, without its path", err)
	}
	if _, err := keys.find(secret); err != nil || keys.Len() != 1 {
		t.Errorf("got %v and %d keys, want the one that was there", err, keys.Len())
	}
}

func TestParseKeys_WrongLines_QuoteNothing(t *testing.T) {
	secret, line := mustKey(t, "billing", Read, time.Time{})
	sum := sha256.Sum256([]byte("x"))
	hash := hashPrefix + hex.EncodeToString(sum[:])
	for text, want := range map[string]string{
		"billing":                                             "expected NAME SCOPES sha256:HASH [EXPIRES]",
		"billing read " + hash + " a b":                       "expected NAME SCOPES",
		"billing " + hash:                                     "expected NAME SCOPES",
		"billing root " + hash:                                "scopes must be read, write and admin",
		"billing read,,write " + hash:                         "scopes must be",
		"billing read sha256:secret":                          "the third field must be sha256: and 64 hexadecimal digits",
		"billing read secret":                                 "the third field must be",
		"billing read " + hash[:70]:                           "the third field must be",
		"billing read " + hash + " 2027":                      "the fourth field must be a time such as",
		"billing read " + hash + " 0001-01-01T00:00:00Z":      "line 1: the fourth field is in the year 1 or before",
		"billing read " + hash + " 0001-12-31T00:00:00Z":      "the fourth field is in the year 1 or before",
		"billing read " + hash + " 0001-01-01T00:00:00+01:00": "the fourth field is in the year 1 or before",
		"\xef\xbb\xbf" + line:                                 "line 1: it begins with a byte order mark (BOM)",
		"\xff\xfeb\x00":                                       "line 1: it begins with a byte order mark (BOM)",
		"# x\n" + line + strings.Repeat(" ", maxKeyLineBytes): "line 2: it is longer than 4096 bytes",
		"bílling read " + hash:                                "a name must be 1 to 255 printable ASCII",
		"billing read " + secret:                              "it holds a key itself",
		secret + " read " + hash:                              "it holds a key itself",
		line + "\n" + line:                                    "line 2: the key is that of line 1",
	} {
		keys, err := parseKeys([]byte(text + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, %v, want an error with %q", text, keys, err, want)
			continue
		}
		for _, hidden := range []string{secret, "secret", hash} {
			if strings.Contains(err.Error(), hidden) {
				t.Errorf("%q shows what is in the file", err)
			}
		}
	}
}

// A write that ends early may end behind the hash, where a key that never ends does.
func TestParseKeys_CutOff_IsNoFile(t *testing.T) {
	_, line := mustKey(t, "billing", Read, time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC))
	text := "# of the team\n" + line + "\n"
	for n := range text {
		whole := n == 0 || text[n-1] == '\n'
		keys, err := parseKeys([]byte(text[:n]))
		if whole {
			if err != nil || len(keys) != 0 {
				t.Errorf("the first %d bytes: got %v, %v, want a file without keys", n, keys, err)
			}
			continue
		}
		const want = "is not complete: it ends without a newline; write the file anew and rename it into place"
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("the first %d bytes: got %v, %v, want that a line %s", n, keys, err, want)
		}
	}
	if keys, err := parseKeys([]byte(text)); err != nil || len(keys) != 1 {
		t.Errorf("all of it: got %v, %v, want a key", keys, err)
	}
}

func TestParseKeys_TooMany(t *testing.T) {
	var many strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&many, "k read %s%064x\n", hashPrefix, i)
	}
	for want, text := range map[string]string{
		"more than 10000 keys":        many.String(),
		"longer than 1048576 bytes":   strings.Repeat("# many\n", maxKeysBytes/7+1),
		"line 1: it is longer than 4": strings.Repeat("a", maxKeysBytes-1) + "\n",
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeys(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestNewKey(t *testing.T) {
	expires := time.Date(2027, 1, 31, 1, 0, 0, 5, time.FixedZone("", 3600))
	secret, line := mustKey(t, "billing", Write|Admin, expires)
	if len(secret) != len(keyPrefix)+43 || !strings.HasPrefix(line, "billing write,admin sha256:") || !strings.HasSuffix(line, " 2027-01-31T00:00:00Z") {
		t.Errorf("got %q and %q", secret, line)
	}
	keys, err := parseKeys([]byte(line + "\n"))
	if err != nil || len(keys) != 1 || keys[0].Hash != sha256.Sum256([]byte(secret)) || keys[0].String() != line {
		t.Errorf("got %v, %v of its own line", keys, err)
	}
	if again, _ := mustKey(t, "billing", Write, time.Time{}); again == secret {
		t.Error("got the same key twice")
	}
	for _, name := range []string{"", "a b", "#a", "ä", "ndbgate_a", strings.Repeat("a", 256)} {
		if _, _, err := NewKey(name, Read, time.Time{}); err == nil {
			t.Errorf("%q: got no error", name)
		}
	}
}

func TestParseScopes(t *testing.T) {
	for text, want := range map[string]Scopes{
		"read": Read, "write,read": Read | Write, "admin": Admin, "read,write,admin": Read | Write | Admin, "read,read": Read,
		"": 0, "read,": 0, "Read": 0, "read write": 0, "none": 0, " read": 0,
	} {
		if got, err := ParseScopes(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	if got := Scopes(0).String(); got != "none" {
		t.Errorf("got %q, want none", got)
	}
}

func FuzzParseKeys(f *testing.F) {
	secret, line := mustKey(f, "billing", Read, time.Now())
	f.Add(line + "\n")
	f.Add("# x\n\n" + line + "\n" + secret + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parseKeys([]byte(text))
		if err != nil {
			return
		}
		var lines []string
		for i := range keys {
			lines = append(lines, keys[i].String()+"\n")
		}
		if again, err := parseKeys([]byte(strings.Join(lines, ""))); err != nil || len(again) != len(keys) {
			t.Errorf("got %v, %v of what it has read, want %v", again, err, keys)
		}
	})
}

func BenchmarkKeys(b *testing.B) {
	secret, line := mustKey(b, "billing", Read, time.Time{})
	lines := []string{line}
	for range 1000 {
		_, line := mustKey(b, "other", Read, time.Time{})
		lines = append(lines, line)
	}
	path := filepath.Join(b.TempDir(), "keys")
	writeFile(b, path, lines...)
	keys, err := OpenKeys(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	gate := &Gate{Keys: keys}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gate.Bearer(b.Context(), secret); err != nil {
			b.Fatal(err)
		}
	}
}
