package webhook

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// post posts a payload and returns the status of the answer.
func post(t *testing.T, p *Poster, address string) (int, error) {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Post(t.Context(), to, jobs.Job{ID: 7, Attempt: 1}, []byte(`{}`))
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// A receiver that closes an idle connection when a request comes gets the request by another one: it does not cost the job an attempt.
func TestClosedIdleConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan struct{}, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			in := bufio.NewReader(conn)
			request, err := http.ReadRequest(in)
			if err == nil {
				_, err = io.Copy(io.Discard, request.Body)
			}
			if err == nil {
				_, err = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			}
			if err == nil {
				_, err = in.ReadByte() // of the next request
			}
			if err != nil && !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			conn.Close()
		}
	}()
	p := New(Config{Conns: 1, Timeout: time.Minute})
	defer p.Close()
	for range 2 {
		if status, err := post(t, p, "http://"+listener.Addr().String()); err != nil || status != http.StatusNoContent {
			t.Errorf("the answer is %d, %v", status, err)
		}
	}
	if len(accepted) != 2 {
		t.Errorf("%d connections, not 2", len(accepted))
	}
}

// No error has a part of the URL of a redirect, and the receiver gets the name and the password of its own.
func TestRedirectsKeepSecrets(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "hush" {
			t.Errorf("the receiver got %q and %q", user, password)
		}
		if location := r.URL.Query().Get("to"); location != "" {
			w.Header()["Location"] = []string{location}
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	}))
	defer receiver.Close()
	p := New(Config{Timeout: time.Minute})
	defer p.Close()
	base := strings.Replace(receiver.URL, "http://", "http://ann:hush@", 1)
	for _, location := range []string{"", "http://[::1/hush?token=hush", "http://hush%zz/hush", "hush://host/hush", ":hush", "http://h\x7fush/"} {
		_, err := post(t, p, base+"/hush?to="+url.QueryEscape(location))
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), `unsupported protocol scheme "hush"`, ""), "hush") || strings.Contains(err.Error(), "zz") {
			t.Errorf("a redirect to %q gives %v", location, err)
		}
	}
}

// A redirect goes without the proxy: an error that may be due to that says so.
func TestRedirectWithoutTheProxy(t *testing.T) {
	proxy := func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy.example:3128") }
	none := func(*http.Request) (*url.URL, error) { return nil, nil }
	noHost := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "hooks.example"}}
	request := httptest.NewRequest(http.MethodPost, "http://hooks.example/", nil)
	for _, c := range []struct {
		name    string
		private bool
		proxy   func(*http.Request) (*url.URL, error)
		first   bool
		err     error
		says    bool
	}{
		{"a redirect beside a proxy", false, proxy, false, noHost, true},
		{"the first request", false, proxy, true, noHost, false},
		{"without a proxy", false, none, false, noHost, false},
		{"a redirect by the proxy", true, proxy, false, noHost, false},
		{"an address that is not public", false, proxy, false, &net.OpError{Op: "dial", Err: notPublicError{}}, false},
		{"another error", false, proxy, false, io.ErrUnexpectedEOF, false},
	} {
		p := newPoster(Config{Private: c.private}, c.proxy)
		transport := p.redirects
		if c.first {
			transport = p.initial
		}
		err := p.aboutProxy(request, transport, c.err)
		if !errors.Is(err, c.err) || strings.Contains(err.Error(), "without the proxy") != c.says {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
