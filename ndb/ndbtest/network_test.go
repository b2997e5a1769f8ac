package ndbtest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func memoryPair(t *testing.T) (client, server net.Conn, l net.Listener) {
	t.Helper()
	n := newMemoryNetwork()
	l, err := n.listen("host", 0)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = n.dial(t.Context(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _, _ = client.Close(), server.Close(), l.Close()
	})
	return client, server, l
}

func TestMemoryNetwork_CarriesMoreThanItsBuffer(t *testing.T) {
	client, server, _ := memoryPair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), memoryBufferSize/4)
	done := make(chan error)
	go func() { // ends once all is read
		_, err := client.Write(sent)
		done <- errors.Join(err, client.Close())
	}()
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("got %d bytes (%v), want %d", len(got), err, len(sent))
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := server.Write([]byte("x")); !errors.Is(err, errReset) {
		t.Errorf("write to a closed end: got %v, want %v", err, errReset)
	}
}

func TestMemoryNetwork_Deadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, _ := memoryPair(t)
		start := time.Now()
		_ = client.SetDeadline(start.Add(time.Second))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if _, err := client.Write(make([]byte, 2*memoryBufferSize)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		_ = client.SetDeadline(time.Time{})
		_ = server.SetWriteDeadline(time.Now().Add(time.Second))
		go func() { _, _ = server.Write([]byte("late")) }() // ends at once
		if n, err := client.Read(make([]byte, 10)); n != 4 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

func TestMemoryNetwork_ClosedListener_Refuses(t *testing.T) {
	n := newMemoryNetwork()
	l, err := n.listen("host", 7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.listen("host", 7); !errors.Is(err, errAddressUsed) {
		t.Errorf("got %v, want %v", err, errAddressUsed)
	}
	waiting, err := n.dial(t.Context(), "host:7")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	if _, err := n.dial(t.Context(), "host:7"); !errors.Is(err, errRefused) {
		t.Errorf("got %v, want %v", err, errRefused)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}
