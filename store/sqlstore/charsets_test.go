package sqlstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

func patchFirst(t *testing.T, text string) models.EmployeePatch {
	t.Helper()
	return models.EmployeePatch{Values: models.Employee{First: &text}, Set: []models.Property{property(t, "first")}}
}

// An absent row is not looked for where the value could not be stored anyway,
// and the answer is the same with and without the row asked for.
func TestPatch_TextThatItsColumnLacks_RefusedBeforeAnythingIsSent(t *testing.T) {
	server := startServer(t)
	server.onRequest(func(request string) reply {
		return reply{none: request != charsetsRequest}
	})
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	for _, opts := range []store.PatchOptions{{}, {ReturnRow: true}} {
		_, err := s.Patch(t.Context(), 1, patchFirst(t, "grin 😀"), opts)
		wantError(t, err, store.ErrInvalid, nil)
		var broken *models.ValidationError
		if !errors.As(err, &broken) || broken.Fields[0].Property != "first" || broken.Fields[0].Rule != "charset" {
			t.Errorf("got error %q, want first named", err)
		}
		_, err = s.Patch(t.Context(), 1, patchFirst(t, "Åse 東"), opts)
		wantError(t, err, store.ErrNotFound, nil)
	}
	if n := server.count(charsetsRequest); n != 1 {
		t.Errorf("got the character sets asked %d times, want once", n)
	}
}

// Text that is too long makes no difference between an absent row and one that is
// there. Spaces at its end the server would cut off and say nothing.
func TestPatch_TextThatIsTooLong_RefusedWhateverIsStored(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, text := range []string{long, long[:64] + " "} {
		for _, absent := range []bool{true, false} {
			server := startServer(t)
			server.onRequest(func(request string) reply {
				switch {
				case request == charsetsRequest:
					return reply{}
				case !absent && strings.HasPrefix(request, "EXECUTE UPDATE"):
					return reply{code: 1406, message: "Data too long for column 'first' at row 1"}
				}
				return reply{none: absent}
			})
			s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
			_, err := s.Patch(t.Context(), 1, patchFirst(t, text), store.PatchOptions{})
			wantError(t, err, store.ErrInvalid, nil)
			var broken *models.ValidationError
			if !errors.As(err, &broken) || len(broken.Fields) != 1 || broken.Fields[0].Rule != "max" {
				t.Errorf("got error %q, want the rule max", err)
			}
			if n := server.count("EXECUTE UPDATE"); strings.HasSuffix(text, " ") && n > 0 {
				t.Errorf("got %d statements sent, want none", n)
			}
		}
	}
}

// Without the character sets, the server's own refusal remains.
func TestPatch_CharacterSetsNotTold_ServerDecides(t *testing.T) {
	server := startServer(t)
	server.on(charsetsRequest, fails(1142, "SELECT command denied to user 'hr_gateway'@'localhost' for table 'columns'"))
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	if _, err := s.Patch(t.Context(), 1, patchFirst(t, "grin 😀"), store.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

const charsetsRequest = "EXECUTE SELECT `column_name`,`is_nullable`,`character_set_name`,`character_maximum_length`,`column_type`" +
	" FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?"
