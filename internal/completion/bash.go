package completion

import (
	"fmt"
	"strings"
)

// writeBash writes a function that needs nothing but bash. Bash takes the = of
// --name=value for a word of its own.
func writeBash(b *strings.Builder, p *Program) {
	fmt.Fprintf(b, `# Completion of %[1]s in bash: source <(%[1]s completion bash)
_%[1]s_completion() {
  local word=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} choice=
  if [[ $word == = ]]; then
    word=
  elif [[ $flag == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    choice=%[2]s
  else
    case ${COMP_WORDS[1]} in
`, p.Name, quoted(strings.Join(commandNames(p), " ")))
	for i := range p.Commands {
		bashCommand(b, &p.Commands[i])
	}
	fmt.Fprintf(b, `    esac
  fi
  if [[ $choice == FILES ]]; then
    compopt -o default 2>/dev/null # readline knows files best
    return 0
  fi
  # shellcheck disable=SC2207 # no word has a space
  COMPREPLY=($(compgen -W "$choice" -- "$word"))
}
complete -F _%[1]s_completion %[1]s
`, p.Name)
}

func commandNames(p *Program) []string {
	var names []string
	for _, c := range p.Commands {
		names = append(names, c.Name)
	}
	return names
}

func bashCommand(b *strings.Builder, c *Command) {
	fmt.Fprintf(b, "    %s)\n", c.Name)
	words := append([]string{}, c.Words...)
	fmt.Fprintf(b, "      case $flag in\n")
	var plain []string // flags whose values nobody knows
	for _, f := range c.Flags {
		words = append(words, "--"+f.Name)
		switch {
		case f.Switch:
		case f.File:
			fmt.Fprintf(b, "      --%s) choice=FILES ;;\n", f.Name)
		case len(f.Values) > 0:
			fmt.Fprintf(b, "      --%s) choice=%s ;;\n", f.Name, quoted(strings.Join(f.Values, " ")))
		default:
			plain = append(plain, "--"+f.Name)
		}
	}
	if len(plain) > 0 {
		fmt.Fprintf(b, "      %s) ;;\n", strings.Join(plain, " | "))
	}
	words = append(words, "--help")
	if c.Files {
		fmt.Fprintf(b, "      *)\n        choice=FILES\n        if [[ $word == -* ]]; then choice=%s; fi\n        ;;\n", quoted(strings.Join(words, " ")))
	} else {
		fmt.Fprintf(b, "      *) choice=%s ;;\n", quoted(strings.Join(words, " ")))
	}
	b.WriteString("      esac\n      ;;\n")
}
