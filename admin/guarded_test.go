package admin_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A guarded handler serves the same requests as the API, and refusals are alike.
func TestGuardHasTheRulesOfTheAPI(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	open := newHandler(t, client, admin.Config{Hosts: []string{"jobs.example.com"}})
	locked := newHandler(t, client, admin.Config{Token: token, Hosts: []string{"jobs.example.com"}})
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, test := range []struct {
		name    string
		handler *admin.Handler
		method  string
		at      net.Addr
		change  func(*http.Request)
		status  int
	}{
		{"from the machine", open, http.MethodGet, fromHere, nil, http.StatusTeapot},
		{"from another machine", open, http.MethodGet, fromFar, nil, http.StatusUnauthorized},
		{"through a proxy", open, http.MethodGet, fromHere, header("Via", "1.1 proxy"), http.StatusUnauthorized},
		{"by a name that points here", open, http.MethodGet, fromHere, host("evil.example.com"), http.StatusForbidden},
		{"by a name that is allowed, without a token", open, http.MethodGet, fromHere, host("jobs.example.com:9100"), http.StatusUnauthorized},
		{"by a name that is allowed", locked, http.MethodGet, fromHere, func(r *http.Request) {
			r.Host = "jobs.example.com:9100"
			r.Header.Set("Authorization", "Bearer "+token)
		}, http.StatusTeapot},
		{"by HTTP/1.0", open, http.MethodGet, fromHere, func(r *http.Request) { r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0 }, http.StatusUnauthorized},
		{"from another site", open, http.MethodPost, fromHere, header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		{"without the token", locked, http.MethodGet, fromHere, nil, http.StatusUnauthorized},
		{"with another token", locked, http.MethodGet, fromFar, header("Authorization", "Bearer another token of length"), http.StatusUnauthorized},
		{"with the token", locked, http.MethodGet, fromFar, header("Authorization", "Bearer "+token), http.StatusTeapot},
	} {
		asked := false
		guarded := test.handler.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked = true
			w.WriteHeader(http.StatusTeapot)
		}))
		status, got := ask(guarded, test.at, [2]string{test.method, "/anything"}, test.change)
		if status != test.status || asked != (test.status == http.StatusTeapot) {
			t.Errorf("%s it is answered with %d, not %d", test.name, status, test.status)
		}
		ofAPI, want := ask(test.handler, test.at, [2]string{http.MethodGet, "/stats"}, test.change)
		for _, name := range []string{"Cache-Control", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy"} {
			if got.Get(name) == "" || got.Get(name) != want.Get(name) {
				t.Errorf("%s %s is %q, and %q for the API", test.name, name, got.Get(name), want.Get(name))
			}
		}
		if test.method == http.MethodGet && test.status != http.StatusTeapot && status != ofAPI {
			t.Errorf("%s it is refused with %d, and by the API with %d", test.name, status, ofAPI)
		}
	}
}

// TestGuardKnowsWhoAsks checks that the audit log records a guarded handler's changes with the user's name.
func TestGuardKnowsWhoAsks(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	h := newHandler(t, client, admin.Config{Authorize: func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }})
	guarded := h.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := client.PauseQueue(r.Context(), "mail")
		must(t, err)
	}))
	if status, _ := ask(guarded, fromFar, [2]string{http.MethodPost, "/anything"}, header("X-User", "ann")); status != http.StatusOK {
		t.Errorf("it is answered with %d", status)
	}
	entries, err := inspect.New(client).Audit(t.Context(), inspect.AuditFilter{})
	must(t, err)
	if len(entries) != 1 || entries[0].Actor != "ann" || entries[0].Queue != "mail" {
		t.Errorf("noted is %+v", entries)
	}
}
