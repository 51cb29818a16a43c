package postgres

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// withoutTLS returns the address of a server that refuses TLS.
func withoutTLS(t *testing.T) string {
	t.Helper()
	return answering(t, func(conn net.Conn) { _, _ = conn.Write([]byte("N")) }) // a client that has left needs no answer
}

// strange returns the address of a server whose certificate no client trusts.
func strange(t *testing.T) string {
	t.Helper()
	web := httptest.NewTLSServer(nil) // creates a certificate
	t.Cleanup(web.Close)
	return answering(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("S"))
		_ = tls.Server(conn, web.TLS).Handshake() // the client breaks this off
	})
}

// answering returns the address of a server that answers the request for TLS.
func answering(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			running.Go(func() {
				defer func() { _ = conn.Close() }() // the client may have closed it first
				if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
					return
				}
				answer(conn)
			})
		}
	})
	t.Cleanup(func() {
		must(t, listener.Close())
		running.Wait()
	})
	return listener.Addr().String()
}

// unserved returns an address at which no server listens.
func unserved(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close())
	return listener.Addr().String()
}

// A server that does not offer the TLS that the URL asks for never will: that ends a runner at its start.
func TestServerWithoutTLS(t *testing.T) {
	t.Parallel()
	first, second := withoutTLS(t), withoutTLS(t)
	for _, mode := range []string{"require", "verify-ca", "verify-full"} {
		for _, hosts := range []string{first, first + "," + second} {
			store, client := open(t, fmt.Sprintf("postgres://u:s3cr3t@%s/db?sslmode=%s", hosts, mode))
			err := newRunner(t, client, jobs.Config{}, handlers{"k": nothing}).Run(t.Context())
			if err == nil || errors.Is(err, jobs.ErrUnavailable) || !store.CanRetry(err) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%s: the runner gives %v", mode, err)
				continue
			}
			for host := range strings.SplitSeq(hosts, ",") {
				if !strings.Contains(err.Error(), host) {
					t.Errorf("%s: the error does not name %s: %v", mode, host, err)
				}
			}
			want(t, "causes in the error", strings.Count(err.Error(), "does not offer TLS"), strings.Count(hosts, ",")+1)
		}
	}
}

// Nor will a server whose certificate the client does not trust.
func TestServerWithAWrongCertificate(t *testing.T) {
	t.Parallel()
	_, client := open(t, fmt.Sprintf("postgres://u:s3cr3t@%s/db?sslmode=verify-full", strange(t)))
	err := newRunner(t, client, jobs.Config{}, handlers{"k": nothing}).Run(t.Context())
	if err == nil || errors.Is(err, jobs.ErrUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the runner gives %v", err)
	}
}

// Of several hosts each has its own cause, and as long as one of them may become available, a runner waits.
func TestCausesOfSeveralHosts(t *testing.T) {
	t.Parallel()
	refuses, away := withoutTLS(t), unserved(t)
	for _, hosts := range [][]string{{refuses, away}, {away, refuses}} {
		store, client := open(t, fmt.Sprintf("postgres://u:s3cr3t@%s/db?sslmode=require", strings.Join(hosts, ",")))
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		if !errors.Is(err, jobs.ErrUnavailable) || !store.CanRetry(err) {
			t.Fatalf("the error is %v", err)
		}
		text := err.Error()
		_, says, _ := strings.Cut(text, "PostgreSQL, database db, user u: ")
		causes := strings.Split(strings.TrimSuffix(says, ")"), "; ")
		for i, host := range hosts {
			cause := "does not offer TLS"
			if host == away {
				cause = "connection refused"
			}
			if len(causes) != 2 || !strings.HasPrefix(causes[i], "at "+host+": ") || !strings.Contains(causes[i], cause) {
				t.Errorf("the error does not say of %s that %s: %s", host, cause, text)
			}
		}
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("the error shows the password: %s", text)
		}
	}
}
