package completion

import (
	"fmt"
	"strings"
)

// fishText is for text between single quotes.
var fishText = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func fishQuoted(text string) string { return "'" + fishText.Replace(text) + "'" }

func writeFish(b *strings.Builder, p *Program) {
	fmt.Fprintf(b, "# Completion of %[1]s in fish: %[1]s completion fish | source\ncomplete -c %[1]s -f\n", p.Name)
	for i := range p.Commands {
		c := &p.Commands[i]
		fmt.Fprintf(b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", p.Name, c.Name, fishQuoted(c.Help))
		within := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s'", p.Name, c.Name)
		for _, f := range c.Flags {
			fmt.Fprintf(b, "%s -l %s%s -d %s\n", within, f.Name, fishValue(f), fishQuoted(f.Help))
		}
		fmt.Fprintf(b, "%s -l help -d help\n", within)
		if len(c.Words) > 0 {
			fmt.Fprintf(b, "%s -a %s\n", within, fishQuoted(strings.Join(c.Words, " ")))
		}
		if c.Files {
			fmt.Fprintf(b, "%s -F\n", within)
		}
	}
}

// fishValue says what follows a flag.
func fishValue(f Flag) string {
	switch {
	case f.Switch:
		return ""
	case f.File:
		return " -r -F"
	case len(f.Values) > 0:
		return " -x -a " + fishQuoted(strings.Join(f.Values, " "))
	default:
		return " -x"
	}
}
