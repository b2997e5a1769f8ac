// Package completion writes what shells need to complete the command lines of
// this project's programs.
package completion

import (
	"fmt"
	"io"
	"strings"
)

// Program is a program whose first argument is a command.
type Program struct {
	Name     string
	Commands []Command
}

// Command is one command of a program. Its arguments are Words, or files.
type Command struct {
	Name  string
	Help  string // a few words on one line
	Flags []Flag
	Words []string // to choose an argument from
	Files bool     // arguments are files
}

// Flag is --Name, with a value unless it is a Switch. The value is one of Values,
// or a file, or else nothing that can be completed.
type Flag struct {
	Name   string
	Help   string // a few words on one line
	Values []string
	File   bool
	Switch bool
}

// Shells lists the shells that Write knows.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Write writes the script that the shell is to read. The shell is one of Shells.
func Write(w io.Writer, shell string, p *Program) error {
	var b strings.Builder
	switch shell {
	case "bash":
		writeBash(&b, p)
	case "zsh":
		writeZsh(&b, p)
	case "fish":
		writeFish(&b, p)
	default:
		return fmt.Errorf("completion for the shell %q is not known", shell)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoted puts text between single quotes, as bash and zsh take it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
