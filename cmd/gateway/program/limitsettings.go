package program

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// limitsTopic is the page of the help with the settings of this file.
const limitsTopic = "limits"

// Limits of limits.
const (
	maxRate        = 1_000_000
	maxConnections = 1_000_000
	minItems       = 1_000 // as many as a batch takes at a time
	maxItems       = 10_000_000

	// placesPerConn is how many requests may be at a road for each connection of its
	// pool. While one is served seven wait, so that the pool always has work, and
	// nobody waits for long.
	placesPerConn = 8
)

// limit is a number of the help's page about limits.
func limit(name, fallback, help string, least, most int, field func(*Config) *int) setting {
	s := number(name, fallback, help, field)
	s.topic = limitsTopic
	s.want = fmt.Sprintf("a whole number from %d to %d", least, most)
	s.check = func(c *Config) error {
		if n := *field(c); n < least || n > most {
			return errWant
		}
		return nil
	}
	return s
}

func trustedProxies() setting {
	return setting{
		topic: limitsTopic, name: "trusted-proxies", help: "whose X-Forwarded-For tells the client",
		want: "networks or addresses with commas between them, such as 10.0.0.0/8,::1",
		list: ",", types: []string{yamlText},
		parse: func(c *Config, value string) error {
			c.TrustedProxies = nil
			if strings.TrimSpace(value) == "" {
				return nil
			}
			for part := range strings.SplitSeq(value, ",") {
				network, err := parseNetwork(strings.TrimSpace(part))
				if err != nil {
					return err
				}
				c.TrustedProxies = append(c.TrustedProxies, network)
			}
			return nil
		},
		show: func(c *Config) string {
			var texts []string
			for _, network := range c.TrustedProxies {
				texts = append(texts, network.String())
			}
			return strings.Join(texts, ",")
		},
	}
}

// parseNetwork takes a network, or an address as one of its own.
func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errWant
	}
	if network.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("write a network of IPv4 without ::ffff: in front")
	}
	return network.Masked(), nil
}

// maxInFlight is how many requests each road takes.
func (c *Config) maxInFlight() map[string]int {
	most := map[string]int{
		ndbName: placesPerConn * c.NDBMaxTransactions,
		sqlName: placesPerConn * c.SQLMaxOpenConns * len(c.SQLDSNs),
	}
	if c.MaxInFlight > 0 {
		for name := range most {
			most[name] = c.MaxInFlight
		}
	}
	return most
}

// descriptorsBeside is what the process needs of its open files for itself: logs,
// listeners, the admin listener's clients, connections to the management server
// and the data nodes.
const descriptorsBeside = 256

// fittingConnections is how many connections the process can have with so many open
// files, where the pools of SQL nodes need theirs; at least one.
func (c *Config) fittingConnections(descriptors uint64) int {
	const far = 1 << 31 // more than anything here
	free := int(min(descriptors, far)) - descriptorsBeside - c.SQLMaxOpenConns*len(c.SQLDSNs)
	return max(min(c.MaxConnections, free), 1)
}
