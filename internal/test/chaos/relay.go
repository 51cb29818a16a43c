//go:build linux

package main

import (
	"bytes"
	"errors"
	"net"
	"sync"
)

// relay stands between processes and a server, as a network does. It accepts TCP connections and passes their bytes on,
// until it must keep them, break connections or forget some.
type relay struct {
	listener net.Listener
	server   string // its socket
	running  sync.WaitGroup

	mu    sync.Mutex
	links map[*link]struct{}
	open  chan struct{} // closed while bytes pass
	over  bool
}

// link is a connection through a relay.
type link struct {
	client, server net.Conn

	mu       sync.Mutex
	special  bool // it listens or holds a lock
	stranded bool // nothing passes any more, and neither side gets an error
	left     bool // the client has closed it
}

func newRelay(server string) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: listener, server: server, links: map[*link]struct{}{}, open: make(chan struct{})}
	close(r.open)
	r.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			r.running.Go(func() { r.connect(client) })
		}
	})
	return r, nil
}

func (r *relay) address() string { return r.listener.Addr().String() }

// connect serves a client. One that comes during a partition gets no answer before its end.
func (r *relay) connect(client net.Conn) {
	r.wait()
	server, err := net.Dial("unix", r.server)
	if err != nil {
		_ = client.Close() // like a server that is down
		return
	}
	l := &link{client: client, server: server}
	r.mu.Lock()
	r.links[l] = struct{}{}
	over := r.over
	r.mu.Unlock()
	if over {
		l.cut()
	}
	r.running.Go(func() { r.pass(l, server, client, nil) })
	r.pass(l, client, server, l.look)
	l.mu.Lock()
	l.left = true
	stranded := l.stranded
	l.mu.Unlock()
	if stranded {
		return // the server gets no error
	}
	l.cut()
	r.mu.Lock()
	delete(r.links, l)
	r.mu.Unlock()
}

// pass copies the bytes of one side to the other until one of them ends.
func (r *relay) pass(l *link, from, to net.Conn, look func([]byte)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if look != nil {
				look(buffer[:n])
			}
			r.wait()
			if !l.isStranded() {
				if _, err := to.Write(buffer[:n]); err != nil {
					l.cut()
					return
				}
			}
		}
		if err != nil {
			if !l.isStranded() {
				l.cut()
			}
			return
		}
	}
}

// look finds out the use of a client's connection.
func (l *link) look(said []byte) {
	if bytes.Contains(said, []byte("LISTEN ")) || bytes.Contains(said, []byte("pg_advisory_lock(")) {
		l.mu.Lock()
		l.special = true
		l.mu.Unlock()
	}
}

func (l *link) isStranded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stranded
}

func (l *link) hasLeft() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left
}

func (l *link) cut() {
	_ = l.client.Close() // one that is broken already counts too
	_ = l.server.Close()
}

func (r *relay) wait() {
	r.mu.Lock()
	open := r.open
	r.mu.Unlock()
	<-open
}

func (r *relay) all() []*link {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*link
	for l := range r.links {
		list = append(list, l)
	}
	return list
}

// strand forgets the connections that listen or hold locks, like a firewall after a restart: bytes sent on them are
// lost, and neither side gets an error.
func (r *relay) strand() []*link {
	var list []*link
	for _, l := range r.all() {
		l.mu.Lock()
		if l.special && !l.left && !l.stranded {
			l.stranded = true
			list = append(list, l)
		}
		l.mu.Unlock()
	}
	return list
}

// part keeps all bytes back, both ways, from now on.
func (r *relay) part() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = make(chan struct{})
}

// heal passes on the bytes that were kept back, or breaks all connections instead.
func (r *relay) heal(lossless bool) {
	if !lossless {
		for _, l := range r.all() {
			if !l.isStranded() {
				l.cut()
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.open:
	default:
		close(r.open)
	}
}

// close ends all connections.
func (r *relay) close() error {
	err := r.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.heal(true)
	for _, l := range r.all() {
		l.cut()
	}
	r.running.Wait()
	return err
}
