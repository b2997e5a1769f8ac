package program

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Interpreted is the ATTRINFO of a scan or of a key operation that runs a
// program: what to read before, the program, what to update, what to read
// after, and subroutines or parameters of the program. Each part is whole words,
// and may be empty.
type Interpreted struct {
	InitialRead []byte
	Program     []byte
	Update      []byte
	FinalRead   []byte
	Subroutine  []byte
}

func (p *Interpreted) parts() [5]*[]byte {
	return [...]*[]byte{&p.InitialRead, &p.Program, &p.Update, &p.FinalRead, &p.Subroutine}
}

// AppendTo appends the five lengths in words, and the parts.
func (p *Interpreted) AppendTo(dst []byte) []byte {
	for _, part := range p.parts() {
		if len(*part)%word.SizeBytes != 0 {
			panic(fmt.Sprintf("program: a part of ATTRINFO has %d bytes", len(*part)))
		}
		dst = word.Append(dst, uint32(len(*part)/word.SizeBytes))
	}
	for _, part := range p.parts() {
		dst = append(dst, *part...)
	}
	return dst
}

// Decode overwrites p with the parts of src, with which they share memory.
// Errors wrap row.ErrMalformed.
func (p *Interpreted) Decode(src []byte) error {
	r := word.NewReader(src)
	var lengths [5]uint32
	for i := range lengths {
		lengths[i] = r.Uint32()
	}
	for i, part := range p.parts() {
		if uint64(lengths[i]) > uint64(r.Len()) {
			return fmt.Errorf("%w: part of %d words in an interpreted request %w", row.ErrMalformed, lengths[i], word.ErrShort)
		}
		*part = r.Bytes(int(lengths[i]) * word.SizeBytes)
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("%w: interpreted request %w", row.ErrMalformed, err)
	}
	return nil
}

// AppendInterpreted appends an Interpreted of the given parts.
func AppendInterpreted(dst, initialRead, program, update, finalRead, subroutine []byte) []byte {
	p := Interpreted{initialRead, program, update, finalRead, subroutine}
	return p.AppendTo(dst)
}
