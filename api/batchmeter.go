package api

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxItemBytes is the longest item of a batch, as the longest body of a single
// request: a decoder holds a whole value, and the names of all members of an object,
// in memory.
const maxItemBytes = 64 << 10

// itemMeter passes a body on, so much of it as one item may have.
type itemMeter struct {
	body io.Reader
	read int64 // bytes that were passed on
	end  int64 // and how many may be
}

// next makes room for an item, which begins behind what the decoder has given.
func (m *itemMeter) next(dec *jsontext.Decoder) { m.end = dec.InputOffset() + maxItemBytes }

func (m *itemMeter) Read(p []byte) (int, error) {
	if m.read >= m.end {
		return 0, newProblem(codeBodyTooLarge, fmt.Sprintf("an item, and all of the body beside its items, may hold %d bytes", maxItemBytes))
	}
	n, err := m.body.Read(p[:min(int64(len(p)), m.end-m.read)])
	m.read += int64(n)
	return n, err
}
