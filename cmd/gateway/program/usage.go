package program

import (
	"fmt"
	"slices"
	"strings"
)

// screenColumns is how wide help is. Each command's has at most 23 lines, so that
// it fits a screen of 24; help settings alone may be longer.
const screenColumns = 80

// commandHelp is a command with what it does, in few words.
type commandHelp struct{ name, help string }

var commandList = []commandHelp{
	{"serve", "serve until SIGINT or SIGTERM; a second signal ends at once"},
	{"check", "try every backend once; exit code 0 where all of them answer"},
	{"import", "store the rows of a file by a gateway that runs"},
	{"export", "write the rows of a gateway that runs to a file"},
	{"keys", "make an API key, or check a file of them"},
	{"completion", "print what bash, zsh or fish need to complete all this"},
	{"version", "print what this program was built from"},
	{"help", "tell of a command, or of all settings: help settings"},
}

// commandNames lists the commands but for help, which nobody has to be told of.
func commandNames() []string {
	var names []string
	for _, c := range commandList {
		if c.name != "help" {
			names = append(names, c.name)
		}
	}
	return names
}

func usage() string {
	var b strings.Builder
	b.WriteString(`Usage: gateway COMMAND [--SETTING=VALUE ...]

Serves the employees of a MySQL NDB Cluster over HTTP. Each request chooses its
road to the rows with the header X-Backend.

Commands:
`)
	for _, c := range commandList {
		fmt.Fprintf(&b, "  %-10s  %s\n", c.name, c.help)
	}
	b.WriteString(`
Every command has --help; gateway help settings tells of all settings.
Exit codes: 0 fine, 1 failed, 2 wrong command line or setting.
`)
	return b.String()
}

// settingsUsage is the help of a command that takes settings.
func settingsUsage(command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: gateway %s [--SETTING=VALUE ...]\n\n", command)
	if command == "check" {
		fmt.Fprintf(&b, "Tries every backend once, for %v at most. Exit codes: 0 all answer, 1 not all.\n", checkTimeout)
	}
	b.WriteString("Settings used most, their defaults in brackets; all: gateway help settings\n")
	writeSettings(&b, "")
	b.WriteString(`
A setting is taken from its flag, else from its environment variable
(GATEWAY_SQL_DSN for --sql-dsn), else from the file, else from its default.
--ndb-connectstring= or --sql-dsn= without a value switches the backend off.
A DSN is user[:password]@tcp(host:port)/database; several, with spaces between
them, are used in turn. Others on this host see flags: keep passwords elsewhere.
`)
	return b.String()
}

// topics lists the topics of settings in the order of the table, but for the one
// without a name.
func topics() []string {
	var names []string
	for _, s := range settings {
		if s.topic != "" && !slices.Contains(names, s.topic) {
			names = append(names, s.topic)
		}
	}
	return names
}

// allSettings tells of every setting, topic by topic.
func allSettings() string {
	var b strings.Builder
	b.WriteString("Settings of gateway serve and gateway check, with their defaults in brackets.\n\n")
	writeSettings(&b, "")
	for _, name := range topics() {
		b.WriteString("\n" + topicUsage(name))
	}
	b.WriteString(`
Each has an environment variable, GATEWAY_SQL_DSN for --sql-dsn, and a key in
the YAML file, sql-dsn. The flag is stronger than the variable, the variable
than the file. gateway serve --help tells what a DSN looks like.
`)
	return b.String()
}

// topicUsage tells of the settings of one topic.
func topicUsage(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Settings for %s:\n", name)
	writeSettings(&b, name)
	return b.String()
}

// writeSettings writes a line for each setting of the topic, or two where one is
// too narrow.
func writeSettings(b *strings.Builder, topic string) {
	const helpColumn = 26
	for _, s := range settings {
		if s.topic != topic {
			continue
		}
		line := fmt.Sprintf("  --%-*s  %s", helpColumn-6, s.name, s.help)
		if s.fallback != "" {
			fallback := "[" + s.fallback + "]"
			if len(line)+1+len(fallback) > screenColumns {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", helpColumn-1)
			}
			line += " " + fallback
		}
		b.WriteString(line + "\n")
	}
}
