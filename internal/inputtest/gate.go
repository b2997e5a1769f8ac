package inputtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

// Gate is access control with a key of each kind.
type Gate struct {
	*access.Gate
	All, Reader, Writer, Expired string
}

// NewGate keeps its file in a directory of the test.
func NewGate(t testing.TB) *Gate {
	t.Helper()
	g := &Gate{}
	var file strings.Builder
	for _, k := range []struct {
		secret  *string
		name    string
		scopes  access.Scopes
		expires time.Time
	}{
		{&g.All, "all", access.Read | access.Write | access.Admin, time.Time{}},
		{&g.Reader, "reader", access.Read, time.Time{}},
		{&g.Writer, "writer", access.Write, time.Time{}},
		{&g.Expired, "expired", access.Read, time.Now().Add(-time.Hour)},
	} {
		secret, key, err := access.NewKey(k.name, k.scopes, k.expires)
		if err != nil {
			t.Fatal(err)
		}
		*k.secret = secret
		file.WriteString(key.String() + "\n")
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := access.OpenKeys(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Gate = &access.Gate{Keys: keys}
	return g
}

// fill puts keys into a header.
func (g *Gate) fill(line string) string {
	return strings.NewReplacer("{all}", g.All, "{reader}", g.Reader, "{writer}", g.Writer, "{expired}", g.Expired).Replace(line)
}
