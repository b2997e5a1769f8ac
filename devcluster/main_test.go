package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/ndb"
)

// asDevcluster makes the test binary be the program.
const asDevcluster = "DEVCLUSTER_TEST_AS_DEVCLUSTER"

func TestMain(m *testing.M) {
	if os.Getenv(asDevcluster) != "" {
		os.Unsetenv(asDevcluster)
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
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

func TestRun_CommandHasAClusterAndTheStandardStreams(t *testing.T) {
	// It ends when its standard input does.
	cmd := devcluster(t, "--", "sh", "-c", `echo "$GATEWAY_NDB_CONNECTSTRING"; echo "$GATEWAY_SQL_DSN"; cat`)
	cmd.Env = append(cmd.Env, "GATEWAY_NDB_CONNECTSTRING=not this one", "GATEWAY_SQL_DSN=nor this one")
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
	checkConnectstring(t, lines.Text())
	if !lines.Scan() {
		t.Fatalf("no second line: %v", lines.Err())
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

func checkConnectstring(t *testing.T, connectstring string) {
	t.Helper()
	client, err := ndb.Connect(t.Context(), ndb.Config{Connectstring: connectstring})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	table, err := client.Table(t.Context(), "ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := client.Count(t.Context(), ndb.Scan{Table: table}); err != nil || n != 0 {
		t.Fatalf("%s: %d rows, %v, want none", connectstring, n, err)
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
	cmd := devcluster(t, "--ndb-listen", "127.0.0.1:0", "--sql-listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	next(t, lines, "devcluster: ready")
	next(t, lines, "")
	checkConnectstring(t, setting(t, lines, "GATEWAY_NDB_CONNECTSTRING"))
	checkDSN(t, setting(t, lines, "GATEWAY_SQL_DSN"))
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

// setting reads a line that a shell could read.
func setting(t *testing.T, lines *bufio.Scanner, name string) string {
	t.Helper()
	lines.Scan()
	value, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), name+"='")
	if !ok {
		t.Fatalf("line is %q, want %s", lines.Text(), name)
	}
	return strings.TrimSuffix(value, "'")
}

func TestRun_AddressesInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	for flag, prefix := range map[string]string{"--ndb-listen": "devcluster: management server: ", "--sql-listen": "devcluster: SQL node: "} {
		var stderr bytes.Buffer
		if got := run(t.Context(), []string{flag, address, "--", "true"}, io.Discard, &stderr); got != 1 {
			t.Errorf("%s: exit code %d, want 1", flag, got)
		}
		if got := stderr.String(); !strings.HasPrefix(got, prefix) || !strings.Contains(got, "address already in use") {
			t.Errorf("%s: stderr is %q", flag, got)
		}
	}
	// Those that nobody has asked for give way.
	opts := options{ndbListen: []string{address, anyPort}, sqlListen: []string{address, anyPort}}
	c, err := startCluster(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	c.close()
}

func TestRun_Schema(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.sql")
	script := `-- Two databases; and a mark.
		CREATE DATABASE other; USE other;
		CREATE TABLE employee (id BIGINT PRIMARY KEY, name VARCHAR(10), KEY (name)) ENGINE=NDBCLUSTER CHARSET=latin1;
		INSERT INTO employee VALUES (1, 'ü');
		CREATE DATABASE IF NOT EXISTS ndbtest;`
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := options{ndbListen: []string{anyPort}, sqlListen: []string{anyPort}, schema: file}
	c, err := startCluster(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	rows, err := c.nodes.Rows("other", "employee")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := rows.Get(1); err != nil || got == nil || got[1] != "ü" {
		t.Errorf("row is %v, %v", got, err)
	}

	if err := os.WriteFile(file, []byte("CREATE TABEL x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := startCluster(t.Context(), opts); err == nil || !strings.HasPrefix(err.Error(), "tables: ") {
		t.Errorf("error is %v, want one about the tables", err)
	}
}

func TestRun_ClientThatWouldHaveStoppedADataNode_EndsTheCommand(t *testing.T) {
	c, err := startCluster(t.Context(), options{ndbListen: []string{anyPort}, sqlListen: []string{anyPort}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	sendNonsense(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(c.nodes.Port(2))))
	<-c.broken.Done()
	var stderr bytes.Buffer
	opts := options{command: []string{"sleep", "600"}}
	if got := serve(t.Context(), opts, c, nil, &stderr); got != exitBroken {
		t.Errorf("exit code %d, want %d", got, exitBroken)
	}
	if got := stderr.String(); !strings.Contains(got, "violated rule: messages are well-formed") {
		t.Errorf("stderr is %q, want the rule", got)
	}
}

// sendNonsense shakes hands with data node 2 as API node 53, and goes on with
// what is no message.
func sendNonsense(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewScanner(conn)
	for _, text := range []string{"ndbd TLS disabled\n\n", "53 1 2 0\n"} {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("%q: no answer: %v", text, answers.Err())
		}
	}
	if _, err := conn.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	// The data node hangs up.
	_, _ = io.Copy(io.Discard, conn)
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
		{
			"bad address of the management server",
			[]string{"--ndb-listen", "nonsense", "--", "true"},
			1, "",
			"devcluster: management server: address nonsense: missing port in address",
		},
		{
			"bad port of the management server",
			[]string{"--ndb-listen", "127.0.0.1:ndb", "--", "true"},
			1, "",
			`devcluster: management server: address 127.0.0.1:ndb: port "ndb" is no number`,
		},
		{
			"no such schema",
			[]string{"--schema", "no-such-file", "--", "true"},
			1, "",
			"devcluster: open no-such-file: no such file or directory",
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

func TestParse_Addresses(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		ndb, sql []string
	}{
		{nil, []string{"127.0.0.1:1186", "127.0.0.1:0"}, []string{"127.0.0.1:3306", "127.0.0.1:0"}},
		{[]string{"--", "true"}, []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}},
		{[]string{"--sql-listen", "127.0.0.1:3399", "--", "true"}, []string{"127.0.0.1:0"}, []string{"127.0.0.1:3399"}},
		{[]string{"--ndb-listen", "127.0.0.1:1199"}, []string{"127.0.0.1:1199"}, []string{"127.0.0.1:3306", "127.0.0.1:0"}},
	} {
		opts, err := parse(tt.args)
		if err != nil || !slices.Equal(opts.ndbListen, tt.ndb) || !slices.Equal(opts.sqlListen, tt.sql) {
			t.Errorf("%q: %q, %q, %v, want %q, %q", tt.args, opts.ndbListen, opts.sqlListen, err, tt.ndb, tt.sql)
		}
	}
}
