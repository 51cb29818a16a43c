package admin_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

const token = "a token of some length"

// Addresses at which a request arrives: over a network, or from this machine.
var (
	fromFar  = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080}
	fromHere = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
)

// ask sends a request to a handler as if it arrived at an address, and returns the answer's status and header.
func ask(h http.Handler, at net.Addr, route [2]string, change func(*http.Request)) (int, http.Header) {
	path := strings.NewReplacer("{id}", "1", "{name}", "q").Replace(route[1])
	r := httptest.NewRequest(route[0], "http://localhost"+base+path, strings.NewReader(""))
	r.RemoteAddr = "127.0.0.1:5555"
	if at == fromFar {
		r.RemoteAddr = "192.0.2.7:5555"
	}
	ctx, gone := context.WithCancel(context.WithValue(r.Context(), http.LocalAddrContextKey, at))
	defer gone()
	if path == "/events" {
		gone() // or its answer would not end
	}
	r = r.WithContext(ctx)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header()
}

func allRoutes(t *testing.T, each func(route [2]string, change bool)) {
	t.Helper()
	for _, route := range admin.Routes() {
		each(route, route[0] != http.MethodGet)
	}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestEveryRouteNeedsCredentials(t *testing.T) { needCredentials(t, jobs.New(testdb.SQLite(t))) }

// needCredentials fails if a route serves a request without credentials, or refuses one with credentials.
func needCredentials(t *testing.T, client *jobs.Client) {
	t.Helper()
	open := newHandler(t, client, admin.Config{})
	named := newHandler(t, client, admin.Config{Hosts: []string{"jobs.example.com"}})
	locked := newHandler(t, client, admin.Config{Token: token})
	asking := newHandler(t, client, admin.Config{Authorize: func(r *http.Request) (string, error) {
		if r.Header.Get("X-User") == "ann" {
			return "ann", nil
		}
		return "", errors.New("who is that?")
	}})
	allRoutes(t, func(route [2]string, change bool) {
		for _, test := range []struct {
			name    string
			handler http.Handler
			at      net.Addr
			change  func(*http.Request)
			served  bool
		}{
			{"from the machine", open, fromHere, nil, true},
			{"over a Unix socket", open, &net.UnixAddr{Name: "/s", Net: "unix"}, nil, true},
			{"from elsewhere", open, fromFar, nil, false},
			{"from elsewhere, by an address that is the machine's own", open, fromHere, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:1" }, false},
			{"at no known address", open, nil, nil, false},
			{"through a proxy on the machine", open, fromHere, header("X-Forwarded-For", "192.0.2.7"), false},
			{"through another", open, fromHere, header("Forwarded", "for=192.0.2.7"), false},
			{"through one that tells the scheme alone", open, fromHere, header("X-Forwarded-Proto", "https"), false},
			{"through one that adds its line to an empty one", open, fromHere, func(r *http.Request) {
				r.Header["X-Forwarded-For"] = []string{"", "192.0.2.7"}
			}, false},
			{"with a line that tells nothing", open, fromHere, header("Via", ""), false},
			{"through a load balancer", open, fromHere, header("X-Envoy-External-Address", "192.0.2.7"), false},
			{"by HTTP/1.0", open, fromHere, func(r *http.Request) { r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0 }, false},
			{"by HTTP/2", open, fromHere, func(r *http.Request) { r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0 }, true},
			{"by HTTP/1.0 over a Unix socket", open, &net.UnixAddr{Name: "/s", Net: "unix"}, func(r *http.Request) {
				r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
			}, false},
			{"by HTTP/1.0 with the token", locked, fromHere, func(r *http.Request) {
				r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
				r.Header.Set("Authorization", "Bearer "+token)
			}, true},
			{"by a name that is allowed, without a token", named, fromHere, func(r *http.Request) { r.Host = "jobs.example.com" }, false},
			{"through a tunnel", open, fromHere, header("CF-Connecting-IP", "192.0.2.7"), false},
			{"without the token", locked, fromFar, nil, false},
			{"from the machine without the token", locked, fromHere, nil, false},
			{"with another token", locked, fromFar, header("Authorization", "Bearer another token of length"), false},
			{"with the token under another scheme", locked, fromFar, header("Authorization", "Digest "+token), false},
			{"with the token", locked, fromFar, header("Authorization", "Bearer "+token), true},
			{"with the token as a password", locked, fromFar, func(r *http.Request) { r.SetBasicAuth("anybody", token) }, true},
			{"with another password", locked, fromFar, func(r *http.Request) { r.SetBasicAuth(token, "") }, false},
			{"by the service's own rules", asking, fromFar, header("X-User", "ann"), true},
			{"against the service's own rules", asking, fromHere, nil, false},
		} {
			status, got := ask(test.handler, test.at, route, test.change)
			if served := status != http.StatusUnauthorized; served != test.served {
				t.Errorf("%v %s is answered with %d", route, test.name, status)
			}
			if asks := len(got.Values("WWW-Authenticate")) > 0; asks == test.served {
				t.Errorf("%v %s is asked for a password: %v", route, test.name, asks)
			}
		}
	})
}

func TestEveryRouteRefusesOtherSites(t *testing.T) { refuseOtherSites(t, jobs.New(testdb.SQLite(t))) }

// refuseOtherSites fails if a route serves a request for another host or from another site, or refuses another request.
func refuseOtherSites(t *testing.T, client *jobs.Client) {
	t.Helper()
	plain := newHandler(t, client, admin.Config{})
	known := newHandler(t, client, admin.Config{Hosts: []string{"jobs.example.com"}, Origins: []string{"https://other.example.com"}})
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	allRoutes(t, func(route [2]string, change bool) {
		for _, test := range []struct {
			name    string
			handler http.Handler
			at      net.Addr
			change  func(*http.Request)
			refused bool
		}{
			{"a name that points here", plain, fromHere, host("evil.example.com"), true},
			{"such a name with a port", plain, fromHere, host("evil.example.com:8080"), true},
			{"a name that only begins well", plain, fromHere, host("localhost.evil.example.com"), true},
			{"no name", plain, fromHere, host(""), true},
			{"the address of another machine", plain, fromHere, host("192.0.2.1"), true},
			{"localhost", plain, fromHere, host("LOCALHOST.:8080"), false},
			{"the address", plain, fromHere, host("127.0.0.1:8080"), false},
			{"the address of IPv6", plain, fromHere, host("[::1]:8080"), false},
			{"a name that is allowed", known, fromHere, host("Jobs.Example.com:443"), false},
			{"another than the allowed", known, fromHere, host("evil.example.com"), true},
			{"a page of another site", plain, fromHere, header("Origin", "https://evil.example.com"), true},
			{"a form of another site", plain, fromHere, header("Sec-Fetch-Site", "cross-site"), true},
			{"a page of a neighbour", plain, fromHere, header("Sec-Fetch-Site", "same-site"), true},
			{"a page without an origin", plain, fromHere, header("Origin", "null"), true},
			{"a link of another site", plain, fromHere, func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", "cross-site")
				r.Header.Set("Sec-Fetch-Mode", "navigate")
				r.Header.Set("Sec-Fetch-Dest", "document")
			}, change},
			{"its own page", plain, fromHere, header("Sec-Fetch-Site", "same-origin"), false},
			{"a page that is allowed", known, fromHere, header("Origin", "https://other.example.com"), false},
		} {
			status, _ := ask(test.handler, test.at, route, test.change)
			if refused := status == http.StatusForbidden; refused != test.refused {
				t.Errorf("%v from %s is answered with %d", route, test.name, status)
			}
		}
	})
}

// TestTheMachinesOwnAddress checks that requests from elsewhere may name the machine's address as their host.
func TestTheMachinesOwnAddress(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{Token: token})
	for name, want := range map[string]int{"192.0.2.1:8080": 200, "192.0.2.2:8080": 403} {
		status, _ := ask(h, fromFar, [2]string{http.MethodGet, "/healthz"}, func(r *http.Request) {
			r.Host = name
			r.Header.Set("Authorization", "Bearer "+token)
		})
		if status != want {
			t.Errorf("by the name %s it answers with %d, want %d", name, status, want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
	must(t, err)
	h := newHandler(t, client, admin.Config{ReadOnly: true})
	allRoutes(t, func(route [2]string, change bool) {
		if status, _ := ask(h, fromHere, route, nil); change != (status == http.StatusForbidden) {
			t.Errorf("%v is answered with %d", route, status)
		}
	})
	job, err := client.Get(t.Context(), 1)
	must(t, err)
	if job.Status != jobs.StatusPending {
		t.Errorf("the job is %s", job.Status)
	}
}

// TestHeaders checks that no answer, not even a refusal, may be cached, have its type guessed or be shown in a frame.
func TestHeaders(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	for _, at := range []net.Addr{fromHere, fromFar} {
		allRoutes(t, func(route [2]string, _ bool) {
			_, got := ask(h, at, route, nil)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got.Get(name) != want {
					t.Errorf("%v has the header %s: %q", route, name, got.Get(name))
				}
			}
			if policy := got.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
				t.Errorf("%v has the policy %q", route, policy)
			}
			if got.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%v lets other sites read it", route)
			}
		})
	}
}

