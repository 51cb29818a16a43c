package postgres

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// fate is a proxy's treatment of a commit.
type fate int

const (
	pass      fate = iota
	cutBefore      // the connection breaks before the server receives it
	cutAfter       // the connection breaks after the server has committed, before the client gets the answer
	hush           // the server has committed, and the client gets no more answers
)

// proxy connects a store and a server, as a network does, and breaks connections when a test wants it.
type proxy struct {
	t      *testing.T
	server string // its socket
	dir    string

	mu     sync.Mutex
	links  map[*link]struct{}
	gate   chan struct{}         // traffic waits until it is closed
	commit func(number int) fate // decides on a client's COMMIT, the first of which has the number 1
	after  func()                // called before the fate of a commit, except pass, becomes known
	seen   int                   // commits
	dialed int                   // connections
	away   bool                  // new connections are refused
	over   chan struct{}         // closed at the end of the test
}

type link struct {
	p      *proxy
	client net.Conn

	mu     sync.Mutex
	server net.Conn // once there is one
	over   bool
	lost   bool // no more traffic passes, and neither side is notified
	next   fate // of the server's next answer
}

func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	must(t, err)
	dir, err := os.MkdirTemp("", "sqluice-proxy-") // t.TempDir is too long for a socket
	must(t, err)
	open := make(chan struct{})
	close(open)
	p := &proxy{
		t: t, server: filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port)), dir: dir, links: map[*link]struct{}{}, gate: open,
		commit: func(int) fate { return pass }, after: func() {}, over: make(chan struct{}),
	}
	if !strings.HasPrefix(config.Host, "/") {
		t.Skip("the proxy knows unix sockets only")
	}
	listener, err := net.Listen("unix", filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", config.Port)))
	must(t, err)
	var accepting, running sync.WaitGroup
	accepting.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			running.Go(func() { p.connect(client, &running) })
		}
	})
	t.Cleanup(func() {
		must(t, listener.Close())
		close(p.over)
		p.unmute()
		accepting.Wait()
		p.cutAll()
		running.Wait()
		must(t, os.RemoveAll(dir))
	})
	return p
}

// url returns the URL of a database through the proxy.
func (p *proxy) url(address string) string {
	parsed, err := url.Parse(address)
	must(p.t, err)
	query := parsed.Query()
	query.Set("host", p.dir)
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

func (p *proxy) connect(client net.Conn, running *sync.WaitGroup) {
	l := &link{p: p, client: client}
	p.mu.Lock()
	p.dialed++
	p.links[l] = struct{}{}
	away := p.away
	p.mu.Unlock()
	if away {
		l.cut()
		return
	}
	p.wait() // while the gate is shut, the server must not see a connection either
	server, err := net.Dial("unix", p.server)
	if err != nil {
		l.cut() // as a server does that is down
		return
	}
	l.mu.Lock()
	l.server = server
	over := l.over
	l.mu.Unlock()
	if over {
		_ = server.Close() // nothing was sent on it
		return
	}
	running.Go(l.answers)
	l.requests()
}

// cut breaks the connection on both sides. It has no effect on a broken one.
func (l *link) cut() {
	l.mu.Lock()
	l.over = true
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
	l.mu.Unlock()
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	delete(l.p.links, l)
}

// cutAll breaks all connections at once.
func (p *proxy) cutAll() {
	p.mu.Lock()
	var links []*link
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.cut()
	}
}

// leave breaks all connections and refuses new ones, as a server does that is down. (A server that is about to stop would wait for
// a minute for the first message of new clients.) No traffic passes while it does so: a client with a broken connection could ask
// by another one that is not broken yet.
func (p *proxy) leave() {
	p.mute()
	defer p.unmute()
	p.mu.Lock()
	p.away = true
	p.mu.Unlock()
	p.cutAll()
}

// comeBack accepts connections again.
func (p *proxy) comeBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
}

