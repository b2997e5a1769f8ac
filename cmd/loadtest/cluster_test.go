package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/ndbgate/ndbgate/loadtest"
)

// realCluster gives the environment of a run on the cluster that the test
// variables name.
func realCluster(t *testing.T) func(string) string {
	t.Helper()
	for _, name := range []string{"TEST_MYSQL_DSN", "TEST_NDB_CONNECTSTRING"} {
		if os.Getenv(name) == "" {
			t.Skip(name + " is not set: no real cluster to measure")
		}
	}
	return func(name string) string {
		return map[string]string{"GATEWAY_SQL_DSN": os.Getenv("TEST_MYSQL_DSN"), "GATEWAY_NDB_CONNECTSTRING": os.Getenv("TEST_NDB_CONNECTSTRING")}[name]
	}
}

func TestRun_Direct_OnARealCluster_BothRoadsSeeTheSameRows(t *testing.T) {
	getenv := realCluster(t)
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	exit := command(t.Context(), append([]string{
		"run", "--direct", "--mode=article", "--mix=mixed=select:5,update:3,list:1,insert:1,delete:1", "--ops=insert,select,update,delete,list,mixed", "--out", dir,
	}, short...), process{getenv: getenv, stdout: &stdout, stderr: &stderr})
	if exit != exitOK {
		t.Fatalf("got exit %d: %s", exit, stderr.String())
	}
	r := readBack(t, dir)
	if len(r.Cells) != 6*2+2 || r.EndedBy != loadtest.Complete || len(r.Verifications) != 4 {
		t.Errorf("got %d cells, %d verifications, ended by %q", len(r.Cells), len(r.Verifications), r.EndedBy)
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Ops < 100 || len(c.Errors) > 0 {
			t.Errorf("%s %s: got %d operations, errors %+v", c.Workload, c.Backend, c.Ops, c.Errors)
		}
	}
	for i, v := range r.Verifications {
		if v.Rows != v.Wanted || v.Checksum != r.Verifications[i/2*2].Checksum {
			t.Errorf("got %+v", v)
		}
	}
}

func TestBatch_Direct_OnARealCluster_EveryWayOfEveryTable(t *testing.T) {
	getenv := realCluster(t)
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	exit := command(t.Context(), []string{"batch", "--direct", "--sizes=100,1500", "--runs=2", "--out", dir}, process{getenv: getenv, stdout: &stdout, stderr: &stderr})
	if exit != exitOK {
		t.Fatalf("got exit %d: %s", exit, stderr.String())
	}
	r := readBack(t, dir)
	// One way into NDB by the native road, and two ways into two engines by SQL.
	if len(r.Batches) != 5*2*2 {
		t.Errorf("got %d cells", len(r.Batches))
	}
	for _, b := range r.Batches {
		if b.Error != "" || len(b.Runs) != b.Writers || len(b.Runs[0]) != 2 {
			t.Errorf("got %+v", b)
		}
	}
}
