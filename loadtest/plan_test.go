package loadtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
)

func TestPlan_RoadsTakeTurns_AndBeginInTurn(t *testing.T) {
	c := &Config{
		Targets: []Road{{Name: "ndb", Native: true}, {Name: "sql"}}, Threads: []int{1, 2}, Repeats: 2, Article: true,
		Workloads: []Workload{Single(Insert), Single(Delete)},
	}
	var got []string
	for _, cell := range plan(c) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d/%d %s %s %s", cell.repeat, cell.threads, cell.workload.Name, cell.road.Name, cell.variant)))
	}
	want := []string{
		"1/1 insert ndb", "1/1 insert sql", "1/1 delete ndb", "1/1 delete ndb find first", "1/1 delete sql",
		"1/2 insert sql", "1/2 insert ndb", "1/2 delete sql", "1/2 delete ndb", "1/2 delete ndb find first",
		"2/1 insert sql", "2/1 insert ndb", "2/1 delete sql", "2/1 delete ndb", "2/1 delete ndb find first",
		"2/2 insert ndb", "2/2 insert sql", "2/2 delete ndb", "2/2 delete ndb find first", "2/2 delete sql",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestParseMix(t *testing.T) {
	w, err := ParseMix("read-heavy = select:95, update:5")
	if err != nil || w.Name != "read-heavy" || !slices.Equal(w.Mix, []Share{{Select, 95}, {Update, 5}}) || w.weight() != 100 {
		t.Errorf("got %+v, %v", w, err)
	}
	for _, text := range []string{"", "x", "x=", "=select:1", "x=select", "x=select:0", "x=select:-1", "x=jump:1", "x=select:1,select:2", "x=select:9999999", "x=select:1,"} {
		if w, err := ParseMix(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, w)
		}
	}
}

func TestPacer_Constant_DoesNotDrift(t *testing.T) {
	p := newPacer(3, Constant, nil)
	var at time.Duration
	for range 300_001 {
		at = p.next()
	}
	if want := 100_000 * time.Second; at != want {
		t.Errorf("got %v, want %v", at, want)
	}
}

func TestPacer_Poisson_KeepsTheRateAndSpreads(t *testing.T) {
	const n = 100_000
	p := newPacer(1000, Poisson, newRand(7, 0, 0))
	var last time.Duration
	short := 0
	for range n {
		at := p.next()
		if at < last {
			t.Fatal("time runs back")
		}
		if at-last < time.Millisecond/2 {
			short++
		}
		last = at
	}
	if rate := n / last.Seconds(); rate < 980 || rate > 1020 {
		t.Errorf("got %.0f in a second, want 1000", rate)
	}
	// Of exponential distances 1-1/√e are shorter than half the mean.
	if share := float64(short) / n; math.Abs(share-0.393) > 0.01 {
		t.Errorf("got %.3f short distances, want 0.393", share)
	}
}

func TestRow_SameSeedSameRow_ValidAndSpread(t *testing.T) {
	seen := map[string]int{}
	for id := int64(1); id <= 6400; id++ {
		e := row(1, id)
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := checkRow(1, &e); err != nil {
			t.Fatal(err)
		}
		seen[*e.City]++
	}
	for city, n := range seen {
		if n < 50 || n > 170 {
			t.Errorf("%s has %d rows of 6,400", city, n)
		}
	}
	if len(seen) != cities {
		t.Errorf("got %d cities, want %d", len(seen), cities)
	}
	a, b, other := row(1, 5), row(1, 5), row(2, 5)
	if checksum([]models.Employee{a}) != checksum([]models.Employee{b}) || checksum([]models.Employee{a}) == checksum([]models.Employee{other}) {
		t.Error("the same seed must give the same row, and another one another")
	}
}

func TestCheckRow_FindsWhatIsWrong(t *testing.T) {
	for name, spoil := range map[string]func(e *models.Employee){
		"no name":        func(e *models.Employee) { e.First = nil },
		"other row":      func(e *models.Employee) { *e.First, *e.Last = newNames(e.ID+1, 3) },
		"half an update": func(e *models.Employee) { *e.First, _ = newNames(e.ID, 3) },
		"two updates":    func(e *models.Employee) { *e.First, _ = newNames(e.ID, 3); _, *e.Last = newNames(e.ID, 4) },
		"other city":     func(e *models.Employee) { *e.City += "x" },
		"no city":        func(e *models.Employee) { e.City = nil },
		"no date":        func(e *models.Employee) { e.Ended = nil },
		"department":     func(e *models.Employee) { e.Department++ },
	} {
		e := row(1, 42)
		spoil(&e)
		if checkRow(1, &e) == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	e := row(1, 42)
	*e.First, *e.Last = newNames(42, 99)
	if err := checkRow(1, &e); err != nil {
		t.Errorf("an update that is whole: got %v", err)
	}
}

func TestChooser_StaysInTheDataSet(t *testing.T) {
	for _, keys := range []Keys{Uniform, Sequential, Zipf} {
		c := Config{Rows: 100, Seed: 3, FirstID: 1000, Keys: keys, MaxRows: 1}
		choose := newChooser(newDataset(&c), newRand(3, 0, 0))
		seen := map[int64]int{}
		for range 10_000 {
			id := choose.id()
			if id < 1000 || id >= 1100 {
				t.Fatalf("%s: got %d", keys, id)
			}
			seen[id]++
		}
		most := 0
		for _, n := range seen {
			most = max(most, n)
		}
		switch {
		case keys == Sequential && (len(seen) != 100 || most != 100),
			keys == Uniform && (len(seen) != 100 || most > 160),
			keys == Zipf && most < 1000:
			t.Errorf("%s: got %d rows, the most asked %d times of 10,000", keys, len(seen), most)
		}
	}
}

func TestDataset_TakesEachRowOnce(t *testing.T) {
	c := Config{Rows: 10, Seed: 1, FirstID: 100, MaxRows: 1_000_000}
	d := newDataset(&c)
	for range 20_000 {
		id, err := d.newIDs(1)
		if err != nil {
			t.Fatal(err)
		}
		d.leave(id)
	}
	for want := int64(110); want < 110+20_000; want++ {
		if got, err := d.take(); got != want || err != nil {
			t.Fatalf("got %d, %v, want %d", got, err, want)
		}
	}
	if _, err := d.take(); err == nil {
		t.Error("got a row of none")
	}
}

func TestDataset_IdsOfOthers_AreNotTaken(t *testing.T) {
	c := Config{Rows: 10, Seed: 1, FirstID: 100, MaxRows: 1_000}
	d := newDataset(&c)
	d.nextID.Store(d.lastID() - 1)
	if id, err := d.newIDs(2); err != nil || id != d.lastID()-1 {
		t.Errorf("got %d, %v, want the last two", id, err)
	}
	if id, err := d.newIDs(1); !errors.Is(err, errNoIDs) {
		t.Errorf("got %d, %v, want no more", id, err)
	}
}
