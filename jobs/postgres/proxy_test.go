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

// fate is what a proxy does with a commit.
type fate int

const (
	pass      fate = iota
	cutBefore      // the connection breaks before the server hears of it
	cutAfter       // the connection breaks when the server has done it, before the client hears of that
	hush           // the server has done it, and the client hears nothing more of anything
)

// proxy stands between a store and a server, as a network does, and breaks connections when a test wants it.
type proxy struct {
	t      *testing.T
	server string // its socket
	dir    string

	mu     sync.Mutex
	links  map[*link]struct{}
	gate   chan struct{}         // what comes waits until it is closed
	commit func(number int) fate // decides on a client's COMMIT, the first of which has the number 1
	after  func()                // called before a commit's fate, but for pass, becomes known
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
	lost   bool // nothing gets through any more, and neither side is told
	next   fate // of the answer that the server gives next
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

// url is the way to a database through the proxy.
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
		l.cut() // as the server would, which is down
		return
	}
	l.mu.Lock()
	l.server = server
	over := l.over
	l.mu.Unlock()
	if over {
		_ = server.Close() // nothing was said on it
		return
	}
	running.Go(l.answers)
	l.requests()
}

// cut breaks the connection on both sides. One that is broken already is as good.
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

// leave breaks all connections and refuses new ones, as a server that is down. (One that is about to go down would wait
// for a minute for the first words of those who have just come.) Nothing gets through while it does so: whose connection is broken
// could ask by another one that is still to be.
func (p *proxy) leave() {
	p.mute()
	defer p.unmute()
	p.mu.Lock()
	p.away = true
	p.mu.Unlock()
	p.cutAll()
}

// comeBack takes connections again.
func (p *proxy) comeBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
}

// mute lets nothing through any more, as a network that loses every packet. New connections are made and say nothing.
func (p *proxy) mute() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// unmute lets through what has waited, and all that follows.
func (p *proxy) unmute() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// strand makes the network forget the connections that there are, as a firewall does: what is said on them is lost, and
// neither side hears that the other has closed it. New ones work.
func (p *proxy) strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.mu.Lock()
		l.lost = true
		l.mu.Unlock()
	}
}

// stranded swallows all that one side of a lost connection says.
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

// onCommit sets what becomes of commits from now on.
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

// dials is how many connections were made, or tried.
func (p *proxy) dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialed
}

// message reads one message of the protocol, version 3: the first that a client sends has no type.
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

// endsTransaction reports whether a client's message has a COMMIT run: it binds a prepared one, or sends one that is not.
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

// requests carries what the client says to the server. Messages go together as they came, up to a Sync.
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

// answers carries what the server says to the client.
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
