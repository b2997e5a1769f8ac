package ndbapi_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/storetest"
)

// openToMeasure opens a store on a real cluster, or skips the benchmark.
func openToMeasure(b *testing.B) *ndbapi.Store {
	b.Helper()
	return open(b, ndbapi.Config{Connectstring: realConnectstring(b)})
}

func BenchmarkGet(b *testing.B)    { storetest.BenchGet(b, openToMeasure(b)) }
func BenchmarkCreate(b *testing.B) { storetest.BenchCreate(b, openToMeasure(b)) }
func BenchmarkSave(b *testing.B)   { storetest.BenchSave(b, openToMeasure(b)) }
func BenchmarkPatch(b *testing.B)  { storetest.BenchPatch(b, openToMeasure(b), false) }

func BenchmarkPatchReturnRow(b *testing.B) { storetest.BenchPatch(b, openToMeasure(b), true) }

func BenchmarkDelete(b *testing.B) { storetest.BenchDelete(b, openToMeasure(b)) }
func BenchmarkBatch(b *testing.B)  { storetest.BenchBatch(b, openToMeasure(b)) }
