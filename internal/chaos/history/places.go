package history

// places is a set of numbers below maxOpen.
type places [maxOpen / 64]uint64

const maxOpen = 256

func (p places) has(i int) bool { return p[i/64]&(1<<(i%64)) != 0 }

func (p places) with(i int) places {
	p[i/64] |= 1 << (i % 64)
	return p
}

func (p places) without(i int) places {
	p[i/64] &^= 1 << (i % 64)
	return p
}

// split returns what of the set is in another one, and the rest.
func (p places) split(by places) (in, rest places) {
	for i := range p {
		in[i], rest[i] = p[i]&by[i], p[i]&^by[i]
	}
	return in, rest
}

// isWithin tells whether the other set has all of this one.
func (p places) isWithin(other places) bool {
	_, rest := p.split(other)
	return rest == places{}
}
