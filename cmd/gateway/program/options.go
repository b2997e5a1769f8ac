package program

import (
	"fmt"
	"slices"
	"strings"
)

// option is one flag of a command that is a client of a gateway.
type option struct {
	name string
	help string
	want string // completes "expected ..."
	// words are those that shells propose as values.
	words []string
	set   func(value string) error
}

// choice is an option that takes one of some words.
func choice(name, help string, value *string, words ...string) option {
	return option{
		name: name, help: help, want: strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1], words: words,
		set: func(text string) error {
			if !slices.Contains(words, text) {
				return errWant
			}
			*value = text
			return nil
		},
	}
}

// word is an option that takes any text.
func word(name, help string, value *string) option {
	return option{name: name, help: help, set: func(text string) error { *value = text; return nil }}
}

// parseOptions sets what --name=value and --name value say, and returns all other
// arguments. It returns errHelp or a usageError.
func parseOptions(args []string, options []option) (rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		if name == "--help" || name == "-help" || name == "-h" {
			return nil, errHelp
		}
		if !strings.HasPrefix(name, "--") {
			rest = append(rest, args[i])
			continue
		}
		at := slices.IndexFunc(options, func(o option) bool { return "--"+o.name == name })
		if at < 0 {
			return nil, usageError(fmt.Sprintf("unknown flag %s%s", nameArgument(i, name), hint(name, "--", optionNames(options))))
		}
		if !hasValue {
			if i++; i == len(args) {
				return nil, usageError(fmt.Sprintf("flag %s: its value is missing", name))
			}
			value = args[i]
		}
		if err := options[at].set(value); err != nil {
			return nil, usageError(fmt.Sprintf("flag %s: %s: expected %s", name, quoteHarmless(value), options[at].want))
		}
	}
	return rest, nil
}

func optionNames(options []option) []string {
	var names []string
	for _, o := range options {
		names = append(names, o.name)
	}
	return names
}

func optionsUsage(options []option) string {
	var b strings.Builder
	for _, o := range options {
		fmt.Fprintf(&b, "  --%-12s  %s\n", o.name, o.help)
	}
	return b.String()
}
