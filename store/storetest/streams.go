package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// StreamStore is a road of which streams are made.
type StreamStore interface {
	BatchStore
	store.Streams
}

// RunStreams tests the store that open returns against the contract of
// store.Streams; see Run for what it does to the table.
func RunStreams(t *testing.T, open func(t *testing.T) StreamStore) {
	road := open(t)
	s := &streamSuite{
		batchSuite: batchSuite{suite: suite{store: road, nextID: 1<<62 + rand.Int64N(1<<40)*batchIDsPerRun}, store: road},
		store:      road,
	}
	t.Run("SaveEach", s.testSaveEach)
	t.Run("SaveEach_Concurrently", s.testSaveConcurrently)
	t.Run("SaveEach_EndedContext", s.testSaveEndedContext)
}

type streamSuite struct {
	batchSuite
	store StreamStore
}

func (s *streamSuite) testSaveEach(t *testing.T) {
	for _, n := range []int{1, 2, batchRows} {
		t.Run(fmt.Sprintf("%d employees, new and then replaced", n), func(t *testing.T) {
			employees := someOf(s.newIDs(t, n))
			wantItems(t, s.store.SaveEach(testContext(t), employees), n, nil)
			s.wantRows(t, idsOf(employees), employees)
			for i := range employees {
				if i%2 == 0 {
					employees[i] = patched(employees[i].ID)
				} else {
					employees[i] = bare(employees[i].ID)
				}
			}
			for range 2 { // the second time nothing changes
				wantItems(t, s.store.SaveEach(testContext(t), employees), n, nil)
				s.wantRows(t, idsOf(employees), employees)
			}
		})
	}
	t.Run("some are there, and those that fail keep no other one from it", func(t *testing.T) {
		employees := someOf(s.newIDs(t, batchRows))
		failed := map[int]error{}
		for i := range employees {
			if i%5 == 0 {
				s.create(t, patched(employees[i].ID))
			}
		}
		stored := make([]models.Employee, len(employees))
		copy(stored, employees)
		for _, i := range []int{0, 9, 600} { // two of them are there
			failed[i] = store.ErrInvalid
			employees[i].Last = ptr("😀")
			stored[i] = patched(employees[i].ID)
		}
		got := s.store.SaveEach(testContext(t), employees)
		wantItems(t, got, len(employees), failed)
		wantInvalid(t, got[600].Err, "last", "charset")
		s.wantRows(t, idsOf(employees), without(stored, []int{9}))
	})
}

// testSaveConcurrently: one of those who write the same rows is the last for
// each row, and each row is as a whole what one of them wrote.
func (s *streamSuite) testSaveConcurrently(t *testing.T) {
	const writers, rounds, n = 4, 3, 64
	ids := s.newIDs(t, n)
	var writing sync.WaitGroup
	results := make([][]store.ItemResult, writers)
	for w := range writers {
		writing.Go(func() { // ends after its rounds
			employees := make([]models.Employee, n)
			for i, id := range ids {
				employees[i] = full(id)
				employees[i].First, employees[i].Department = ptr(fmt.Sprint("writer ", w)), int32(w+1)
			}
			for range rounds {
				results[w] = s.store.SaveEach(testContext(t), employees)
			}
		})
	}
	writing.Wait()
	for _, items := range results {
		wantItems(t, items, n, nil)
	}
	for i, item := range s.store.GetMany(testContext(t), ids) {
		want := full(ids[i])
		want.Department = item.Employee.Department
		want.First = ptr(fmt.Sprint("writer ", want.Department-1))
		wantEqual(t, item.Employee, want)
	}
}

func (s *streamSuite) testSaveEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	employees := someOf(s.newIDs(t, 3))
	for _, item := range s.store.SaveEach(ctx, employees) {
		if item.Err == nil {
			t.Error("got no error")
		}
	}
	s.wantRows(t, idsOf(employees), nil)
}
