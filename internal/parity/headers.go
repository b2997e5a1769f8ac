package parity

func (g *generator) addComparison(q *request) {
	if oneIn(g.Rand, 8) {
		q.headers = append(q.headers, pair{"X-Backend-Compare", otherRoadPlace})
	}
}

// addPrecondition asks more often for what holds.
func (g *generator) addPrecondition(q *request) {
	switch g.IntN(10) {
	case 0, 1:
		q.headers = append(q.headers, pair{"If-Match", etagPlace})
	case 2:
		q.headers = append(q.headers, pair{"If-Match", pick(g.Rand, []string{
			staleETagPlace, "*", "W/" + etagPlace, staleETagPlace + ", " + etagPlace, `"none"`, "bad",
		})})
	case 3:
		q.headers = append(q.headers, pair{"If-None-Match", pick(g.Rand, []string{"*", "*", "*", etagPlace})})
	}
}

func (g *generator) addPreference(q *request) {
	if oneIn(g.Rand, 3) {
		q.headers = append(q.headers, pair{"Prefer", pick(g.Rand, []string{"return=minimal", "return=minimal", "return=representation"})})
	}
}

// addDurability seldom asks for the disk: a write waits for the next checkpoint
// then, for up to two seconds on each twin.
func (g *generator) addDurability(q *request) {
	add := func(value string) { q.headers = append(q.headers, pair{"X-Durability", value}) }
	switch {
	case oneIn(g.Rand, 1500):
		add("disk")
	case oneIn(g.Rand, 30):
		add("memory")
	case oneIn(g.Rand, 150):
		add("paper")
	}
}
