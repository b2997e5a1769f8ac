//go:build !unix

package transporter

import "net"

// directWriter is for systems whose sockets can be written without waiting.
// Elsewhere the writer goroutine does it all.
type directWriter struct{}

func newDirectWriter(net.Conn) *directWriter { return nil }

func (*directWriter) write([]byte) (int, error) { panic("transporter: no direct writer here") }
