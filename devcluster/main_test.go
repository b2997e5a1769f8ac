package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

// asDevcluster makes the test binary be the program.
const asDevcluster = "DEVCLUSTER_TEST_AS_DEVCLUSTER"

func TestMain(m *testing.M) {
	if os.Getenv(asDevcluster) != "" {
		os.Unsetenv(asDevcluster)
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// devcluster is the program as a process of its own.
func devcluster(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asDevcluster+"=1")
	cmd.WaitDelay = time.Second
	return cmd
}

// printSignals is a command that prints a line for each signal it gets, and
// ends at SIGTERM with code 7. It has to wait for something.
const printSignals = `
	sleep 600 &
	trap 'echo interrupt' INT
	trap 'echo hangup' HUP
	trap 'echo user defined signal 1' USR1
	trap 'kill $!; echo terminated; exit 7' TERM
	echo ready
	while :; do wait; done`

func code(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

func TestRun_EndsWithTheExitCodeOfTheCommand(t *testing.T) {
	tests := []struct {
		name    string
		command []string
		want    int
		stderr  string
	}{
		{"success", []string{"true"}, 0, ""},
		{"failure", []string{"sh", "-c", "exit 42"}, 42, ""},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, 128 + 9, ""},
		{
			"no such command",
			[]string{"no-such-command"},
			127,
			"devcluster: exec: \"no-such-command\": executable file not found in $PATH\n",
		},
		{"no such file", []string{"./no-such-file"}, 127, "devcluster: fork/exec ./no-such-file: no such file or directory\n"},
		{"not executable", []string{"./go.mod"}, 126, "devcluster: fork/exec ./go.mod: permission denied\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := run(t.Context(), append([]string{"--"}, tt.command...), &stdout, &stderr); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
			if stdout.String() != "" || stderr.String() != tt.stderr {
				t.Errorf("stdout is %q, want nothing; stderr is %q, want %q", &stdout, &stderr, tt.stderr)
			}
		})
	}
}

func TestRun_Connectstring_IsLeftAsItIs(t *testing.T) {
	args := []string{"--", "sh", "-c", `test "${GATEWAY_NDB_CONNECTSTRING-unset}" = ndb.example:1186`}
	if got := run(t.Context(), args, io.Discard, io.Discard); got != 1 {
		t.Errorf("exit code %d, want 1: there is no connectstring", got)
	}
	t.Setenv("GATEWAY_NDB_CONNECTSTRING", "ndb.example:1186")
	if got := run(t.Context(), args, io.Discard, io.Discard); got != 0 {
		t.Errorf("exit code %d, want 0: there is a connectstring", got)
	}
}

func TestRun_CommandHasASQLNodeAndTheStandardStreams(t *testing.T) {
	// It ends when its standard input does.
	cmd := devcluster(t, "--", "sh", "-c", `echo "$GATEWAY_SQL_DSN"; cat`)
	cmd.Env = append(cmd.Env, "GATEWAY_SQL_DSN=not this one")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("no output: %v", lines.Err())
	}
	checkDSN(t, lines.Text())
	if _, err := io.WriteString(stdin, "passed through\n"); err != nil {
		t.Fatal(err)
	}
	next(t, lines, "passed through")
	stdin.Close()
	if got := code(t, cmd.Wait()); got != 0 {
		t.Errorf("exit code %d, want 0", got)
	}
}

func checkDSN(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM employee").Scan(&n); err != nil || n != 0 {
		t.Fatalf("%s: %d rows, %v, want none", dsn, n, err)
	}
}

func TestRun_PassesSignalsOn(t *testing.T) {
	tests := []struct {
		name  string
		group bool // to the process group, as a shell without a terminal does
	}{
		{"to devcluster", false},
		{"to its process group", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := devcluster(t, "--", "sh", "-c", printSignals)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			next(t, lines, "ready")
			to := cmd.Process.Pid
			if tt.group {
				to = -to
			}
			for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGTERM} {
				if signal.Ignored(s) {
					continue // Under nohup, say: then it is ignored all the way down.
				}
				if err := syscall.Kill(to, s); err != nil {
					t.Fatal(err)
				}
				next(t, lines, s.String()) // and not the one before again
			}
			if lines.Scan() {
				t.Errorf("line %q after the end", lines.Text())
			}
			if got := code(t, cmd.Wait()); got != 7 {
				t.Errorf("exit code %d, want 7", got)
			}
		})
	}
}

func next(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("no line, want %q: %v", want, lines.Err())
	}
	if got := strings.TrimSpace(lines.Text()); got != want {
		t.Fatalf("line is %q, want %q", got, want)
	}
}

func TestRun_Alone_ServesUntilASignal(t *testing.T) {
	cmd := devcluster(t, "--sql-listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	next(t, lines, "devcluster: SQL node is ready")
	next(t, lines, "")
	lines.Scan()
	dsn, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "GATEWAY_SQL_DSN='")
	if !ok {
		t.Fatalf("line is %q, want the DSN", lines.Text())
	}
	checkDSN(t, strings.TrimSuffix(dsn, "'"))
	next(t, lines, "")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("line %q after the signal", lines.Text())
	}
	if got := code(t, cmd.Wait()); got != 0 {
		t.Errorf("exit code %d, want 0", got)
	}
}

func TestRun_CommandLine(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		want   int
		stdout string
		stderr string
	}{
		{"help", []string{"--help"}, 0, usage, ""},
		{"unknown flag", []string{"--nonsense"}, 2, "", "devcluster: flag provided but not defined: -nonsense"},
		{"no command", []string{"--"}, 2, "", "devcluster: no command after --"},
		{"command without --", []string{"true"}, 2, "", `devcluster: unexpected argument "true": a command goes after --`},
		{
			"bad address",
			[]string{"--sql-listen", "nonsense", "--", "true"},
			1, "",
			"devcluster: SQL node: listen tcp: address nonsense: missing port in address",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := run(t.Context(), tt.args, &stdout, &stderr); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
			first, _, _ := strings.Cut(stderr.String(), "\n")
			if stdout.String() != tt.stdout || first != tt.stderr {
				t.Errorf("stdout is %q, want %q; stderr is %q, want %q", &stdout, tt.stdout, &stderr, tt.stderr)
			}
		})
	}
}

func TestUsage_FitsAScreen(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(usage, "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines, want 24 at most", len(lines))
	}
	for _, l := range lines {
		if len(l) > 80 {
			t.Errorf("line of %d characters: %s", len(l), l)
		}
	}
}

func TestParse_DefaultListen(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "127.0.0.1:3306"},
		{[]string{"--", "true"}, "127.0.0.1:0"},
		{[]string{"--sql-listen", "127.0.0.1:3399", "--", "true"}, "127.0.0.1:3399"},
	} {
		opts, err := parse(tt.args)
		if err != nil || opts.sqlListen != tt.want {
			t.Errorf("%q: listens on %q, %v, want %q", tt.args, opts.sqlListen, err, tt.want)
		}
	}
}
