package mgm

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// The commands, and the first lines of their replies.
const (
	CommandVersion    = "get version"
	CommandNodeID     = "get nodeid"
	CommandConfig     = "get config_v2"
	CommandServerPort = "get connection parameter"
	CommandStatus     = "get status"
	CommandEvents     = "dump events"

	headerVersion    = "version"
	headerNodeID     = "get nodeid reply"
	headerConfig     = "get config reply"
	headerServerPort = "get connection parameter reply"
	headerStatus     = "node status"
	headerEvents     = "dump events reply"
)

// Version is a version of NDB: 0x090702 is 9.7.2.
type Version uint32

// ThisVersion is the version whose protocol this is.
const ThisVersion Version = 0x090702

// String gives the version as people write it.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v>>16, v>>8&0xff, v&0xff) }

const (
	maxVersion  = 1<<32 - 1
	maxNodeID   = 255
	resultOK    = "Ok"
	portParam   = 406
	base64Line  = 76
	contentType = "ndbconfig/octet-stream"
)

// Version asks for the version of the management server.
func (s *Session) Version(ctx context.Context) (Version, error) {
	fields, err := s.call(ctx, CommandVersion, headerVersion, nil, nil)
	if err != nil {
		return 0, err
	}
	version, err := fields.Int("id", 0, maxVersion)
	return Version(version), err
}

// VersionReply answers CommandVersion.
func VersionReply(v Version) *Reply {
	major, minor, build := strconv.Itoa(int(v>>16)), strconv.Itoa(int(v>>8&0xff)), strconv.Itoa(int(v&0xff))
	return &Reply{Header: headerVersion, Fields: Fields{
		{"id", strconv.Itoa(int(v))},
		{"major", major},
		{"minor", minor},
		{"build", build},
		{"string", fmt.Sprintf("mysql-%v ndb-%v", v, v)},
		{"mysql_major", major},
		{"mysql_minor", minor},
		{"mysql_build", build},
	}}
}

// AllocNodeID reserves the wanted node ID for us, or with 0 any that is free;
// name is what logs and status displays call us. The data nodes keep the
// reservation for about 20 s, and the ID as long as a link with it is up. A
// refusal is an *Error; see Temporary. The ID of a client that has just left is
// refused for some 4 s.
func (s *Session) AllocNodeID(ctx context.Context, wanted signal.NodeID, name string) (signal.NodeID, error) {
	fields, err := s.call(ctx, CommandNodeID, headerNodeID, Fields{
		{"version", strconv.Itoa(int(ThisVersion))},
		{"nodetype", strconv.Itoa(int(TypeAPI))},
		{"nodeid", strconv.Itoa(int(wanted))},
		{"user", "mysqld"},
		{"password", "mysqld"},
		{"public key", "a public key"},
		{"endian", "little"},
		{"name", name},
		{"log_event", "0"}, // needed, or a refusal has no code
	}, refusal)
	if err != nil {
		return 0, err
	}
	id, err := fields.Int("nodeid", 1, maxNodeID)
	return signal.NodeID(id), err
}

// refusal is the error of a reply whose result is not Ok.
func refusal(fields Fields) error {
	result := fields.Get("result")
	if result == resultOK {
		return nil
	}
	code, _ := strconv.Atoi(fields.Get("error_code")) // 0 where there is none
	return &Error{Code: code, Text: result}
}

// WantedNodeID reads the arguments of CommandNodeID.
func (r *Request) WantedNodeID() (wanted signal.NodeID, name string, err error) {
	id, err := r.Fields.Int("nodeid", 0, maxNodeID)
	return signal.NodeID(id), r.Fields.Get("name"), err
}

// NodeIDReply grants a node ID.
func NodeIDReply(id signal.NodeID) *Reply {
	return &Reply{Header: headerNodeID, Fields: Fields{{"nodeid", strconv.Itoa(int(id))}, {"result", resultOK}}}
}

// NodeIDRefusal refuses one.
func NodeIDRefusal(e *Error) *Reply {
	return &Reply{Header: headerNodeID, Fields: Fields{{"result", e.Text}, {"error_code", strconv.Itoa(e.Code)}}}
}

