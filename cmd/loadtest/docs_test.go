package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/internal/docstest"
)

//go:generate go test -run ^TestDocs . -update-docs

func TestDocs_CommandLine(t *testing.T) {
	var b strings.Builder
	for _, args := range [][]string{{"--help"}, {"help", "run"}, {"help", "batch"}, {"help", "compare"}, {"help", "report"}, {"help", "null"}} {
		var stdout strings.Builder
		// Without the environment, whose settings would be shown as defaults.
		code := command(t.Context(), args, process{getenv: noEnv, stdout: &stdout, stderr: &stdout})
		if code != exitOK {
			t.Fatalf("%v: got exit code %d: %s", args, code, stdout.String())
		}
		fmt.Fprintf(&b, "```text\n$ loadtest %s\n%s```\n\n", strings.Join(args, " "), stdout.String())
	}
	docstest.Part(t, 2, "commands.md", "loadtest", b.String())
}
