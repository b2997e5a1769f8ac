package target

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// Limits of an answer.
const (
	maxLine   = 16 << 10
	maxAnswer = 64 << 20
)

// conn is one HTTP/1.1 connection with one request in flight at most. A broken
// one is opened again by the next request. Not safe for concurrent use.
type conn struct {
	dial    func(ctx context.Context) (net.Conn, error)
	timeout time.Duration
	reader  *bufio.Reader
	answer  answer

	watched context.Context // its end cuts off what waits
	unwatch func() bool

	mu    sync.Mutex // guards what is below against the end of the context
	link  net.Conn   // nil: not connected
	watch int        // grows with each context, so that the end of an older one does nothing
}

// answer is what came. Its body is valid until the next request.
type answer struct {
	status int
	body   []byte
	close  bool // the server closes the connection after it
	length int  // of the body; -1: it comes in chunks, -2: it ends with the connection
}

// roundTrip sends a request and reads its answer into c.answer.
func (c *conn) roundTrip(ctx context.Context, request []byte) error {
	link, err := c.connect(ctx)
	if err != nil {
		return linkError(err)
	}
	// The context's end is looked at after the deadline was set, so that it cannot
	// be missed.
	err = link.SetDeadline(time.Now().Add(c.timeout))
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		_, err = link.Write(request)
	}
	if err == nil {
		err = c.readAnswer()
	}
	if err != nil || c.answer.close {
		c.drop()
	}
	return linkError(err)
}

func (c *conn) connect(ctx context.Context) (net.Conn, error) {
	c.follow(ctx)
	if c.link != nil {
		return c.link, nil
	}
	dialing, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	link, err := c.dial(dialing)
	if err != nil {
		return nil, err
	}
	if c.reader == nil {
		c.reader = bufio.NewReaderSize(link, maxLine)
	} else {
		c.reader.Reset(link)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = link
	return link, nil
}

// follow has the end of the context cut off the request in flight, once for all
// requests with this context.
func (c *conn) follow(ctx context.Context) {
	if ctx == c.watched {
		return
	}
	if c.unwatch != nil {
		c.unwatch()
	}
	c.mu.Lock()
	c.watch++
	mine := c.watch
	c.mu.Unlock()
	c.watched = ctx
	c.unwatch = context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.link != nil && c.watch == mine {
			_ = c.link.SetDeadline(time.Unix(1, 0)) // fails only where it is closed
		}
	})
}

// drop closes the connection; the next request opens another one.
func (c *conn) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil {
		_ = c.link.Close()
		c.link = nil
	}
}

func (c *conn) close() {
	if c.unwatch != nil {
		c.unwatch()
	}
	c.drop()
}

// linkError gives an error of the connection its kind; nil stays nil.
func linkError(err error) error {
	if err == nil {
		return nil
	}
	var wrong *protocolError
	var timeout net.Error
	switch {
	case errors.As(err, &wrong):
		return &Error{Protocol, err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Timeout, err}
	default:
		return &Error{Connection, err}
	}
}

// protocolError is an answer that is no HTTP.
type protocolError struct{ text string }

func (e *protocolError) Error() string { return e.text }

func notHTTP(format string, args ...any) error {
	return &protocolError{"the answer is no HTTP/1.1: " + fmt.Sprintf(format, args...)}
}

// readAnswer reads one answer. Those of status 1xx come before it, and are
// passed over.
func (c *conn) readAnswer() error {
	for {
		if err := c.readHead(); err != nil {
			return err
		}
		if c.answer.status >= 200 {
			return c.readBody()
		}
	}
}

func (c *conn) readHead() error {
	line, err := c.readLine()
	if err != nil {
		return err
	}
	// HTTP/1.1 200 OK
	if len(line) < 12 || string(line[:7]) != "HTTP/1." {
		return notHTTP("it begins with %.40q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil || status < 100 {
		return notHTTP("it begins with %.40q", line)
	}
	c.answer.status, c.answer.length = status, -2
	c.answer.close = line[7] == '0'
	for {
		if line, err = c.readLine(); err != nil {
			return err
		}
		if len(line) == 0 {
			break
		}
		if err := c.answer.takeHeader(line); err != nil {
			return err
		}
	}
	if status == 204 || status == 304 {
		c.answer.length = 0
	}
	return nil
}

// takeHeader keeps what says how long the answer is.
func (a *answer) takeHeader(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return notHTTP("a header has no colon: %.40q", line)
	}
	value = bytes.TrimSpace(value)
	switch {
	case equalFold(name, "content-length") && a.length != -1:
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 {
			return notHTTP("Content-Length is %.40q", value)
		}
		a.length = n
	case equalFold(name, "transfer-encoding"):
		if !equalFold(value, "chunked") {
			return notHTTP("Transfer-Encoding is %.40q", value)
		}
		a.length = -1
	case equalFold(name, "connection"):
		a.close = a.close || equalFold(value, "close")
	}
	return nil
}

// equalFold compares ASCII without regard to case, without allocating.
func equalFold(got []byte, want string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i]|0x20 != want[i]|0x20 {
			return false
		}
	}
	return true
}

func (c *conn) readBody() (err error) {
	a := &c.answer
	switch {
	case a.length >= 0:
		a.body, err = c.appendN(a.body[:0], a.length)
	case a.length == -1:
		a.body, err = c.appendChunks(a.body[:0])
	default:
		a.close = true
		var body []byte
		body, err = io.ReadAll(io.LimitReader(c.reader, maxAnswer))
		a.body = append(a.body[:0], body...)
	}
	return err
}

func (c *conn) appendChunks(dst []byte) ([]byte, error) {
	for {
		line, err := c.readLine()
		if err != nil {
			return dst, err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 32)
		if err != nil || n < 0 {
			return dst, notHTTP("the length of a chunk is %.40q", line)
		}
		if n == 0 {
			break
		}
		if dst, err = c.appendN(dst, int(n)); err != nil {
			return dst, err
		}
		if line, err = c.readLine(); err != nil {
			return dst, err
		}
		if len(line) > 0 {
			return dst, notHTTP("a chunk is longer than it says")
		}
	}
	for { // trailers
		if line, err := c.readLine(); err != nil || len(line) == 0 {
			return dst, err
		}
	}
}

// appendN appends the next n bytes.
func (c *conn) appendN(dst []byte, n int) ([]byte, error) {
	if len(dst)+n > maxAnswer {
		return dst, notHTTP("it is longer than %d bytes", maxAnswer)
	}
	from := len(dst)
	if cap(dst) < from+n {
		dst = append(make([]byte, 0, from+n), dst...)
	}
	dst = dst[:from+n]
	_, err := io.ReadFull(c.reader, dst[from:])
	return dst, err
}

// readLine returns a line without its end, valid until the next read.
func (c *conn) readLine() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, notHTTP("a line is longer than %d bytes", c.reader.Size())
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
