package mgm

import (
	"errors"
	"fmt"
)

// ErrTLSRequired: the management server answers no one without TLS. Trying again
// is no use.
var ErrTLSRequired = errors.New("the management server requires TLS, which this client does not speak: " +
	"set RequireTls=0 for the management servers in the cluster's configuration, and let only trusted hosts reach them")

// The error codes of a management server. Those from 1700 are in its log, and
// may come from other versions.
const (
	CodeNotNow          = 1101 // the node ID is taken or not free yet, or the data nodes are not there
	CodeNotConfigured   = 1102 // the node ID is not in the configuration, or not for this host
	CodeUnknownHost     = 1103 // a host name has no address yet
	CodeNodeFailure     = 1703 // the data nodes have not finished with the last one
	CodeClusterNotReady = 1705
)

// Error is a refusal by a management server. The session goes on.
type Error struct {
	Code int // 0: the server gave none
	Text string
}

// Error gives the server's text and the code.
func (e *Error) Error() string {
	if e.Code == 0 {
		return e.Text
	}
	return fmt.Sprintf("%s (code %d)", e.Text, e.Code)
}

func (e *Error) isTemporary() bool {
	switch e.Code {
	case CodeNotNow, CodeUnknownHost, CodeNodeFailure, CodeClusterNotReady:
		return true
	case 0:
		return true // servers that have just started refuse this and that
	default:
		return false
	}
}

// Temporary tells whether the same call may succeed later, perhaps at another
// server: it does where a server could not be reached, gave no answer, or
// refused for the time being. It does not where the answer is final or makes no
// sense.
func Temporary(err error) bool {
	var refused *Error
	switch {
	case err == nil:
		return false
	case errors.As(err, &refused):
		return refused.isTemporary()
	default:
		return !errors.Is(err, ErrTLSRequired) && !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrConfig)
	}
}
