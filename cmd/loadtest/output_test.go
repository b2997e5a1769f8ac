package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOutput_DirectoryHasAReport_IsRefused(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{"run", "--null", "--ops=select", "--out", dir}, short...)
	if got := do(t.Context(), args...); got.exit != exitOK {
		t.Fatalf("got exit %d: %s", got.exit, got.stderr)
	}
	before, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err != nil {
		t.Fatal(err)
	}
	got := do(t.Context(), args...)
	if got.exit != exitFailure || !strings.Contains(got.stderr, "report.json already: name another directory, or move it away") {
		t.Errorf("got exit %d: %s", got.exit, got.stderr)
	}
	if after, err := os.ReadFile(filepath.Join(dir, reportFile)); err != nil || string(after) != string(before) {
		t.Errorf("the report has changed, or %v", err)
	}
}

func TestOutput_RunsAtTheSameTime_HaveDirectoriesOfTheirOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	seen := map[string]bool{}
	var all []*output
	for range 5 {
		o, err := newOutput("")
		if err != nil {
			t.Fatal(err)
		}
		seen[o.dir] = true
		all = append(all, o)
	}
	if len(seen) != 5 {
		t.Errorf("got directories %v, want five", seen)
	}
	if _, err := newOutput(all[0].dir); err == nil || !strings.Contains(err.Error(), "is empty: another run will write it, or was killed") {
		t.Errorf("got %v for the directory of a run that goes on", err)
	}
	for _, o := range all {
		if err := o.abandon(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("got %v left, %v", left, err)
	}
}

func TestOutput_NothingWasMeasured_NothingIsLeft(t *testing.T) {
	kept := t.TempDir()
	fresh := filepath.Join(t.TempDir(), "new")
	for _, dir := range []string{kept, fresh} {
		if got := do(t.Context(), "run", "--target", "http://127.0.0.1:1", "--out", dir); got.exit != exitFailure || !strings.Contains(got.stderr, "does not answer") {
			t.Errorf("got exit %d: %s", got.exit, got.stderr)
		}
	}
	if left, err := os.ReadDir(kept); err != nil || len(left) > 0 {
		t.Errorf("got %v in a directory that was there, %v", left, err)
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("got %v, want no new directory", err)
	}
}

func TestFlags_NumbersThatMakeNoSense_AreRefused(t *testing.T) {
	for _, c := range []struct{ command, flag, want string }{
		{"run", "--duration=0s", "--duration 0s: must be more than 0"},
		{"run", "--duration=-1s", "--duration -1s: must be more than 0"},
		{"run", "--duration=1000h", "duration: 1000h0m0s is not"},
		{"run", "--warmup=-1s", "--warmup -1s: is negative"},
		{"run", "--repeats=0", "--repeats 0"},
		{"run", "--rows=-5", "--rows -5"},
		{"run", "--max-rows=0", "--max-rows 0"},
		{"run", "--first-id=-4", "--first-id -4"},
		{"run", "--seed=0", "--seed 0"},
		{"run", "--give-up=0", "--give-up 0s"},
		{"run", "--max-lag=0", "--max-lag 0s"},
		{"run", "--timeout=0", "--timeout 0s"},
		{"run", "--pool=0", "--pool 0"},
		{"run", "--ops=", "--ops: there is no operation, and no --mix"},
		{"run", "--rate=NaN", "rate: NaN is not"},
		{"run", "--rate=-3", "rate: -3 is not"},
		{"batch", "--runs=0", "--runs 0"},
		{"batch", "--first-id=-5", "--first-id -5"},
		{"batch", "--timeout=0", "--timeout 0s"},
		{"batch", "--limit=0", "--limit 0s"},
		{"null", "--duration=-1s", "--duration -1s"},
	} {
		args := []string{c.command, c.flag}
		if c.command == "run" {
			args = append(args, "--null", "--out", filepath.Join(t.TempDir(), "new"))
		}
		if got := do(t.Context(), args...); got.exit != exitUsage || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s %s: got exit %d: %s; want %q", c.command, c.flag, got.exit, got.stderr, c.want)
		}
	}
	for _, most := range []string{"NaN", "+Inf", "-1%", "x"} {
		if got := do(t.Context(), "compare", "--max-regress="+most, "a.json", "b.json"); got.exit != exitUsage || !strings.Contains(got.stderr, "want a percentage") {
			t.Errorf("--max-regress %s: got exit %d: %s", most, got.exit, got.stderr)
		}
	}
}

func TestRun_OneOperationInAges_EndsInTime(t *testing.T) {
	got := do(t.Context(), "run", "--null", "--ops=select", "--rate=1e-9", "--duration=50ms", "--warmup=0", "--repeats=1", "--out", t.TempDir())
	if got.exit != exitOK || strings.Contains(got.stdout, "never sent") {
		t.Errorf("got exit %d: %s", got.exit, got.stdout)
	}
}
