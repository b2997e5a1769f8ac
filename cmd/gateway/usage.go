package main

import (
	"fmt"
	"strings"
)

// usage and settingsUsage fit a screen of 80 x 24.
func usage() string {
	return `Usage: gateway COMMAND [--SETTING=VALUE ...]

Serves the employees of a MySQL NDB Cluster over HTTP. Each request chooses its
road to the rows with the header X-Backend.

Commands:
  serve    serve until SIGINT or SIGTERM; a second signal ends at once
  check    try every backend once; exit code 0 where all of them answer
  import   store the rows of a file by a gateway that runs
  export   write the rows of a gateway that runs to a file
  version  print what this program was built from

gateway serve --help lists the settings, gateway import --help the flags.
Exit codes: 0 fine, 1 failed, 2 wrong command line or setting.
`
}

func settingsUsage(command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: gateway %s [--SETTING=VALUE ...]\n\n", command)
	if command == "check" {
		fmt.Fprintf(&b, "Tries every backend once, for %v at most. Exit codes: 0 all answer, 1 not all.\n", checkTimeout)
	}
	b.WriteString("Settings, with their defaults in brackets:\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "  --%-20s  %s", s.name, s.help)
		if s.fallback != "" {
			fmt.Fprintf(&b, " [%s]", s.fallback)
		}
		b.WriteByte('\n')
	}
	b.WriteString(`
A setting is taken from its flag, else from its environment variable
(GATEWAY_SQL_DSN for --sql-dsn), else from the file, else from its default.
--ndb-connectstring= or --sql-dsn= without a value switches the backend off.
A DSN is user[:password]@tcp(host:port)/database; several, with spaces between
them, are used in turn. Others on this host see flags: keep passwords elsewhere.
`)
	return b.String()
}
