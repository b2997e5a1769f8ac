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

// form is what a connectstring looks like.
const form = "[nodeid=N,]host[:port][,host[:port]...]"

// ParseConnectstring reads "[nodeid=N,]host[:port][,host[:port]…]". An IPv6
// address that has a port stands in brackets. Spaces around the parts do not
// matter. Errors number the parts and quote none: what is no connectstring may
// be a user with a password.
func ParseConnectstring(s string) (Connectstring, error) {
	cs := Connectstring{turn: new(atomic.Uint32)}
	parts := strings.Split(s, ",")
	for i, part := range parts {
		if err := cs.add(strings.TrimSpace(part)); err != nil {
			return Connectstring{}, fmt.Errorf("connectstring: part %d of %d %w; expected %s", i+1, len(parts), err, form)
		}
	}
	if len(cs.Addrs) == 0 {
		return Connectstring{}, fmt.Errorf("connectstring names no management server; expected %s", form)
	}
	return cs, nil
}

func (cs *Connectstring) add(part string) error {
	if key, value, ok := strings.Cut(part, "="); ok {
		return cs.set(strings.TrimSpace(key), strings.TrimSpace(value))
	}
	addr, err := parseAddr(part)
	if err != nil {
		return err
	}
	cs.Addrs = append(cs.Addrs, addr)
	return nil
}

// set takes the one setting that there is, which comes before all servers.
func (cs *Connectstring) set(key, value string) error {
	switch {
	case !strings.EqualFold(key, "nodeid"):
		return errors.New("is a setting that is not known")
	case cs.NodeID != 0 || len(cs.Addrs) > 0:
		return errors.New("is a nodeid, which stands once, and before the servers")
	}
	id, err := parseNodeID(value)
	if err != nil {
		return errors.New("has a nodeid that is not a number from 1 to 255")
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
			return "", errors.New("is no host[:port]")
		}
	}
	if host == "" || strings.ContainsAny(host, " \t[]/@") {
		return "", errors.New("has no valid host")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("has a port that is not a number from 1 to 65535")
	}
	return net.JoinHostPort(host, port), nil
}
