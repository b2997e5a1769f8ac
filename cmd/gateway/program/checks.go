package program

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/store/sqlstore"
)

func checkListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errWant
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("the port is no number from 0 to 65535")
	}
	return nil
}

func checkAdminListen(c *Config) error {
	if err := checkListen(c.AdminListen); err != nil || checkListen(c.Listen) != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(c.Listen)
	adminHost, adminPort, _ := net.SplitHostPort(c.AdminListen)
	same := host == adminHost || isWildcard(host) || isWildcard(adminHost)
	if same && port == adminPort && port != "0" {
		return errors.New("it is the address of listen")
	}
	return nil
}

// isWildcard tells whether a listener on the host takes the port on all others
// too. Go listens on IPv6 and IPv4 for both wildcards.
func isWildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// backendNames lists the backends that are not switched off.
func (c *Config) backendNames() []string {
	var names []string
	if c.NDBConnectstring != "" {
		names = append(names, ndbName)
	}
	if len(c.SQLDSNs) > 0 {
		names = append(names, sqlName)
	}
	return names
}

// maxNameChars is how long MySQL lets the name of a database be.
const maxNameChars = 64

func checkDatabase(c *Config) error {
	if n := utf8.RuneCountInString(c.NDBDatabase); c.NDBConnectstring != "" && (n < 1 || n > maxNameChars) {
		return errWant
	}
	return nil
}

// checkConnectstring wants [nodeid=N,]host[:port][,host[:port]...]. It quotes
// nothing: a DSN may have strayed here, with commas in its password.
func checkConnectstring(connectstring string) error {
	if connectstring == "" {
		return nil
	}
	parts := strings.Split(connectstring, ",")
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if id, ok := strings.CutPrefix(part, "nodeid="); ok && i == 0 {
			if n, err := strconv.Atoi(id); err != nil || n < 1 || n > maxNodeID {
				return fmt.Errorf("the nodeid is no number from 1 to %d", maxNodeID)
			}
			if len(parts) == 1 {
				return errors.New("a host is missing")
			}
			continue
		}
		if !isHost(part) {
			return fmt.Errorf("part %d of %d is no host[:port]", i+1, len(parts))
		}
	}
	return nil
}

// isHost tells whether the address is a host name or an IP address, an IPv6
// address with brackets, and a port where there is a colon.
func isHost(address string) bool {
	host, rest := address, ""
	if i := strings.LastIndexByte(address, ':'); i > strings.LastIndexByte(address, ']') {
		host, rest = address[:i], address[i+1:]
		if port, err := strconv.ParseUint(rest, 10, 16); err != nil || port == 0 {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && net.ParseIP(inner) != nil
	}
	return host != "" && !strings.ContainsAny(host, " \t[]()/@:=;?#")
}

// checkDSNs leaves DSNs to those who use them, who never quote from one: any
// part of a broken DSN may be its password.
func checkDSNs(dsns []string) error {
	if len(dsns) == 0 {
		return nil
	}
	return (&sqlstore.Config{DSNs: dsns}).Validate()
}
