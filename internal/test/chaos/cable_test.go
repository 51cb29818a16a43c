//go:build linux

package main

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// Bytes sent while a cable is cut arrive after it is mended, on the same connection, and not before: neither side gets
// an error.
func TestCableIsCutSilently(t *testing.T) {
	c, err := newCable()
	if errors.Is(err, errNotHere) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
		if _, err := net.InterfaceByName(cableDevice); err == nil {
			t.Error("the cable is in the network of the test")
		}
	})
	server, client := c.connect(t)
	for _, cut := range cuts() {
		say(t, client, server) // it works
		if err := cut.make(c); err != nil {
			t.Fatalf("%s: %v", cut.name, err)
		}
		if _, err := server.Write([]byte("x")); err != nil {
			t.Fatalf("%s: the server is told: %v", cut.name, err)
		}
		if err := client.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := client.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%s: the client reads %d bytes, %v", cut.name, n, err)
		}
		if err := cut.mend(c); err != nil {
			t.Fatalf("%s: %v", cut.name, err)
		}
		hear(t, client)
	}
}

func (c *cable) connect(t *testing.T) (server, client net.Conn) {
	t.Helper()
	var listener net.Listener
	err := c.atNear(func() (err error) {
		listener, err = net.Listen("tcp", nearAddress+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	err = c.atFar(func() (err error) {
		client, err = net.DialTimeout("tcp", listener.Addr().String(), hang)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return server, client
}

func say(t *testing.T, from, to net.Conn) {
	t.Helper()
	if _, err := from.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	hear(t, to)
}

func hear(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}
