package api

import (
	"bytes"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// FuzzBatchBody: whatever a body is, it is refused, or its items are sound but for
// those that are known to be broken.
func FuzzBatchBody(f *testing.F) {
	for _, seed := range []string{
		`{"ids":[1,2,2]}`, `{"ids":[0,-1,9223372036854775808,1.5,"x"],"partial":true}`, `{"employees":[{},{"id":5},{"id":5,"first":"A"}]}`,
		`{"partial":true,"employees":[{"department":0},{"id":3,"started":"2020-02-30"}]}`, `{"updates":[{"id":1,"city":null},{"first":"x"}],"chunk":2}`,
		`{"chunk":0,"partial":1,"x":[{}]}`, `[]`, ``, `{"ids":[`, `{"employees":{}}`, `{"updates":[7]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, newBody := range []func() *batchBody{newGetBatch, newDeleteBatch, newCreateBatch, newUpdateBatch} {
			b := newBody()
			b.broken, b.lease = map[int][]fault{}, (&itemBudget{max: 1 << 20}).lease()
			err := b.decode(bytes.NewReader(body))
			if err == nil {
				err = b.check(store.NewIDs(nil))
			}
			if err == nil {
				checkSound(t, b)
			}
		}
	})
}

func checkSound(t *testing.T, b *batchBody) {
	seen := map[int64]bool{}
	for i, id := range b.ids {
		if len(b.broken[i]) > 0 {
			if !b.partial {
				t.Fatalf("item %d is broken, and the batch was taken", i)
			}
			continue
		}
		if id < 1 || b.writes && seen[id] {
			t.Fatalf("item %d has the id %d", i, id)
		}
		seen[id] = true
		if b.employees != nil && (b.employees[i].ID != id || b.employees[i].Validate() != nil) {
			t.Fatalf("item %d: got %+v", i, b.employees[i])
		}
		if b.updates != nil && (b.updates[i].ID != id || b.updates[i].Patch.Validate() != nil) {
			t.Fatalf("item %d: got %+v", i, b.updates[i])
		}
	}
	if n := len(b.ids); n < 1 || n > models.MaxBatchItems || b.chunk < 0 || b.chunk > models.MaxBatchItems {
		t.Fatalf("got %d items, chunk %d", n, b.chunk)
	}
}
