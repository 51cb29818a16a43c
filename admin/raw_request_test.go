package admin_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// sendRaw sends a request as it is written, with HOST for the server's address, and returns the status and body of the answer.
func sendRaw(t *testing.T, address, request string) (status int, body string) {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	must(t, err)
	defer func() { must(t, connection.Close()) }()
	_, err = io.WriteString(connection, strings.ReplaceAll(request, "HOST", address))
	must(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(text)
}

// TestRawRequests checks that on a real server without a token, requests that a proxy may have sent are refused with the remedy, and
// requests of programs on the machine are served.
func TestRawRequests(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	const path = base + "/stats"
	bearer := "Authorization: Bearer " + token + "\r\n"
	config := admin.Config{Hosts: []string{"jobs.example.com"}}
	open := newHandler(t, client, config)
	config.Token = token
	locked := newHandler(t, client, config)
	for _, test := range []struct {
		name, request    string
		without, with    int    // the status without a token, and with one
		remedyWithoutOne string // the remedy in the text without a token
	}{
		{"a plain one", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\n", 200, 200, ""},
		{"HTTP/1.0, as of nginx", "GET " + path + " HTTP/1.0\r\nHost: HOST\r\nConnection: close\r\n", 401, 200, "HTTP/1.0"},
		{"HTTP/1.0 with keep-alive", "GET " + path + " HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n", 401, 200, "HTTP/1.0"},
		{"HTTP/1.0 without a host", "GET " + path + " HTTP/1.0\r\n", 403, 403, "--host"},
		{"HTTP/1.1 without a host", "GET " + path + " HTTP/1.1\r\n", 400, 400, ""},
		{"two hosts", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\nHost: jobs.example.com\r\n", 400, 400, ""},
		{"a host that is a name", "GET " + path + " HTTP/1.1\r\nHost: jobs.example.com\r\n", 401, 200, "jobs.example.com"},
		{"a name that points here", "GET " + path + " HTTP/1.1\r\nHost: evil.example.com\r\n", 403, 403, "--host"},
		{"an absolute URI", "GET http://HOST" + path + " HTTP/1.1\r\nHost: evil.example.com\r\n", 200, 200, ""},
		{"an absolute URI of another host", "GET http://evil.example.com" + path + " HTTP/1.1\r\nHost: HOST\r\n", 403, 403, "--host"},
		{"an absolute URI by HTTP/1.0", "GET http://HOST" + path + " HTTP/1.0\r\n", 401, 200, "HTTP/1.0"},
		{"Via", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\nVia: 1.1 proxy\r\n", 401, 200, "Via"},
		{"Forwarded", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\nforwarded: for=192.0.2.7\r\n", 401, 200, "Forwarded"},
		{"X-Forwarded-Server", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\nx-forwarded-server: a\r\n", 401, 200, "X-Forwarded-Server"},
		{"X-Real-IP", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\nX-Real-IP:\r\n", 401, 200, "X-Real-Ip"},
		{"its own page", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nSec-Fetch-Site: same-origin\r\n", 200, 200, ""},
		{"its own page by another name", "GET " + path + " HTTP/1.1\r\nHost: HOST\r\nOrigin: https://ops.example.com\r\nSec-Fetch-Site: same-origin\r\n", 401, 200, "ops.example.com"},
		{"localhost.", "GET " + path + " HTTP/1.1\r\nHost: LocalHost.:80\r\n", 200, 200, ""},
		{"an address with a zone", "GET " + path + " HTTP/1.1\r\nHost: [::1%25lo]:80\r\n", 200, 200, ""},
		{"an IPv4 address in IPv6", "GET " + path + " HTTP/1.1\r\nHost: [::ffff:127.0.0.1]\r\n", 200, 200, ""},
		{"no address in particular", "GET " + path + " HTTP/1.1\r\nHost: 0.0.0.0\r\n", 403, 403, "--host"},
		{"a short address", "GET " + path + " HTTP/1.1\r\nHost: 127.1\r\n", 403, 403, "--host"},
		{"the PROXY protocol", "PROXY TCP4 192.0.2.7 127.0.0.1 5555 80\r\nGET " + path + " HTTP/1.1\r\nHost: HOST\r\n", 400, 400, ""},
		{"HTTP/2 in the clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403, 403, "Host header field"},
	} {
		for what, wanted := range map[*admin.Handler]int{open: test.without, locked: test.with} {
			for _, guarded := range []bool{false, true} {
				var handler http.Handler = what
				if guarded {
					handler = what.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				}
				server := httptest.NewServer(handler)
				request := test.request
				if what == locked {
					request += bearer
				}
				status, body := sendRaw(t, server.Listener.Addr().String(), request+"\r\n")
				server.Close()
				if status != wanted {
					t.Errorf("%s, guarded %v, with a token %v: it is answered with %d, want %d: %s", test.name, guarded, what == locked, status, wanted, body)
				}
				if what == open && !strings.Contains(body, test.remedyWithoutOne) {
					t.Errorf("%s: the answer does not name %s: %s", test.name, test.remedyWithoutOne, body)
				}
				if status == http.StatusUnauthorized && !strings.Contains(body, "--token-file") {
					t.Errorf("%s: the answer has no remedy: %s", test.name, body)
				}
			}
		}
	}
}
