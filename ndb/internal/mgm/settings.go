package mgm

import (
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// The keys that are read. What they stand for was seen in the blobs that a
// management server made of different config.ini files.
const (
	keySystemName                     Key = 3 // in the system section
	keyNodeID                         Key = 3 // in a node's
	keyHostName                       Key = 5
	keyMaxNoOfConcurrentOperations    Key = 107
	keyHeartbeatIntervalDBAPI         Key = 119 // ms
	keyTransactionInactiveTimeout     Key = 130 // ms
	keyTransactionDeadlockDetection   Key = 131 // ms
	keyArbitrationRank                Key = 200
	keyMGMPort                        Key = 300
	keyNodeID1                        Key = 400
	keyNodeID2                        Key = 401
	keySendSignalID                   Key = 402
	keyChecksum                       Key = 403
	keyServerPort                     Key = 406 // signed
	keyHostName1                      Key = 407
	keyHostName2                      Key = 408
	keyServer                         Key = 410 // node ID of the one that listens
	keySendBufferMemory               Key = 454
	keyReceiveBufferMemory            Key = 455
	keyRequireTLS                     Key = 462
	keyMaxDMLOperationsPerTransaction Key = 627
	keyMaxScanBatchSize               Key = 800
	keyBatchByteSize                  Key = 801
	keyBatchSize                      Key = 802
	keyConnectBackoffMaxTime          Key = 807 // ms
)

// neverTimeout is how a server writes "never", in ms.
const neverTimeout = 0xfffffeff

// settings reads a section and its default section. A setting that is in
// neither has the value that its server would use. The first one of the wrong
// kind stays in err.
type settings struct {
	section, defaults *Section
	err               error
}

// lookup returns the entry of a key, or nil.
func (s *settings) lookup(key Key, text bool) *Entry {
	for _, section := range []*Section{s.section, s.defaults} {
		for i := range section.Entries {
			e := &section.Entries[i]
			if e.Key != key {
				continue
			}
			if (e.Kind == KindText) != text && s.err == nil {
				s.err = fmt.Errorf("%w: key %d has kind %d", ErrConfig, key, e.Kind)
			}
			return e
		}
	}
	return nil
}

func (s *settings) number(key Key, fallback uint32) uint32 {
	if e := s.lookup(key, false); e != nil {
		return uint32(e.Number)
	}
	return fallback
}

func (s *settings) milliseconds(key Key, fallback uint32) time.Duration {
	return time.Duration(s.number(key, fallback)) * time.Millisecond
}

func (s *settings) flag(key Key, fallback uint32) bool { return s.number(key, fallback) != 0 }

func (s *settings) text(key Key) string {
	if e := s.lookup(key, true); e != nil {
		return e.Text
	}
	return ""
}

func (s *settings) nodeID(key Key) signal.NodeID {
	n := s.number(key, 0)
	if (n == 0 || n > maxNodeID) && s.err == nil {
		s.err = fmt.Errorf("%w: key %d has node id %d", ErrConfig, key, n)
	}
	return signal.NodeID(n)
}

// Config reads what a client needs. All errors wrap ErrConfig.
func (b *Blob) Config() (*Config, error) {
	system := settings{section: &b.System, defaults: &Section{}}
	c := &Config{SystemName: system.text(keySystemName)}
	if system.err != nil {
		return nil, system.err
	}
	for i := range b.Nodes {
		node, err := b.node(&b.Nodes[i])
		if err != nil {
			return nil, err
		}
		if _, twice := c.Node(node.ID); twice {
			return nil, fmt.Errorf("%w: node %d stands twice", ErrConfig, node.ID)
		}
		c.Nodes = append(c.Nodes, node)
	}
	for i := range b.Connections {
		if b.Connections[i].Type != SectionTCP {
			continue
		}
		link, err := b.link(&b.Connections[i])
		if err != nil {
			return nil, err
		}
		c.Links = append(c.Links, link)
	}
	return c, nil
}

func (b *Blob) node(section *Section) (Node, error) {
	if section.Type < SectionDataNode || section.Type > SectionMGM {
		return Node{}, fmt.Errorf("%w: a node in a section of type %d", ErrConfig, section.Type)
	}
	s := settings{section: section, defaults: &b.Defaults[section.Type-1]}
	n := Node{
		ID:   s.nodeID(keyNodeID),
		Type: NodeType(section.Type - SectionDataNode),
		Host: s.text(keyHostName),
	}
	switch n.Type {
	case TypeData:
		n.DataNode = DataNodeConfig{
			HeartbeatInterval:              s.milliseconds(keyHeartbeatIntervalDBAPI, 1500),
			TransactionInactiveTimeout:     s.milliseconds(keyTransactionInactiveTimeout, 0),
			TransactionDeadlockDetection:   s.milliseconds(keyTransactionDeadlockDetection, 1200),
			MaxConcurrentOperations:        s.number(keyMaxNoOfConcurrentOperations, 32768),
			MaxDMLOperationsPerTransaction: s.number(keyMaxDMLOperationsPerTransaction, 1<<32-1),
		}
		if n.DataNode.TransactionInactiveTimeout >= neverTimeout*time.Millisecond {
			n.DataNode.TransactionInactiveTimeout = 0
		}
	case TypeAPI:
		n.ArbitrationRank = int(s.number(keyArbitrationRank, 0))
		n.API = APINodeConfig{
			ScanBatchRows:     s.number(keyBatchSize, 256),
			ScanBatchBytes:    s.number(keyBatchByteSize, 16<<10),
			MaxScanBatchBytes: s.number(keyMaxScanBatchSize, 256<<10),
			ConnectBackoffMax: s.milliseconds(keyConnectBackoffMaxTime, 1500),
		}
	case TypeMGM:
		n.ArbitrationRank = int(s.number(keyArbitrationRank, 1))
		n.Port = int(s.number(keyMGMPort, DefaultPort))
	}
	return n, s.err
}

func (b *Blob) link(section *Section) (Link, error) {
	s := settings{section: section, defaults: &b.Defaults[SectionTCP-1]}
	l := Link{
		Node1: s.nodeID(keyNodeID1), Node2: s.nodeID(keyNodeID2),
		Host1: s.text(keyHostName1), Host2: s.text(keyHostName2),
		Port:               int(int32(s.number(keyServerPort, 0))),
		SignalID:           s.flag(keySendSignalID, 1),
		Checksum:           s.flag(keyChecksum, 0),
		RequireTLS:         s.flag(keyRequireTLS, 0),
		SendBufferBytes:    s.number(keySendBufferMemory, 2<<20),
		ReceiveBufferBytes: s.number(keyReceiveBufferMemory, 2<<20),
	}
	if l.Port > maxPort {
		return Link{}, fmt.Errorf("%w: port %d", ErrConfig, l.Port)
	}
	return l, s.err
}

// Blob is the configuration as a management server sends it. Settings that are
// zero here are left out, so that a client takes their defaults.
func (c *Config) Blob() *Blob {
	b := &Blob{System: Section{Type: SectionSystem, Entries: []Entry{text(keySystemName, c.SystemName)}}}
	for i := range b.Defaults {
		b.Defaults[i].Type = SectionType(i + 1)
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		b.Nodes = append(b.Nodes, Section{Type: SectionType(n.Type) + SectionDataNode, Entries: n.entries()})
	}
	for i := range c.Links {
		b.Connections = append(b.Connections, Section{Type: SectionTCP, Entries: c.Links[i].entries()})
	}
	return b
}

func (n *Node) entries() []Entry {
	entries := []Entry{number(keyNodeID, uint32(n.ID)), text(keyHostName, n.Host)}
	switch n.Type {
	case TypeData:
		return appendSettings(entries,
			number(keyMaxNoOfConcurrentOperations, n.DataNode.MaxConcurrentOperations),
			milliseconds(keyHeartbeatIntervalDBAPI, n.DataNode.HeartbeatInterval),
			milliseconds(keyTransactionInactiveTimeout, n.DataNode.TransactionInactiveTimeout),
			milliseconds(keyTransactionDeadlockDetection, n.DataNode.TransactionDeadlockDetection),
			number(keyMaxDMLOperationsPerTransaction, n.DataNode.MaxDMLOperationsPerTransaction),
		)
	case TypeAPI:
		return appendSettings(append(entries, number(keyArbitrationRank, uint32(n.ArbitrationRank))),
			number(keyMaxScanBatchSize, n.API.MaxScanBatchBytes),
			number(keyBatchByteSize, n.API.ScanBatchBytes),
			number(keyBatchSize, n.API.ScanBatchRows),
			milliseconds(keyConnectBackoffMaxTime, n.API.ConnectBackoffMax),
		)
	default:
		return appendSettings(append(entries, number(keyArbitrationRank, uint32(n.ArbitrationRank))), number(keyMGMPort, uint32(n.Port)))
	}
}

func (l *Link) entries() []Entry {
	return appendSettings([]Entry{
		number(keyNodeID1, uint32(l.Node1)),
		number(keyNodeID2, uint32(l.Node2)),
		number(keySendSignalID, flag(l.SignalID)),
		number(keyChecksum, flag(l.Checksum)),
		number(keyServerPort, uint32(int32(l.Port))),
		text(keyHostName1, l.Host1),
		text(keyHostName2, l.Host2),
		number(keyServer, uint32(l.Node2)),
		number(keyRequireTLS, flag(l.RequireTLS)),
	},
		number(keySendBufferMemory, l.SendBufferBytes),
		number(keyReceiveBufferMemory, l.ReceiveBufferBytes),
	)
}

// appendSettings appends those that are not zero.
func appendSettings(entries []Entry, settings ...Entry) []Entry {
	for _, e := range settings {
		if e.Number != 0 {
			entries = append(entries, e)
		}
	}
	return entries
}

func number(key Key, n uint32) Entry { return Entry{Key: key, Kind: KindUint32, Number: uint64(n)} }

func milliseconds(key Key, d time.Duration) Entry { return number(key, uint32(d/time.Millisecond)) }

func text(key Key, s string) Entry { return Entry{Key: key, Kind: KindText, Text: s} }

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
