package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

func TestKeysNew_TheLineIsForTheFile_TheKeyForTheCaller(t *testing.T) {
	r := runCommand(t, nil, "keys", "new", "--name=billing", "--scopes", "write,read", "--expires=2999-12-31")
	if r.code != exitOK || !strings.HasPrefix(r.stdout, "billing read,write sha256:") || !strings.HasSuffix(r.stdout, " 3000-01-01T00:00:00Z\n") {
		t.Fatalf("got %d %q %q", r.code, r.stdout, r.stderr)
	}
	key := strings.TrimSuffix(r.stderr, "\n")
	if strings.ContainsAny(key, " \n") || !strings.HasPrefix(key, "ndbgate_") || strings.Contains(r.stdout, key) {
		t.Errorf("got %q on standard error, want the key alone", r.stderr)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(r.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := access.OpenKeys(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if grant, err := (&access.Gate{Keys: keys}).Bearer(t.Context(), key); err != nil || grant.String() != "key:billing" {
		t.Errorf("got %v, %v of the new key", grant, err)
	}
}

func TestKeysCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	var lines []string
	for _, ends := range []time.Time{{}, time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, key, err := access.NewKey("billing", access.Read, ends)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, key.String())
	}
	replace(t, file, strings.Join(lines, "\n")+"\n")
	r := runCommand(t, nil, "keys", "check", file)
	want := "billing  read  never ends\nbilling  read  until 2999-01-01T00:00:00Z\nbilling  read  has ended on 2020-01-01T00:00:00Z\n3 keys\n"
	if r.code != exitOK || r.stdout != want {
		t.Errorf("got %d %q %q, want %q", r.code, r.stdout, r.stderr, want)
	}
	replace(t, file, "x\n")
	if r := runCommand(t, nil, "keys", "check", file); r.code != exitFailure || !strings.Contains(r.stderr, file+": line 1: expected NAME") {
		t.Errorf("a wrong file: got %d %q", r.code, r.stderr)
	}
}

func TestKeys_WrongCommandLines(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"keys"}, "keys takes new or check"},
		{[]string{"keys", "mew"}, `argument "mew": keys takes new or check`},
		{[]string{"keys", "new"}, "keys new takes --name and --scopes"},
		{[]string{"keys", "new", "--name=a"}, "keys new takes --name and --scopes"},
		{[]string{"keys", "new", "--name=a b", "--scopes=read"}, "flag --name: a name must be"},
		{[]string{"keys", "new", "--name=a", "--scopes=all"}, `flag --scopes: "all": expected read, write and admin`},
		{[]string{"keys", "new", "--name=a", "--scopes=read", "--expires=2020-01-01"}, `flag --expires: "2020-01-01": expected a time to come`},
		{[]string{"keys", "new", "--name=a", "--scopes=read", "--expires=soon"}, "expected a time to come"},
		{[]string{"keys", "new", "--name=a", "--scopes=read", "x"}, "keys new takes"},
		{[]string{"keys", "check"}, "keys check takes one file"},
	} {
		if r := runCommand(t, nil, c.args...); r.code != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: got %d %q %q, want something with %q", c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
}

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-11-30": "2026-12-01T00:00:00Z", "2026-11-30T12:00:01Z": "2026-11-30T12:00:01Z", "2026-11-30T12:00:00Z": "", "2026-11-29": "", "": "",
	} {
		at, err := parseExpiry(text, now)
		if got := at.Format(time.RFC3339); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: got %s, %v, want %q", text, got, err, want)
		}
	}
}
