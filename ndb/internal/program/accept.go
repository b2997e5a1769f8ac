package program

// Accept is the program that accepts every row: for operations that are
// interpreted only for what they read beside.
func Accept() []byte {
	var b Builder
	b.Accept()
	p, err := b.Program()
	if err != nil {
		panic(err)
	}
	return p
}
