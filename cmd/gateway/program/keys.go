package program

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

const keysUsage = `Usage: gateway keys new --name NAME --scopes SCOPES [--expires TIME]
       gateway keys check FILE

new makes an API key. Its line for the file of --api-keys goes to standard
output; the key itself to standard error, this once: only its hash is kept.
Callers send it as Authorization: Bearer KEY.

  --name     who gets the key; several keys may have the same name
  --scopes   read, write and admin, or some of them: read,write
  --expires  when it ends, as 2027-01-31T00:00:00Z or 2027-01-31 [never]

check reads a file as the gateway does, and lists names, scopes and ends.

To change a key, add a second line with the same name, have the callers take the
new key, and remove the old line. The gateway sees changes of the file.
`

// keysCommand runs gateway keys.
func keysCommand(args []string, p process) error {
	if len(args) == 0 {
		return usageError("keys takes new or check; see gateway keys --help")
	}
	switch args[0] {
	case "new":
		return newKey(args[1:], p)
	case "check":
		return checkKeys(args[1:], p.stdout)
	case "--help", "-help", "-h":
		_, err := io.WriteString(p.stdout, keysUsage)
		return err
	default:
		return usageError(fmt.Sprintf("argument %s: keys takes new or check", nameArgument(1, args[0])))
	}
}

func newKey(args []string, p process) error {
	var name string
	var scopes access.Scopes
	var expires time.Time
	rest, err := parseOptions(args, []option{
		word("name", "", &name),
		{name: "scopes", want: "read, write and admin, or some of them, with commas between them", set: func(text string) (err error) {
			scopes, err = access.ParseScopes(text)
			return err
		}},
		{name: "expires", want: "a time to come, as 2027-01-31T00:00:00Z or 2027-01-31", set: func(text string) (err error) {
			expires, err = parseExpiry(text, time.Now())
			return err
		}},
	})
	switch {
	case errors.Is(err, errHelp):
		_, err := io.WriteString(p.stdout, keysUsage)
		return err
	case err != nil:
		return err
	case len(rest) > 0 || name == "" || scopes == 0:
		return usageError("keys new takes --name and --scopes; see gateway keys --help")
	}
	secret, key, err := access.NewKey(name, scopes, expires)
	if err != nil {
		return usageError("flag --name: " + err.Error())
	}
	if _, err := fmt.Fprintln(p.stdout, key.String()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stderr, secret)
	return err
}

// parseExpiry takes a time, or a day that is the last one.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, text); err != nil {
			return time.Time{}, errWant
		}
		at = at.AddDate(0, 0, 1)
	}
	if !at.After(now) {
		return time.Time{}, errWant
	}
	return at, nil
}

func checkKeys(args []string, w io.Writer) error {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		_, err := io.WriteString(w, keysUsage)
		return err
	}
	if len(args) != 1 {
		return usageError("keys check takes one file")
	}
	keys, err := access.ReadKeys(args[0])
	if err != nil {
		return fmt.Errorf("keys check %s: %w", args[0], err)
	}
	now := time.Now()
	for i := range keys {
		if _, err := fmt.Fprintf(w, "%s  %s  %s\n", keys[i].Name, keys[i].Scopes, describeExpiry(keys[i].Expires, now)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%d keys\n", len(keys))
	return err
}

func describeExpiry(at, now time.Time) string {
	switch {
	case at.IsZero():
		return "never ends"
	case at.After(now):
		return "until " + at.UTC().Format(time.RFC3339)
	default:
		return "has ended on " + at.UTC().Format(time.RFC3339)
	}
}
