package access

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxCertificateBytes is the longest file of certificates or of a private key.
// All CAs that a system trusts have a quarter of it.
const MaxCertificateBytes = 1 << 20

// ReadFile reads a regular file, to which links may lead: so Kubernetes mounts
// secrets. Whatever else stands at the path is an error at once, and so is a file
// of more than maxBytes. Errors do not name the path.
func ReadFile(path string, maxBytes int64) ([]byte, error) {
	// Before it is opened: to open a device may do something, and a socket says
	// no more than that it has no such address.
	if err := checkRegular(os.Stat(path)); err != nil {
		return nil, err
	}
	// O_NONBLOCK: what has become a named pipe meanwhile would have it wait for
	// somebody who writes.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close() // only read: its error tells nothing
	if err := checkRegular(file.Stat()); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if int64(len(text)) > maxBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxBytes)
	}
	return text, nil
}

func checkRegular(info fs.FileInfo, err error) error {
	if err != nil {
		return withoutPath(err)
	}
	mode := info.Mode()
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.New("it is a directory, not a regular file")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("it is a named pipe, not a regular file")
	case mode&fs.ModeSocket != 0:
		return errors.New("it is a socket, not a regular file")
	case mode&fs.ModeDevice != 0:
		return errors.New("it is a device, not a regular file")
	default:
		return errors.New("it is not a regular file")
	}
}

// withoutPath spares a message the path, which whoever reads it knows.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
