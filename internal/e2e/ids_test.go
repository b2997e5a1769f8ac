package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Four gateways create employees without ids as fast as they can, two by each road:
// every request is answered with 201, and all ids are different.
func TestIDs_FourGatewaysAtFullSpeed_NeverMeet(t *testing.T) {
	const gateways, connections, duration = 4, 8, 3 * time.Second
	dsns := cluster(t)
	db := openTable(t, dsns)
	ids := make([][]int64, gateways*connections)
	var running sync.WaitGroup
	var all []*gateway
	for i := range gateways {
		all = append(all, serve(t, dsns).on(roads[i%len(roads)]))
	}
	t.Cleanup(func() { deleteAll(t, db, slices.Concat(ids...)) })
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	t.Cleanup(transport.CloseIdleConnections)
	begun := time.Now()
	for i := range ids {
		running.Go(func() { // ends after duration
			for time.Since(begun) < duration && !t.Failed() {
				ids[i] = append(ids[i], createWithoutID(t, &http.Client{Transport: transport}, all[i%gateways]))
			}
		})
	}
	running.Wait()
	took := time.Since(begun)
	conflicts := 0
	for _, g := range all {
		conflicts += g.idConflicts()
	}
	sorted := slices.Concat(ids...)
	slices.Sort(sorted)
	if different := len(slices.Compact(slices.Clone(sorted))); different != len(sorted) {
		t.Errorf("got %d ids, of which %d are different", len(sorted), different)
	}
	const maxSafeInteger = 1<<53 - 1 // of JavaScript
	if len(sorted) == 0 || sorted[0] < 1 || sorted[len(sorted)-1] > maxSafeInteger {
		t.Errorf("got ids from %d to %d", sorted[0], sorted[len(sorted)-1])
	}
	for i, mine := range ids {
		if !slices.IsSorted(mine) {
			t.Errorf("ids of connection %d do not grow", i)
		}
	}
	t.Logf("%d ids in %v, %d conflicts between the gateways", len(sorted), took.Round(time.Millisecond), conflicts)
}

func createWithoutID(t *testing.T, client *http.Client, g *gateway) int64 {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/v1/employees", strings.NewReader(`{"last":"ids"}`))
	if err != nil {
		t.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Backend", g.road)
	resp, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	var created struct{ ID int64 }
	if _, err := body.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(body.Bytes(), &created) != nil {
		t.Errorf("by %s: got %d %s (%v)", g.road, resp.StatusCode, body.String(), err)
	}
	return created.ID
}

var idConflicts = regexp.MustCompile(`(?m)^ndbgate_assigned_id_conflicts_total\{.*\} (\d+)$`)

// idConflicts is how often the gateway has assigned an id that was taken.
func (g *gateway) idConflicts() int {
	g.t.Helper()
	_, metrics := g.adminGet("/metrics")
	sum := 0
	for _, m := range idConflicts.FindAllStringSubmatch(metrics, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			g.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// deleteAll removes rows past the gateway.
func deleteAll(t *testing.T, db *sql.DB, ids []int64) {
	t.Helper()
	for part := range slices.Chunk(ids, 1000) {
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(part), " ", ","), "[]")
		if _, err := db.Exec("DELETE FROM employee WHERE id IN (" + list + ")"); err != nil {
			t.Errorf("clean up: %v", err)
		}
	}
}
