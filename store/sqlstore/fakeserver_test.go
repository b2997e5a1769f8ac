package sqlstore_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeServer speaks as much of MySQL's protocol as the store uses. It holds no
// rows: every write finds one row, and a SELECT of a row returns the columns
// id = 1 and department = 1. Its text columns are utf8mb3. A test decides what
// it answers instead.
type fakeServer struct {
	t       *testing.T
	address string

	mu       sync.Mutex // guards what is below
	listener net.Listener
	conns    map[net.Conn]bool
	seen     []string
	answer   func(request string) reply
	sessions int // so far
	uuid     string

	running sync.WaitGroup
	silence chan struct{} // closed when a request first gets no answer
	silent  sync.Once
}

// A request is "CONNECT", "QUERY COMMIT", "PREPARE SELECT …" or
// "EXECUTE SELECT …", for a probe or ping "PROBE EXECUTE SELECT …", and at the
// end of a connection "QUIT".
type reply struct {
	cut     bool   // close the connection instead of an answer
	silent  bool   // no answer
	code    uint16 // an error
	message string
	none    bool // no row is found
}

func startServer(t *testing.T) *fakeServer {
	t.Helper()
	s := &fakeServer{t: t, address: "127.0.0.1:0", conns: map[net.Conn]bool{}, silence: make(chan struct{}), uuid: "6ccd780c"}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *fakeServer) dsn() string { return "hr_gateway:s3cr3t@tcp(" + s.address + ")/ndbtest" }

func (s *fakeServer) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.listener, s.address = l, l.Addr().String()
	s.mu.Unlock()
	s.running.Go(func() { s.accept(l) }) // ends when stop closes l
}

