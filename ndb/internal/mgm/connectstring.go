// Package mgm speaks the management protocol: it gets a node ID and the
// cluster's configuration from a management server.
package mgm

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// DefaultPort is where management servers listen.
const DefaultPort = 1186

// Connectstring says where the management servers are. Its copies share where
// the next Dial begins.
type Connectstring struct {
	NodeID signal.NodeID // that is wanted; 0 leaves the choice to the server
	Addrs  []string      // host:port, in the order in which they are tried

	turn *atomic.Uint32
}

// next is the address whose turn it is.
func (cs Connectstring) next() string {
	turn := cs.turn.Add(1) - 1
	return cs.Addrs[turn%uint32(len(cs.Addrs))]
}

// ParseConnectstring reads "[nodeid=N,]host[:port][,host[:port]…]". An IPv6
// address that has a port stands in brackets. Spaces around the parts do not
// matter.
func ParseConnectstring(s string) (Connectstring, error) {
	cs := Connectstring{turn: new(atomic.Uint32)}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if key, value, ok := strings.Cut(part, "="); ok {
			if err := cs.set(key, value); err != nil {
				return Connectstring{}, fmt.Errorf("connectstring %q: %w", s, err)
			}
			continue
		}
		addr, err := parseAddr(part)
		if err != nil {
			return Connectstring{}, fmt.Errorf("connectstring %q: %w", s, err)
		}
		cs.Addrs = append(cs.Addrs, addr)
	}
	if len(cs.Addrs) == 0 {
		return Connectstring{}, fmt.Errorf("connectstring %q: names no management server", s)
	}
	return cs, nil
}

// set takes the one setting that there is, which comes before all servers.
func (cs *Connectstring) set(key, value string) error {
	switch {
	case !strings.EqualFold(strings.TrimSpace(key), "nodeid"):
		return fmt.Errorf("unknown setting %q", key)
	case cs.NodeID != 0 || len(cs.Addrs) > 0:
		return errors.New("nodeid stands once, and before the servers")
	}
	id, err := parseNodeID(strings.TrimSpace(value))
	if err != nil {
		return err
	}
	cs.NodeID = id
	return nil
}

func parseNodeID(s string) (signal.NodeID, error) {
	id, err := strconv.ParseUint(s, 10, 8)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("node id %q is not a number from 1 to 255", s)
	}
	return signal.NodeID(id), nil
}

// parseAddr adds the port where there is none.
func parseAddr(part string) (string, error) {
	host, port := part, strconv.Itoa(DefaultPort)
	bracketed := strings.HasPrefix(part, "[")
	switch {
	case bracketed && strings.HasSuffix(part, "]"):
		host = part[1 : len(part)-1]
	case bracketed || strings.Count(part, ":") == 1:
		var err error
		if host, port, err = net.SplitHostPort(part); err != nil {
			return "", err // names the address
		}
	}
	if host == "" || strings.ContainsAny(host, " \t[]/@") {
		return "", fmt.Errorf("%q has no valid host", part)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q of %q is not a number from 1 to 65535", port, part)
	}
	return net.JoinHostPort(host, port), nil
}
