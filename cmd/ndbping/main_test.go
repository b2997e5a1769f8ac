package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCommand_WrongConnectstring_SaysTheFormAndQuotesNothing(t *testing.T) {
	for _, connectstring := range []string{"root:s3cret", "h,root:s3cret@tcp(h:1)/d", "s3cret=1,h"} {
		var stdout, stderr bytes.Buffer
		code := command([]string{"--connectstring", connectstring}, &stdout, &stderr)
		text := stderr.String()
		if code != 1 || stdout.Len() > 0 || !strings.Contains(text, "host[:port]") || strings.Contains(text, "s3cret") {
			t.Errorf("%s: got code %d, %q, %q, want 1, nothing and the form", connectstring, code, stdout.String(), text)
		}
	}
}