// stop closes the port and all connections, as a killed mysqld does.
func (s *fakeServer) stop() {
	s.mu.Lock()
	s.listener.Close()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// on sets what is answered to requests that begin with the prefix; the rest is
// answered well.
func (s *fakeServer) on(prefix string, r reply) {
	s.onRequest(func(request string) reply {
		if strings.HasPrefix(request, prefix) {
			return r
		}
		return reply{}
	})
}

func (s *fakeServer) onRequest(answer func(request string) reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *fakeServer) reply(request string) reply {
	s.mu.Lock()
	s.seen = append(s.seen, request)
	answer := s.answer
	s.mu.Unlock()
	if answer == nil {
		return reply{}
	}
	r := answer(request)
	if r.silent {
		s.silent.Do(func() { close(s.silence) })
	}
	return r
}

func (s *fakeServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// count tells how many requests began with the prefix.
func (s *fakeServer) count(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, request := range s.seen {
		if strings.HasPrefix(request, prefix) {
			n++
		}
	}
	return n
}

func (s *fakeServer) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.sessions++
		id := s.sessions
		s.mu.Unlock()
		s.running.Go(func() { // ends when either side closes the connection
			(&fakeConn{server: s, conn: c, in: bufio.NewReader(c), id: id}).serve()
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

type fakeConn struct {
	server *fakeServer
	conn   net.Conn
	in     *bufio.Reader
	seq    byte
	stmts  []string
	id     int // of the session
}

// The commands and capabilities used, from MySQL's protocol manual.
const (
	comQuit, comQuery, comPrepare, comExecute, comClose = 0x01, 0x03, 0x16, 0x17, 0x19

	capabilities = 0x1 | 0x2 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000 | 0x1000000
)

func (c *fakeConn) serve() {
	if r := c.server.reply("CONNECT"); !c.handshake(r) {
		return
	}
	for {
		c.seq = 0
		packet, ok := c.read()
		if !ok || !c.command(packet[0], packet[1:]) {
			return
		}
	}
}

func (c *fakeConn) handshake(r reply) bool {
	if r.silent {
		_, _ = io.Copy(io.Discard, c.in)
	}
	if r.cut || r.silent {
		return false
	}
	hello := append([]byte{10}, "9.9-fake\x00\x01\x00\x00\x0012345678\x00"...)
	hello = binary.LittleEndian.AppendUint16(hello, capabilities&0xFFFF)
	hello = append(hello, 45, 2, 0)
	hello = binary.LittleEndian.AppendUint16(hello, capabilities>>16)
	hello = append(hello, 21)
	hello = append(hello, make([]byte, 10)...)
	hello = append(hello, "123456789012\x00mysql_native_password\x00"...)
	c.write(hello)
	if _, ok := c.read(); !ok {
		return false
	}
	c.finish(r)
	return r.code == 0
}

func (c *fakeConn) command(command byte, body []byte) bool {
	request := ""
	switch command {
	case comQuery:
		request = "QUERY " + string(body)
	case comPrepare:
		request = "PREPARE " + string(body)
		c.stmts = append(c.stmts, string(body))
	case comExecute:
		request = "EXECUTE " + c.stmts[binary.LittleEndian.Uint32(body)]
	case comClose:
		return true
	case comQuit:
		c.server.reply("QUIT")
		return false
	default:
		return false
	}
	if strings.HasSuffix(request, "FROM `employee` LIMIT ?") { // no condition
		request = "PROBE " + request
	}
	r := c.server.reply(request)
	switch {
	case r.cut:
		return false
	case r.silent:
		return true
	case r.code == 0 && request == askSession:
		c.named()
	case r.code != 0 || command == comQuery:
		c.finish(r)
	case command == comPrepare:
		c.prepared(string(body))
	default:
		c.executed(request, r)
	}
	return true
}

// finish ends an answer with OK or the error.
func (c *fakeConn) finish(r reply) {
	if r.code != 0 {
		packet := binary.LittleEndian.AppendUint16([]byte{0xFF}, r.code)
		c.write(append(append(packet, "#HY000"...), r.message...))
		return
	}
	rows := byte(1)
	if r.none {
		rows = 0
	}
	c.write([]byte{0, rows, 0, 2, 0, 0, 0})
}

const askSession = "QUERY SELECT CONNECTION_ID(), @@server_uuid"

// named answers askSession.
func (c *fakeConn) named() {
	c.server.mu.Lock()
	uuid := c.server.uuid
	c.server.mu.Unlock()
	c.write([]byte{2})
	c.column("CONNECTION_ID()")
	c.column("@@server_uuid")
	c.write(appendTexts(nil, strconv.Itoa(c.id), uuid))
	c.write([]byte{0xFE, 0, 0, 2, 0, 0, 0})
}

// appendTexts appends texts with their lengths before them.
func appendTexts(packet []byte, texts ...string) []byte {
	for _, text := range texts {
		packet = append(packet, byte(len(text)))
		packet = append(packet, text...)
	}
	return packet
}

func (c *fakeConn) prepared(query string) {
	params, columns := strings.Count(query, "?"), columnsOf(query)
	packet := binary.LittleEndian.AppendUint32([]byte{0}, uint32(len(c.stmts)-1))
	packet = binary.LittleEndian.AppendUint16(packet, uint16(len(columns)))
	packet = binary.LittleEndian.AppendUint16(packet, uint16(params))
	c.write(append(packet, 0, 0, 0))
	for range params {
		c.column("?")
	}
	for _, name := range columns {
		c.column(name)
	}
}

func (c *fakeConn) executed(request string, r reply) {
	columns := columnsOf(request)
	if len(columns) == 0 {
		c.finish(r)
		return
	}
	c.write([]byte{byte(len(columns))})
	for _, name := range columns {
		c.column(name)
	}
	switch {
	case r.none:
	case strings.Contains(request, "information_schema"):
		for _, column := range []string{"first", "last", "municipality"} {
			c.write(appendTexts([]byte{0, 0}, column, "YES", "utf8mb3", "64", "varchar(64)"))
		}
	default:
		c.row(columns)
	}
	c.write([]byte{0xFE, 0, 0, 2, 0, 0, 0})
}

var selected = regexp.MustCompile("^(?:PROBE )?(?:EXECUTE )?SELECT (.*) FROM")

// columnsOf are the names in SELECT `t`.`a`,`t`.`b` FROM.
func columnsOf(query string) []string {
	m := selected.FindStringSubmatch(query)
	if m == nil {
		return nil
	}
	names := strings.Split(m[1], ",")
	for i, name := range names {
		names[i] = strings.Trim(name[strings.LastIndex(name, ".")+1:], "`")
	}
	return names
}

func (c *fakeConn) column(name string) {
	const bigint, integer, varString = 8, 3, 253
	kind := byte(varString)
	switch name {
	case "id":
		kind = bigint
	case "department":
		kind = integer
	}
	packet := []byte{3, 'd', 'e', 'f', 0, 0, 0, byte(len(name))}
	packet = append(packet, name...)
	c.write(append(packet, 0, 12, 45, 0, 64, 0, 0, 0, kind, 0, 0, 0, 0, 0))
}

// row has 1 in id and department, and NULL elsewhere.
func (c *fakeConn) row(columns []string) {
	nulls := make([]byte, (len(columns)+9)/8)
	var values []byte
	for i, name := range columns {
		switch name {
		case "id":
			values = binary.LittleEndian.AppendUint64(values, 1)
		case "department":
			values = binary.LittleEndian.AppendUint32(values, 1)
		default:
			nulls[(i+2)/8] |= 1 << ((i + 2) % 8)
		}
	}
	c.write(append(append([]byte{0}, nulls...), values...))
}

func (c *fakeConn) read() ([]byte, bool) {
	var header [4]byte
	if _, err := io.ReadFull(c.in, header[:]); err != nil {
		return nil, false
	}
	packet := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
	if _, err := io.ReadFull(c.in, packet); err != nil || len(packet) == 0 {
		return nil, false
	}
	c.seq = header[3] + 1
	return packet, true
}

// write sends a packet; an error shows at the next read.
func (c *fakeConn) write(body []byte) {
	n := len(body)
	_, _ = c.conn.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), c.seq}, body...))
	c.seq++
}
