package completion

import (
	"fmt"
	"strings"
)

// zshText escapes what _arguments and _describe would take for their own signs.
var zshText = strings.NewReplacer(`\`, `\\`, `:`, `\:`, `[`, `\[`, `]`, `\]`)

// writeZsh writes a script that is sourced, or put in a folder of $fpath as
// _NAME.
func writeZsh(b *strings.Builder, p *Program) {
	fmt.Fprintf(b, `#compdef %[1]s
# Completion of %[1]s in zsh, after compinit: source <(%[1]s completion zsh)
_%[1]s() {
  if ((CURRENT == 2)); then
    local -a commands=(
`, p.Name)
	for _, c := range p.Commands {
		fmt.Fprintf(b, "      %s\n", quoted(c.Name+":"+zshText.Replace(c.Help)))
	}
	b.WriteString(`    )
    _describe command commands
    return
  fi
  local command=${words[2]}
  shift words
  ((CURRENT--))
  case $command in
`)
	for i := range p.Commands {
		zshCommand(b, &p.Commands[i])
	}
	fmt.Fprintf(b, `  esac
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _%[1]s "$@"
else
  compdef _%[1]s %[1]s
fi
`, p.Name)
}

func zshCommand(b *strings.Builder, c *Command) {
	fmt.Fprintf(b, "    %s)\n      _arguments", c.Name)
	for _, f := range c.Flags {
		spec := "--" + f.Name
		if !f.Switch {
			spec += "="
		}
		spec += "[" + zshText.Replace(f.Help) + "]"
		switch {
		case f.Switch:
		case f.File:
			spec += ":file:_files"
		case len(f.Values) > 0:
			spec += ":value:(" + strings.Join(f.Values, " ") + ")"
		default:
			spec += ":value:"
		}
		fmt.Fprintf(b, " \\\n        %s", quoted(spec))
	}
	fmt.Fprintf(b, " \\\n        %s", quoted("--help[help]"))
	if len(c.Words) > 0 {
		fmt.Fprintf(b, " \\\n        %s", quoted("*:argument:("+strings.Join(c.Words, " ")+")"))
	}
	if c.Files {
		fmt.Fprintf(b, " \\\n        %s", quoted("*:file:_files"))
	}
	b.WriteString("\n      ;;\n")
}
