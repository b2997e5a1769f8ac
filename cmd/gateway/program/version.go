package program

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

// build is what this program was built from.
type build struct {
	version string
	commit  string // empty where unknown
}

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(version, info)
}

// describeBuild prefers the linker's version to the one of the module, which
// go install sets. The info may be nil.
func describeBuild(linked string, info *debug.BuildInfo) build {
	b := build{version: linked}
	if info == nil {
		return b
	}
	if v := info.Main.Version; linked == "dev" && v != "" && v != "(devel)" {
		b.version = v
	}
	modified := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = " with changes"
			}
		}
	}
	if b.commit != "" {
		b.commit += modified
	}
	return b
}

func printVersion(args []string, w io.Writer) error {
	if len(args) > 0 && args[0] != "--help" && args[0] != "-h" {
		return usageError(fmt.Sprintf("argument %s: version takes none", nameArgument(0, args[0])))
	}
	if len(args) > 0 {
		_, err := io.WriteString(w, "Usage: gateway version\n\nPrints the version, the commit where known, Go's version and the platform.\n")
		return err
	}
	b := thisBuild()
	commit := b.commit
	if commit == "" {
		commit = "unknown"
	}
	_, err := fmt.Fprintf(w, "gateway   %s\ncommit    %s\ngo        %s\nplatform  %s/%s\n",
		b.version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