// mute passes no more traffic, like a network that loses every packet. New connections are made and stay silent.
func (p *proxy) mute() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// unmute passes the waiting traffic, and all that follows.
func (p *proxy) unmute() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// strand makes the network forget the existing connections, as a firewall does: traffic on them is lost, and neither
// side learns that the other has closed. New ones work.
func (p *proxy) strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.mu.Lock()
		l.lost = true
		l.mu.Unlock()
	}
}

// stranded discards all traffic from one side of a lost connection.
func (l *link) stranded(in io.Reader) bool {
	l.mu.Lock()
	lost := l.lost
	l.mu.Unlock()
	if lost {
		_, _ = io.Copy(io.Discard, in) // until it is closed
		<-l.p.over
	}
	return lost
}

func (p *proxy) wait() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	<-gate
}

// onCommit sets the fates of commits from now on.
func (p *proxy) onCommit(decide func(number int) fate, after func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = 0
	p.commit, p.after = decide, after
}

func (p *proxy) decide() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	return p.commit(p.seen)
}

func (p *proxy) dealtWith() {
	p.mu.Lock()
	after := p.after
	p.mu.Unlock()
	after()
}

// dials returns the number of connections that were made, or tried.
func (p *proxy) dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialed
}

// message reads one message of the protocol, version 3: a client's first message has no type.
func message(r *bufio.Reader, typed bool) ([]byte, error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[len(head)-4:])
	if length < 4 || length > 1<<30 {
		return nil, errors.New("not a message")
	}
	all := make([]byte, len(head)+int(length)-4)
	copy(all, head)
	_, err := io.ReadFull(r, all[len(head):])
	return all, err
}

// endsTransaction reports whether a client's message runs a COMMIT: it binds a prepared one, or sends an unprepared one.
func endsTransaction(m []byte, prepared map[string]bool) bool {
	parts := bytes.SplitN(m[5:], []byte{0}, 3)
	if len(parts) < 3 {
		return false
	}
	switch m[0] {
	case 'P': // a statement's name and its text; one without a name is run by the next message
		prepared[string(parts[0])] = string(parts[1]) == "COMMIT"
		return false
	case 'B': // a portal's name and that of its statement
		return prepared[string(parts[1])]
	}
	return false
}

// requests carries the client's messages to the server. Messages up to a Sync are sent together, as they came.
func (l *link) requests() {
	defer l.cut()
	in := bufio.NewReader(l.client)
	typed := false
	var batch []byte
	commits := map[string]bool{} // the names of prepared statements that commit
	isCommit := false            // of the batch
	for {
		m, err := message(in, typed)
		if l.stranded(in) || err != nil {
			return
		}
		batch = append(batch, m...)
		isCommit = isCommit || typed && endsTransaction(m, commits)
		if typed && in.Buffered() > 0 && m[0] != 'S' {
			continue
		}
		if isCommit {
			isCommit = false
			next := l.p.decide()
			if next == cutBefore {
				l.p.dealtWith()
				return
			}
			l.mu.Lock()
			l.next = next
			l.mu.Unlock()
		}
		typed = true
		l.p.wait()
		if _, err := l.server.Write(batch); err != nil {
			return
		}
		batch = batch[:0]
	}
}

// answers carries the server's messages to the client.
func (l *link) answers() {
	defer l.cut()
	in := bufio.NewReader(l.server)
	for {
		m, err := message(in, true)
		if l.stranded(in) || err != nil {
			return
		}
		l.mu.Lock()
		next := l.next
		l.mu.Unlock()
		if next != pass {
			if m[0] != 'Z' { // ready for the next query
				continue
			}
			l.p.dealtWith()
			if next == cutAfter {
				return
			}
			_, _ = io.Copy(io.Discard, in) // until the connection is cut
			return
		}
		l.p.wait()
		if _, err := l.client.Write(m); err != nil {
			return
		}
	}
}
