package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// hostile is a server like that of `sqluice serve`, with shorter timeouts.
func hostile(t *testing.T, within time.Duration) (address string) {
	t.Helper()
	handler, err := admin.New(jobs.New(testdb.SQLite(t)), admin.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httpServer(handler, slog.New(slog.DiscardHandler))
	if server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.WriteTimeout <= 0 || server.IdleTimeout <= 0 || server.MaxHeaderBytes <= 0 {
		t.Errorf("the server waits without a bound: %+v", server)
	}
	if within > 0 {
		server.ReadHeaderTimeout, server.ReadTimeout, server.IdleTimeout = within, within, within
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answered returns the status of the answer on a connection.
func answered(t *testing.T, conn net.Conn) int {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// closed reports whether the server has closed a connection without an answer, or after one.
func closed(conn net.Conn) error {
	_, err := io.Copy(io.Discard, conn)
	return err
}

func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestHugeBodies checks that a gigabyte is refused before it is sent if its length is given, and otherwise soon after the limit.
func TestHugeBodies(t *testing.T) {
	address := hostile(t, 0)
	const header = "POST /api/admin/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	before := live()
	conns := make([]net.Conn, 20)
	for i := range conns {
		conns[i] = dial(t, address)
		fmt.Fprintf(conns[i], header+"Content-Length: %d\r\n\r\n{", 1<<30)
		if status := answered(t, conns[i]); status != http.StatusRequestEntityTooLarge {
			t.Errorf("a body that says it has a gigabyte is answered with %d", status)
		}
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 64<<10, strings.Repeat(" ", 64<<10))
	for range 5 {
		conn := dial(t, address)
		refused := make(chan int, 1)
		go func() {
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				refused <- 0
				return
			}
			refused <- answer.StatusCode
		}()
		sent := 0
		_, err := io.WriteString(conn, header+"Transfer-Encoding: chunked\r\n\r\n")
		for err == nil && sent < 1<<30 {
			var n int
			n, err = io.WriteString(conn, chunk)
			sent += n
		}
		if sent >= 64<<20 {
			t.Errorf("%d MiB of a body are taken", sent>>20)
		}
		// The server may close the connection before the client reads the answer: unread data makes that a reset.
		if status := <-refused; status != http.StatusRequestEntityTooLarge && status != 0 {
			t.Errorf("a body that does not end is answered with %d", status)
		}
	}
	if grown := live() - before; grown > 32<<20 {
		t.Errorf("the server holds %d MiB after huge bodies", grown>>20)
	}
}

// TestSlowClients checks that the server does not wait for slow clients.
func TestSlowClients(t *testing.T) {
	address := hostile(t, 200*time.Millisecond)
	for name, text := range map[string]string{
		"no header": "", "half a header": "GET /api/admin/stats HTTP/1.1\r\nHost: local",
	} {
		conn := dial(t, address)
		fmt.Fprint(conn, text)
		if err := closed(conn); err != nil {
			t.Errorf("a client that sends %s is waited for: %v", name, err)
		}
	}
	conn := dial(t, address)
	fmt.Fprint(conn, "POST /api/admin/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{")
	if status := answered(t, conn); status != http.StatusRequestTimeout {
		t.Errorf("half a body is answered with %d", status)
	}
	conn = dial(t, address)
	fmt.Fprint(conn, "GET /api/admin/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err := closed(conn); err != nil {
		t.Errorf("a connection that nothing more comes on is kept: %v", err)
	}
}

// TestHugeHeaders checks that headers that are too large are refused, and the next request is served.
func TestHugeHeaders(t *testing.T) {
	address := hostile(t, 0)
	filters := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&filters, "&kind=k%d", i)
	}
	for name, test := range map[string]struct {
		text   string
		status int
	}{
		"ten thousand filters": {"GET /api/admin/jobs?" + filters.String()[1:] + " HTTP/1.1\r\nHost: localhost\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"a thousand filters":   {"GET /api/admin/jobs?" + strings.Repeat("&kind=k", 1500)[1:] + " HTTP/1.1\r\nHost: localhost\r\n\r\n", http.StatusRequestURITooLong},
		"a huge field":         {"GET /api/admin/stats HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"ten thousand fields":  {"GET /api/admin/stats HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-Field: value\r\n", 10_000) + "\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"a plain request":      {"GET /api/admin/stats HTTP/1.1\r\nHost: localhost\r\n\r\n", http.StatusOK},
	} {
		conn := dial(t, address)
		go func() { _, _ = io.WriteString(conn, test.text) }() // which the server need not read to the end
		if status := answered(t, conn); status != test.status {
			t.Errorf("%s: answered with %d, want %d", name, status, test.status)
		}
	}
}

// TestManyConnections checks that connections that send nothing use few resources and do not delay others.
func TestManyConnections(t *testing.T) {
	address := hostile(t, 0)
	before := live()
	for range 500 {
		dial(t, address)
	}
	conn := dial(t, address)
	fmt.Fprint(conn, "GET /api/admin/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if status := answered(t, conn); status != http.StatusOK {
		t.Errorf("beside 500 silent connections a request is answered with %d", status)
	}
	if grown := live() - before; grown > 32<<20 {
		t.Errorf("500 silent connections hold %d MiB", grown>>20)
	}
}
