//go:build unix

package transporter

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// directWriter writes to a socket without ever waiting for it, as the holder of
// the pen does.
type directWriter struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // made once: a closure for each write would be garbage

	buf []byte
	n   int
	err error
}

// newDirectWriter returns nil where nc is no plain TCP connection: something
// that wraps one must see what is written.
func newDirectWriter(nc net.Conn) *directWriter {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	w := &directWriter{raw: raw}
	w.try = func(fd uintptr) bool {
		w.n, w.err = syscall.Write(int(fd), w.buf)
		return true // done, whatever came of it
	}
	return w
}

// write writes what the socket takes now, which may be nothing.
func (w *directWriter) write(buf []byte) (int, error) {
	w.buf = buf
	err := w.raw.Write(w.try)
	w.buf = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(w.err, syscall.EAGAIN), errors.Is(w.err, syscall.EINTR):
		return 0, nil
	case w.err != nil:
		return 0, os.NewSyscallError("write", w.err)
	default:
		return w.n, nil
	}
}
