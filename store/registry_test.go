package store_test

import (
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/ndbgate/ndbgate/store"
)

// registryOf has unavailable backends of all names that the shares name.
func registryOf(shares ...store.Share) *store.Registry {
	r := store.NewWeightedRegistry(shares)
	for _, share := range shares {
		r.Add(share.Name, store.Unavailable{Reason: share.Name})
	}
	return r
}

func TestRegistry_SingleDefault_ServesEveryKey(t *testing.T) {
	r := store.NewRegistry("sql")
	r.Add("ndb", store.Unavailable{})
	r.Add("sql", store.Unavailable{})
	for _, key := range []string{"", "a", "9f2c61b07a4e4d05"} {
		if name, b, ok := r.Choose(key); name != "sql" || b == nil || !ok {
			t.Errorf("%q: got %s, %t, want sql", key, name, ok)
		}
	}
	if name, _, ok := r.Lookup(""); name != "sql" || !ok {
		t.Errorf("empty name: got %s, %t, want the default", name, ok)
	}
}

// The names are those that any program gets which follows the doc comment.
func TestRegistry_Choose_IsTheDocumentedHash(t *testing.T) {
	r := registryOf(store.Share{Name: "ndb", Weight: 90}, store.Share{Name: "sql", Weight: 10})
	for key, want := range map[string]string{
		"":       "ndb", // 0xe3b0c442… is 0.889 of 2^64
		"a":      "ndb", // 0xca978112… is 0.791
		"req-20": "sql", // 0xf53bde0b… is 0.958
	} {
		if got, _, ok := r.Choose(key); got != want || !ok {
			t.Errorf("%q: got %s, want %s", key, got, want)
		}
	}
}

func TestRegistry_Choose_FollowsTheWeights(t *testing.T) {
	const keys = 20_000
	for _, shares := range [][]store.Share{
		{{"ndb", 90}, {"sql", 10}},
		{{"a", 1}, {"b", 1}, {"c", 2}},
		{{"a", 10_000}, {"b", 1}},
	} {
		r, sum, got := registryOf(shares...), 0, map[string]int{}
		for _, share := range shares {
			sum += share.Weight
		}
		for i := range keys { // keys that differ little, as counters do
			name, _, _ := r.Choose("request-" + strconv.Itoa(i))
			got[name]++
		}
		for _, share := range shares {
			want := keys * share.Weight / sum
			if n := got[share.Name]; n < want-keys/50 || n > want+keys/50 {
				t.Errorf("%v: %s got %d of %d keys, want about %d", shares, share.Name, n, keys, want)
			}
		}
	}
}

func TestRegistry_Choose_GrowingLastShare_MovesKeysOnlyThere(t *testing.T) {
	before := registryOf(store.Share{Name: "ndb", Weight: 9}, store.Share{Name: "sql", Weight: 1})
	after := registryOf(store.Share{Name: "ndb", Weight: 70}, store.Share{Name: "sql", Weight: 30})
	for i := range 5000 {
		key := fmt.Sprint(i)
		was, _, _ := before.Choose(key)
		is, _, _ := after.Choose(key)
		if was == "sql" && is != "sql" {
			t.Fatalf("key %s moved from sql to %s", key, is)
		}
	}
}

func TestRegistry_Default_IsTheGreatestShare(t *testing.T) {
	for _, c := range []struct {
		shares []store.Share
		want   string
	}{
		{[]store.Share{{"ndb", 1}}, "ndb"},
		{[]store.Share{{"ndb", 10}, {"sql", 90}}, "sql"},
		{[]store.Share{{"ndb", 50}, {"sql", 50}}, "ndb"},
	} {
		r := registryOf(c.shares...)
		if got := r.Default(); got != c.want {
			t.Errorf("%v: got %s, want %s", c.shares, got, c.want)
		}
		if got := r.Defaults(); !reflect.DeepEqual(got, c.shares) {
			t.Errorf("defaults: got %v, want %v", got, c.shares)
		}
	}
}

func TestRegistry_PanicsOnMistakesOfTheProgram(t *testing.T) {
	for name, mistake := range map[string]func(){
		"no share":        func() { store.NewWeightedRegistry(nil) },
		"no weight":       func() { store.NewWeightedRegistry([]store.Share{{Name: "ndb"}}) },
		"negative weight": func() { store.NewWeightedRegistry([]store.Share{{"ndb", 2}, {"sql", -1}}) },
		"name twice":      func() { registryOf(store.Share{Name: "ndb", Weight: 1}, store.Share{Name: "ndb", Weight: 1}) },
		"no token":        func() { registryOf(store.Share{Name: "a b", Weight: 1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			mistake()
		}()
	}
}
