package loadtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/models"
)

// cities is how many there are in the data set. Their names are found in no
// other rows of the table.
const cities = 64

func cityName(i uint64) string { return "Loadville " + strconv.FormatUint(i%cities, 10) }

// department of all rows, as in the first article.
const department = 2

// firstDay is that of the oldest row.
var firstDay = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// row makes the row with the ID: the same for one seed.
func row(seed uint64, id int64) models.Employee {
	text := strconv.FormatInt(id, 10)
	first, last := "F"+text, "L"+text
	hash := mix(seed ^ uint64(id))
	city := cityName(hash)
	day := firstDay.AddDate(0, 0, int(hash>>32%8000))
	date, err := models.NewDate(day.Year(), int(day.Month()), day.Day())
	if err != nil {
		panic(err) // the calendar has it
	}
	return models.Employee{ID: id, First: &first, Last: &last, City: &city, Started: &date, Ended: &date, Department: department}
}

// mix spreads the bits of x over all of the result: the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// newNames are those that an update with the token gives a row.
func newNames(id int64, token uint64) (first, last string) {
	text := strconv.FormatInt(id, 10) + "." + strconv.FormatUint(token, 36)
	return "F" + text, "L" + text
}

// isOwn tells a row that a run has made, of whatever seed: its names are made of
// its ID. Only such rows are ever deleted.
func isOwn(e *models.Employee) bool {
	if e.First == nil || e.Last == nil {
		return false
	}
	text := strconv.FormatInt(e.ID, 10)
	first, token, _ := strings.Cut(*e.First, ".")
	last, lastToken, _ := strings.Cut(*e.Last, ".")
	return first == "F"+text && last == "L"+text && token == lastToken
}

// notOwn is the error of a row that no run has made.
func notOwn(id int64) error {
	return fmt.Errorf("%w: row %d is there, and loadtest did not make it; give the run ids of its own with --first-id", ErrRows, id)
}

// checkRow tells what is wrong with a row of the data set, which may have been
// updated: both names must be from one update, and all else as it was made.
func checkRow(seed uint64, got *models.Employee) error {
	want := row(seed, got.ID)
	if got.First == nil || got.Last == nil {
		return fmt.Errorf("row %d: a name is missing", got.ID)
	}
	first, token, updated := strings.Cut(*got.First, ".")
	last, lastToken, lastUpdated := strings.Cut(*got.Last, ".")
	if first != *want.First || last != *want.Last || token != lastToken || updated != lastUpdated {
		return fmt.Errorf("row %d: names %q and %q are not of one update of this row", got.ID, *got.First, *got.Last)
	}
	if differs(got.City, want.City) || differs(got.Started, want.Started) || differs(got.Ended, want.Ended) || got.Department != want.Department {
		return fmt.Errorf("row %d: a column that nothing has changed is not as it was written", got.ID)
	}
	return nil
}

func differs[T comparable](got, want *T) bool {
	return got == nil || *got != *want
}

// checksum is over all columns of the rows, in their order.
func checksum(rows []models.Employee) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for i := range rows {
		if err := encoder.Encode(&rows[i]); err != nil {
			panic(err) // employees always can be
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// newRand gives worker n of cell m its own random numbers.
func newRand(seed uint64, m, n int) *rand.Rand {
	return rand.New(rand.NewPCG(mix(seed), uint64(m)<<32|uint64(n)))
}
