package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

// fetchByHTTP10 sends a request as nginx passes it on by default: by HTTP/1.0, and with the server's address as its host.
func fetchByHTTP10(t *testing.T, address, token string) (int, string) {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	credentials := ""
	if token != "" {
		credentials = "Authorization: Bearer " + token + "\r\n"
	}
	if _, err := fmt.Fprintf(connection, "GET %s HTTP/1.0\r\nHost: %s\r\nConnection: close\r\n%s\r\n", at.Path, at.Host, credentials); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// http10NeedsAToken: a server and a worker refuse requests by HTTP/1.0 without a token, as a proxy sends them.
func http10NeedsAToken(t *testing.T, c *cli) {
	c.ok("up")
	for _, token := range []string{"", testToken} {
		env := []string{tokenVariable + "=" + token}
		server, api := c.serving(env)
		worker := c.startWith(env, "work", "--exec", execFlag(t, "k", "echo"), "--metrics", "127.0.0.1:0", "--log-level", "info")
		addresses := []string{api + "/stats", strings.TrimSuffix(api, "api/admin"), strings.TrimSuffix(api, "/api/admin") + metricsPath, c.metricsAt(worker)}
		for _, address := range addresses {
			if status, text := fetchByHTTP10(t, address, ""); status != http.StatusUnauthorized || token == "" && !strings.Contains(text, "--token-file") {
				t.Errorf("%s, where the token is %q, is answered with %d: %s", address, token, status, text)
			}
			if token == "" {
				if status, text := fetch(t, http.MethodGet, address, "", ""); status != http.StatusOK {
					t.Errorf("%s by HTTP/1.1 is answered with %d: %s", address, status, text)
				}
			} else if status, text := fetchByHTTP10(t, address, token); status != http.StatusOK {
				t.Errorf("%s with the token is answered with %d: %s", address, status, text)
			}
		}
		for _, p := range []*process{server, worker} {
			p.signal(syscall.SIGTERM)
			p.wantExit(exitOK)
		}
	}
}
