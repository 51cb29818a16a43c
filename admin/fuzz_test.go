package admin_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// Whatever the request is, the answer matches the contract: a success, or a problem that the server did not cause.
func FuzzRequests(f *testing.F) {
	const typeJSON = "Content-Type: application/json\r\n"
	for _, seed := range []struct{ method, target, header, body string }{
		{"GET", "/jobs?status=failed&limit=200&after=9", "", ""},
		{"GET", "/jobs?limit=-1&limit=x&%zz", "", ""},
		{"GET", "/jobs?kind=%00&queue=%ff&tag=%E2%80%AE&user_id=%F0%9F%98%80", "", ""},
		{"GET", "/jobs?after=9223372036854775808", "", ""},
		{"GET", "/jobs/1", "Accept: text/html\r\n", ""},
		{"GET", "/jobs/-1", "", ""},
		{"GET", "/jobs/9223372036854775807/why", "", ""},
		{"GET", "/jobs/%31/why?x", "", ""},
		{"HEAD", "/stats", "", ""},
		{"OPTIONS", "*", "", ""},
		{"GET", "/failed?since=0000-01-01T00:00:00Z", "", ""},
		{"GET", "/failed?since=9999-12-31T23:59:59.999999999%2B23:59&kind=k&limit=1", "", ""},
		{"POST", "/jobs", typeJSON, `{"kind": "k", "payload": {"a": [1, "\ud83d\ude00"]}, "queue": "q", "priority": 5, "tags": ["a"], "metadata": {"a": "b"}}`},
		{"POST", "/jobs", typeJSON, `{"kind": "k", "run_after": "9999-12-31T23:59:59Z", "delay_ns": 9223372036854775807, "timeout_ns": -1, "max_attempts": 1e9}`},
		{"POST", "/jobs", typeJSON, `{"kind": "k", "run_after": "0000-01-01T00:00:00Z", "unique_key": "\u0000", "request_id": ""}`},
		{"POST", "/jobs", typeJSON, `{"kind": null, "kind": "k", "KIND": "k"}`},
		{"POST", "/jobs", typeJSON, `[{}]`},
		{"POST", "/jobs", "Content-Type: text/plain\r\n", `{"kind": "k"}`},
		{"POST", "/jobs", typeJSON + "Sec-Fetch-Site: cross-site\r\n", `{"kind": "k"}`},
		{"POST", "/jobs/1/retry", "", ""},
		{"POST", "/jobs/1/cancel", typeJSON, "{}"},
		{"PATCH", "/jobs/1", typeJSON, `{"priority": 1, "payload": null}`},
		{"DELETE", "/jobs/1", "Authorization: Basic \x80\r\n", ""},
		{"POST", "/bulk/enqueue", typeJSON, `{"jobs": [{"kind": "k"}, {"kind": "l", "tags": [null]}, 1]}`},
		{"POST", "/bulk/retry", typeJSON, `{"ids": [1, 2]}`},
		{"POST", "/bulk/delete", typeJSON, `{"filter": {"status": "failed", "kind": "k"}}`},
		{"POST", "/bulk/cancel", typeJSON, `{"all": true, "limit": 5}`},
		{"POST", "/queues/a%2Fb/pause", "", ""},
		{"POST", "/queues/%00/resume", "", ""},
		{"POST", "/queues/../pause", "Origin: null\r\n", ""},
		{"GET", "/schedules?after=%ff&limit=5", "", ""},
		{"GET", "/schedules/%2F%00?ticks=100", "", ""},
		{"PUT", "/schedules/s", typeJSON, `{"kind": "k", "cron": "0 0 30 2 *", "zone": "../etc", "catch_up": "all:", "overlap": "after"}`},
		{"PUT", "/schedules/%2F", typeJSON, `{"kind": "k", "every_ns": 9223372036854775807, "metadata": {"sqluice_schedule": null}}`},
		{"PUT", "/schedules/s", typeJSON, `{"kind": "good", "cron": "*/5 * * * mon#2,L", "metadata": 1, "tags": ["a"], "timeout_ns": 1000}`},
		{"POST", "/schedules/%2F/run", "", ""},
		{"POST", "/schedules/s/pause", typeJSON, "{}"},
		{"DELETE", "/schedules/%80", "", ""},
		{"GET", "//jobs/./1", "", ""},
		{"GET", "1/jobs/1", "Accept: text/html\r\n", ""},
		{"GET", "/openapi.json", "Range: bytes=5-\r\nIf-None-Match: *\r\n", ""},
		{"BREW", "/jobs", "X-HTTP-Method-Override: DELETE\r\n", ""},
		{"GET", "/workers", "X-Forwarded-For: 1.2.3.4\r\n", ""},
		{"GET", "/queues", "Host: evil.example\r\n", ""},
	} {
		f.Add(seed.method, seed.target, seed.header, seed.body)
	}
	client := jobs.New(testdb.SQLite(f))
	for _, kind := range []string{"good", "bad"} {
		if _, err := client.Enqueue(f.Context(), kind, []byte(`{"n": 1}`)); err != nil {
			f.Fatal(err)
		}
	}
	log := &bytes.Buffer{}
	handler, err := admin.New(client, admin.Config{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		f.Fatal(err)
	}
	var described contract
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		target = strings.TrimPrefix(base+target, base+"*") // OPTIONS *
		r := received(method, target, header, body)
		if r == nil {
			return // no server would pass it on
		}
		if strings.HasSuffix(r.URL.Path, "/events") {
			return // a stream, which ends when the client goes
		}
		r.RemoteAddr = "127.0.0.1:5000"
		answer := httptest.NewRecorder()
		log.Reset()
		handler.ServeHTTP(answer, r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, local)))
		if answer.Code >= http.StatusInternalServerError || log.Len() > 0 {
			t.Fatalf("%s %q with %q, %q is answered with %d: %s\n%s", method, target, header, body, answer.Code, answer.Body, log)
		}
		if r.Method == http.MethodHead {
			return // whose answers have no body
		}
		if !strings.HasPrefix(r.URL.Path, base+"/") && r.URL.Path != base && strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
			return // the dashboard's, for people
		}
		if described.compiler == nil {
			described = readContract(t)
		}
		described.check(t, r.Method, r.URL.EscapedPath(), answer.Result(), answer.Body.Bytes())
	})
}

// received returns a request as package http passes it to a handler, or nil if the package refuses it.
func received(method, target, header, body string) *http.Request {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n", method, target, len(body), header)
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + body)))
	if err != nil || strings.Contains(header, "\r\n\r\n") {
		return nil
	}
	whole, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(whole))
	return r
}
