package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/ndbgate/ndbgate/loadtest"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func thisTool() loadtest.Tool {
	t := loadtest.Tool{Version: version, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			t.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " with changes"
		}
	}
	if t.Commit != "" {
		t.Commit += modified
	}
	return t
}

func printVersion(p process) error {
	t := thisTool()
	if t.Commit == "" {
		t.Commit = "unknown"
	}
	_, err := fmt.Fprintf(p.stdout, "loadtest  %s\ncommit    %s\ngo        %s\nplatform  %s/%s\n", t.Version, t.Commit, t.Go, runtime.GOOS, runtime.GOARCH)
	return err
}
