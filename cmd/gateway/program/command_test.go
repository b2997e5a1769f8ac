package program

import (
	"bytes"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary stand in for the gateway, for tests that need
// a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv(asGatewayVariable) != "" {
		os.Exit(command(untilSignal(), os.Args[1:], process{
			getenv: lookup(nil), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, open: openBlocking(os.Stdout),
		}))
	}
	goleak.VerifyTestMain(m)
}

// result of a command that ends by itself.
type result struct {
	code           int
	stdout, stderr string
}

func runCommand(t *testing.T, open func(Config, *slog.Logger) ([]road, error), args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := command(t.Context(), args, process{getenv: lookup(nil), stdout: &stdout, stderr: &stderr, open: open})
	return result{code, stdout.String(), stderr.String()}
}

func TestHelp_FitsAScreenOnStdout(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"-h"}, {"serve", "--help"}, {"check", "--listen=:1", "-h"}, {"version", "--help"}, {"import", "--help"}, {"export", "a", "-h"}, {"completion", "--help"}, {"help", "serve"}} {
		r := runCommand(t, nil, args...)
		if r.code != exitOK || r.stderr != "" {
			t.Errorf("%v: got exit code %d and %q on stderr, want 0 and nothing", args, r.code, r.stderr)
		}
		lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
		if len(lines) > 23 { // the prompt takes one of 24
			t.Errorf("%v: %d lines", args, len(lines))
		}
		for _, line := range lines {
			if len(line) > 80 {
				t.Errorf("%v: line of %d characters: %s", args, len(line), line)
			}
		}
	}
}

func TestCommand_Unusable(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{nil, "a command is missing"},
		{[]string{"sevre"}, `argument "sevre": expected serve, check, import, export, keys, completion or version; did you mean serve?`},
		{[]string{"--listen=:1", "serve"}, `argument number 1: expected serve, check, import, export, keys, completion or version`},
		{[]string{"root:" + password + "@tcp(h:1)/d"}, "argument number 1"},
		{[]string{"serve", "now"}, `argument "now": expected a flag`},
		{[]string{"serve", "--listn=:1"}, `did you mean --listen?`},
		{[]string{"check", "--sql-dsn=" + password}, "sql-dsn (flag --sql-dsn)"},
		{[]string{"version", "--listen"}, "version takes none"},
	}
	for _, test := range tests {
		r := runCommand(t, openRoads, test.args...)
		if r.code != exitUsage || r.stdout != "" {
			t.Errorf("%v: got exit code %d and %q on stdout, want 2 and nothing", test.args, r.code, r.stdout)
		}
		if !strings.Contains(r.stderr, test.want) {
			t.Errorf("%v: got %q, want something with %q", test.args, r.stderr, test.want)
		}
		if strings.Contains(r.stderr, password) {
			t.Errorf("%v: the password is on stderr", test.args)
		}
	}
}

func TestVersion(t *testing.T) {
	r := runCommand(t, nil, "version")
	if r.code != exitOK || r.stderr != "" {
		t.Errorf("got exit code %d and %q on stderr, want 0 and nothing", r.code, r.stderr)
	}
	for _, want := range []string{"gateway   ", "commit    ", "go        go1.", "platform  "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("got %q, want a line with %q", r.stdout, want)
		}
	}
}

func TestDescribeBuild(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	tests := []struct {
		linked string
		info   *debug.BuildInfo
		want   build
	}{
		{"dev", nil, build{version: "dev"}},
		{"dev", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, build{version: "dev"}},
		{"dev", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, build{version: "v1.2.3"}},
		{"v2.0.0", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: vcs[:1]}, build{version: "v2.0.0", commit: "abc"}},
		{"dev", &debug.BuildInfo{Settings: vcs}, build{version: "dev", commit: "abc with changes"}},
	}
	for _, test := range tests {
		if got := describeBuild(test.linked, test.info); got != test.want {
			t.Errorf("%q %+v: got %+v, want %+v", test.linked, test.info, got, test.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"", "ab", 2}, {"sevre", "serve", 2}, {"listn", "listen", 1}, {"listens", "listen", 1}}
	for _, test := range tests {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("%q, %q: got %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