// Config gets the configuration of the cluster, with the connections of own.
// An error that wraps ErrConfig says that it cannot be used.
func (s *Session) Config(ctx context.Context, own signal.NodeID) (*Config, error) {
	var body string
	_, err := s.call(ctx, CommandConfig, headerConfig, Fields{
		{"version", strconv.Itoa(int(ThisVersion))},
		{"nodetype", strconv.Itoa(int(TypeAPI))},
		{"node", strconv.Itoa(int(own))},
	}, func(fields Fields) error {
		if err := refusal(fields); err != nil {
			return err
		}
		size, err := fields.Int("Content-Length", 0, maxBodyBytes)
		if err != nil {
			return err
		}
		body, err = s.in.body(size)
		return err
	})
	if err != nil {
		return nil, err
	}
	encoded, err := base64.StdEncoding.DecodeString(body) // passes over ends of lines
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	var blob Blob
	if err := blob.Decode(encoded); err != nil {
		return nil, err
	}
	return blob.Config()
}

// ConfigNodeID reads whose connections CommandConfig asks for.
func (r *Request) ConfigNodeID() (signal.NodeID, error) {
	id, err := r.Fields.Int("node", 1, maxNodeID)
	return signal.NodeID(id), err
}

// ConfigReply answers CommandConfig.
func ConfigReply(b *Blob) *Reply {
	encoded := base64.StdEncoding.EncodeToString(b.AppendTo(nil))
	var body strings.Builder
	for len(encoded) > base64Line {
		body.WriteString(encoded[:base64Line] + "\n")
		encoded = encoded[base64Line:]
	}
	body.WriteString(encoded)
	size := body.Len()
	body.WriteString("\n") // is not counted
	return &Reply{Header: headerConfig, Body: body.String(), Fields: Fields{
		{"result", resultOK},
		{"Content-Length", strconv.Itoa(size)},
		{"Content-Type", contentType},
		{"Content-Transfer-Encoding", "base64"},
	}}
}

// ServerPort asks where a data node with a dynamic port listens now: ask anew
// for each connection, and only where the configuration has no fixed port. A
// node that is not up yet is an *Error.
func (s *Session) ServerPort(ctx context.Context, own, dataNode signal.NodeID) (int, error) {
	fields, err := s.call(ctx, CommandServerPort, headerServerPort, Fields{
		{"node1", strconv.Itoa(int(own))},
		{"node2", strconv.Itoa(int(dataNode))},
		{"param", strconv.Itoa(portParam)},
	}, refusal)
	if err != nil {
		return 0, err
	}
	port, err := fields.Int("value", -maxPort, maxPort)
	switch {
	case err != nil:
		return 0, err
	case port == 0:
		return 0, &Error{Text: fmt.Sprintf("port of data node %d is not known yet", dataNode)}
	default:
		return max(port, -port), nil // negative marks a dynamic one
	}
}

const maxPort = 1<<16 - 1

// PortNodeIDs reads the arguments of CommandServerPort.
func (r *Request) PortNodeIDs() (own, dataNode signal.NodeID, err error) {
	node1, err := r.Fields.Int("node1", 1, maxNodeID)
	if err != nil {
		return 0, 0, err
	}
	node2, err := r.Fields.Int("node2", 1, maxNodeID)
	if err != nil {
		return 0, 0, err
	}
	if _, err := r.Fields.Int("param", portParam, portParam); err != nil {
		return 0, 0, err
	}
	return signal.NodeID(node1), signal.NodeID(node2), nil
}

// PortReply answers CommandServerPort with a dynamic port.
func PortReply(port int) *Reply {
	return &Reply{Header: headerServerPort, Fields: Fields{{"value", strconv.Itoa(-port)}, {"result", resultOK}}}
}

// PortRefusal says why there is no dynamic port.
func PortRefusal(text string) *Reply {
	return &Reply{Header: headerServerPort, Fields: Fields{{"value", "0"}, {"result", text}}}
}