func TestConfigFaults(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	_, err := admin.New(client, admin.Config{
		Prefix: "queue/", Token: "short\n", Hosts: []string{"a:80", "", "b.", "*.c"}, Origins: []string{"example.com"},
		Authorize: func(*http.Request) (string, error) { return "", nil },
	})
	for _, field := range []string{"Prefix", "Token must have at least 16 characters, not 6", "not begin or end with a blank", "Authorize is set", `"a:80"`, `""`, `"b."`, `"*.c"`, "Origins"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
	if invalid := (*jobs.InvalidError)(nil); !errors.As(err, &invalid) {
		t.Errorf("the error is %T", err)
	}
}

// TestPrefixes checks that a prefix that no request can have, or that needs escaping in a URL, is refused without a panic.
func TestPrefixes(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	for _, prefix := range []string{
		"/", "queue", "/queue/", "//queue", "/a//b", "/a/./b", "/a/../b", "/..", "/a b", "/{a}", "/a?b", "/a#b", "/\u00fc", "/a%2Fb", "/100%", "/a\nb",
	} {
		invalid := (*jobs.InvalidError)(nil)
		if _, err := admin.New(client, admin.Config{Prefix: prefix}); !errors.As(err, &invalid) || invalid.Field != "Prefix" {
			t.Errorf("the prefix %q is taken with %v", prefix, err)
		}
	}
	for _, prefix := range []string{"", "/queue", "/a/b", "/a.b/c-d_e~f", "/.well-known/q"} {
		h := newHandler(t, client, admin.Config{Prefix: prefix})
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+prefix+base+"/healthz", nil)
		r.RemoteAddr = "127.0.0.1:5555"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, fromHere)))
		if w.Code != http.StatusOK {
			t.Errorf("below the prefix %q it answers with %d", prefix, w.Code)
		}
	}
}

// TestPasswords checks that a browser is asked for a password only if there is a token, which is the password.
func TestPasswords(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	refuseAll := func(*http.Request) (string, error) { return "", errors.New("refused") }
	for name, test := range map[string]struct {
		config admin.Config
		basic  bool
	}{"a token": {admin.Config{Token: token}, true}, "rules of the service's own": {admin.Config{Authorize: refuseAll}, false}, "neither": {admin.Config{}, false}} {
		status, header := ask(newHandler(t, client, test.config), fromFar, [2]string{http.MethodGet, "/stats"}, nil)
		asked := header.Values("WWW-Authenticate")
		if basic := strings.Contains(strings.Join(asked, " "), "Basic"); status != http.StatusUnauthorized || basic != test.basic || len(asked) == 0 {
			t.Errorf("with %s the answer is %d and asks for %q", name, status, asked)
		}
	}
}
