package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/ndbgate/ndbgate/api"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// A mortal is a gateway with the native road that kills itself, as kill -9 does,
// at a point of the first write that keeps an answer under a key. It is this
// test's program, started once more with these variables.
const (
	mortalPoint = "E2E_MORTAL_POINT"
	mortalKey   = "E2E_MORTAL_KEY"
)

// The points.
const (
	beforeSend  = "before the transaction is sent"
	afterSend   = "after the transaction is sent"
	afterCommit = "after the commit is known, before the client learns of it"
)

func startMortal(t *testing.T, point, key string) *gateway {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mortalPoint+"="+point, mortalKey+"="+key)
	return start(t, cmd)
}

// die does what kill -9 does, and never returns.
func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}

// mortalMain runs until it dies.
func mortalMain() int {
	if err := serveMortal(os.Getenv(mortalPoint), os.Getenv(mortalKey)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func serveMortal(point, key string) error {
	s, err := ndbapi.Open(ndbapi.Config{
		Connectstring: os.Getenv("TEST_NDB_CONNECTSTRING"),
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &mortalConn{Conn: conn, point: point, key: []byte(key)}, err
		},
	})
	if err != nil {
		return err
	}
	backends := store.NewRegistry("ndb")
	backends.Add("ndb", &mortalStore{Store: s, point: point})
	var addresses []string
	ended := make(chan error)
	for _, handler := range []http.Handler{api.New(backends, api.Options{}), api.NewAdmin(backends, api.AdminOptions{})} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, l.Addr().String())
		go func() { ended <- http.Serve(l, handler) }() // ends with the process
	}
	line, err := json.Marshal(map[string]string{"msg": "listening", "address": addresses[0], "admin_address": addresses[1]})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s\n", line)
	return <-ended
}

// mortalConn is a connection to a data node. The key goes over it as it is.
type mortalConn struct {
	net.Conn
	point string
	key   []byte
}

func (c *mortalConn) Write(b []byte) (int, error) {
	if !bytes.Contains(b, c.key) {
		return c.Conn.Write(b)
	}
	if c.point == beforeSend {
		die()
	}
	n, err := c.Conn.Write(b)
	if c.point == afterSend {
		die()
	}
	return n, err
}

type mortalStore struct {
	*ndbapi.Store
	point string
}

func (s *mortalStore) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	err := s.Store.CreateOnce(ctx, e, a)
	if err == nil && s.point == afterCommit {
		die()
	}
	return err
}
