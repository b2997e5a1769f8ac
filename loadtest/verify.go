package loadtest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

// sampleSize is how many rows a verification reads and checks, of those that
// stay and of those that inserts have left each.
const sampleSize = 500

// maxCounted is how many rows are read one by one to count them, where the
// target cannot tell their IDs.
const maxCounted = 50_000

// maxProblems bounds what a verification tells.
const maxProblems = 10

// verify looks at the rows by every road. The sample is the same for all of
// them, so that their checksums must be equal.
func (r *runner) verify(ctx context.Context, when string) error {
	if r.config.Unchecked {
		return nil
	}
	var firstChecksum string
	for i, road := range r.config.Targets {
		v, err := r.verifyBy(ctx, road, when)
		if err != nil {
			return fmt.Errorf("verify %s the measurement: %w", when, err)
		}
		if i == 0 {
			firstChecksum = v.Checksum
		} else if v.Checksum != firstChecksum {
			v.Problems = append(v.Problems, "the sample has another checksum than by "+r.config.Targets[0].Name)
		}
		r.report.Verifications = append(r.report.Verifications, v)
		if len(v.Problems) > 0 {
			return fmt.Errorf("%w: %s the measurement, by %s: %s", ErrRows, when, road.Name, v.Problems[0])
		}
	}
	return nil
}

func (r *runner) verifyBy(ctx context.Context, road Road, when string) (Verification, error) {
	v := Verification{When: when, Backend: road.Name, Wanted: r.data.rows}
	problem := func(err error) {
		if len(v.Problems) < maxProblems {
			v.Problems = append(v.Problems, err.Error())
		}
	}
	var err error
	if v.Rows, err = r.countRows(ctx, road); err != nil {
		return v, err
	}
	if v.Rows != v.Wanted && v.Rows >= 0 {
		problem(fmt.Errorf("%d rows are there, want %d", v.Rows, v.Wanted))
	}
	session, err := road.Target.Open(ctx)
	if err != nil {
		return v, err
	}
	defer session.Close()
	random := newRand(r.data.seed, -1, 0)
	var ids []int64
	for range min(sampleSize, r.data.rows) {
		ids = append(ids, r.data.first+random.Int64N(r.data.rows))
	}
	ids = append(ids, r.data.sampleLeft(sampleSize, random)...)
	var sample []models.Employee
	for _, id := range ids {
		var e models.Employee
		err := patiently(ctx, func() error { return session.Select(ctx, id, &e) })
		switch {
		case target.Kind(err) == target.NotFound && err != nil:
			problem(fmt.Errorf("row %d is not there", id))
			continue
		case err != nil:
			return v, err
		}
		if err := checkRow(r.data.seed, &e); err != nil {
			problem(err)
		}
		sample = append(sample, e)
	}
	v.Sampled, v.Checksum = len(sample), checksum(sample)
	return v, nil
}

// countRows counts the rows that stay; -1: there are too many to read them all.
func (r *runner) countRows(ctx context.Context, road Road) (int64, error) {
	session, err := road.Target.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	if ranges, ok := session.(target.Ranges); ok {
		return r.countIDs(ctx, ranges)
	}
	if r.data.rows > maxCounted {
		return -1, nil
	}
	var found atomic.Int64
	err = r.forEach(ctx, road, "counting rows by "+road.Name, idRange{r.data.first, r.data.rows},
		func(ctx context.Context, session target.Session, some []int64) error {
			for _, id := range some {
				err := patiently(ctx, func() error { return session.Select(ctx, id, nil) })
				switch {
				case err == nil:
					found.Add(1)
				case target.Kind(err) != target.NotFound:
					return err
				}
			}
			return nil
		})
	return found.Load(), err
}

func (r *runner) countIDs(ctx context.Context, ranges target.Ranges) (n int64, err error) {
	last := r.data.first + r.data.rows - 1
	for from := r.data.first; from <= last; {
		rows, err := ranges.Rows(ctx, from, last, sweepStep)
		if err != nil {
			return n, err
		}
		n += int64(len(rows))
		if len(rows) < sweepStep {
			break
		}
		from = rows[len(rows)-1].ID + 1
	}
	return n, nil
}
