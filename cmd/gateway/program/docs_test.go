package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/internal/docstest"
)

//go:generate go test -run ^TestDocs . -update-docs

func TestDocs_Settings(t *testing.T) {
	var b strings.Builder
	writeSettingsTable(&b, "General", "")
	for _, topic := range topics() {
		title := strings.ToUpper(topic[:1]) + topic[1:]
		if topic == tlsTopic {
			title = "TLS"
		}
		writeSettingsTable(&b, title, topic)
	}
	docstest.Part(t, 3, "configuration.md", "settings", b.String())
}

func writeSettingsTable(b *strings.Builder, title, topic string) {
	fmt.Fprintf(b, "### %s\n\n| flag, variable | default | what it is | value |\n| --- | --- | --- | --- |\n", title)
	for _, s := range settings {
		if s.topic != topic {
			continue
		}
		fallback := "none"
		if s.fallback != "" {
			fallback = "`" + s.fallback + "`"
		}
		want := s.want
		if len(s.types) == 0 {
			want += "; not in the file itself"
		}
		if s.secret {
			want += "; a secret, never shown"
		}
		fmt.Fprintf(b, "| `--%s` `%s` | %s | %s | %s |\n", s.name, s.envName(), docstest.Cell(fallback), docstest.Cell(s.help), docstest.Cell(want))
	}
	b.WriteString("\n")
}

func TestDocs_CommandLine(t *testing.T) {
	var b strings.Builder
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"check", "--help"}, {"import", "--help"}, {"export", "--help"}, {"keys", "--help"}, {"completion", "--help"}, {"help", "settings"}} {
		r := runCommand(t, nil, args...)
		fmt.Fprintf(&b, "```text\n$ gateway %s\n%s```\n\n", strings.Join(args, " "), r.stdout)
	}
	docstest.Part(t, 3, "commands.md", "gateway", b.String())
}
