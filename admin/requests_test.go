package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func TestFaultyRequests(t *testing.T) {
	a := serve(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	for _, test := range []struct{ method, path, body, field, must string }{
		{"GET", "/jobs?limit=0", "", "limit", "be from 1 to 200"},
		{"GET", "/jobs?limit=201", "", "limit", "be from 1 to 200"},
		{"GET", "/jobs?limit=x", "", "limit", "be from 1 to 200"},
		{"GET", "/jobs?after=-1", "", "after", "be the next"},
		{"GET", "/jobs?after=99999999999999999999", "", "after", "be the next"},
		{"GET", "/jobs?status=lost", "", "status", "be scheduled, waiting, pending"},
		{"GET", "/jobs?kind=a%00b", "", "kind", "hold no control character"},
		{"GET", "/jobs?q=a%00b", "", "q", "hold no control character"},
		{"GET", "/jobs?tag=a%00b", "", "tag", "hold no control character"},
		{"POST", "/bulk/delete", `{"status": "failed", "tag": "\u0000"}`, "tag", "not hold a NUL"},
		{"POST", "/bulk/delete", `{"status": "failed", "tag": 7}`, "tag", "be of the type string"},
		{"POST", "/bulk/delete", `{"status": "failed", "kind": "a\ud800"}`, "kind", "not hold a surrogate without its other half"},
		{"POST", "/bulk/delete", "{\"status\": \"failed\", \"q\": \"a\xff\"}", "q", "be valid UTF-8"},
		{"POST", "/jobs", `{"kind": "k", "tags": ["a", "\udc00b"]}`, "tags", "not hold a surrogate without its other half"},
		{"GET", "/jobs?color=red", "", "query", "have no parameters but"},
		{"GET", "/jobs?kind=a&kind=b", "", "kind", "be given once"},
		{"GET", "/jobs?kind=%zz", "", "query", "be written as"},
		{"GET", "/jobs/x", "", "id", "be a whole number from 1 to"},
		{"GET", "/jobs/0", "", "id", "be a whole number from 1 to"},
		{"GET", "/jobs/1?color=red", "", "query", "have no parameters"},
		{"GET", "/failed?since=yesterday", "", "since", "be a time"},
		{"GET", "/stats?a=b", "", "query", "have no parameters"},
		{"POST", "/jobs", "", "body", "be one JSON document"},
		{"POST", "/jobs", "{", "body", "be one JSON document"},
		{"POST", "/jobs", `{"kind": "k"} {}`, "body", "be one JSON document"},
		{"POST", "/jobs", `{"kind": "k", "color": "red"}`, "body", "color"},
		{"POST", "/jobs", `{"kind": 7}`, "kind", "be of the type string"},
		{"POST", "/jobs", `{}`, "kind", "not be empty"},
		{"POST", "/jobs", `{"kind": "k", "priority": 40000}`, "priority", "be from"},
		{"POST", "/jobs", `{"kind": "k", "delay_ns": -1}`, "delay_ns", "not be negative"},
		{"POST", "/jobs", `{"kind": "k", "delay_ns": 1, "run_after": "2090-01-01T00:00:00Z"}`, "delay_ns", "not be given together"},
		{"POST", "/jobs", `{"kind": "k", "run_after": "2001-01-01T00:00:00Z"}`, "run_after", "not lie in the past"},
		{"POST", "/jobs", `{"kind": "k", "max_attempts": -1}`, "max_attempts", "be from 1"},
		{"POST", "/jobs", `{"kind": "k", "unique_key": "a\n"}`, "unique_key", "no control character"},
		{"POST", "/jobs", `{"kind": "k", "tags": ["\n"]}`, "tags", "hold no control character"},
		{"POST", "/jobs", `{"kind": "k", "payload": "\u0000"}`, "payload", ""},
		{"POST", "/jobs", `{"kind": "k", "run_after": "yesterday"}`, "run_after", "be of the type date-time"},
		{"POST", "/jobs", `{"kind": "k", "run_after": 7}`, "run_after", "be of the type date-time"},
		{"POST", "/jobs", `{"kind": "k", "priority": 1.5}`, "priority", "be of the type integer"},
		{"POST", "/jobs", `{"kind": "k", "delay_ns": 99999999999999999999}`, "delay_ns", "be of the type integer"},
		{"POST", "/jobs", `{"kind": "k", "tags": "a"}`, "tags", "be of the type array of strings"},
		{"POST", "/jobs", `{"kind": "k", "queue": null}`, "queue", "be of the type string"},
		{"POST", "/jobs", `{"Kind": "k"}`, "body", `have no field "Kind"`},
		{"POST", "/jobs", `{"kind": "k", "kind": "l"}`, "body", "unknown or repeated"},
		{"POST", "/jobs", `{"kind": "k", "` + strings.Repeat("x", 1<<20) + `": 1}`, "body", "have no field"},
		{"POST", "/jobs", `["kind"]`, "body", "be one JSON document, an object"},
		{"POST", "/jobs", `null`, "body", "be one JSON document, an object"},
		{"POST", "/bulk/delete", `{"status": "failed", "kind": null}`, "kind", "be of the type string"},
		{"POST", "/bulk/delete", `{"status": "failed", "kind": ""}`, "kind", "not be empty"},
		{"POST", "/bulk/delete", `{"status": "failed", "queue": ""}`, "queue", "not be empty"},
		{"POST", "/bulk/delete", `{"status": "failed", "q": ""}`, "q", "not be empty"},
		{"POST", "/jobs/1/retry", `{}`, "body", "be empty"},
		{"PATCH", "/jobs/1", `{}`, "body", "say what to change"},
		{"PATCH", "/jobs/1", `{"kind": "k"}`, "body", "have no field"},
		{"PATCH", "/jobs/1", `{"priority": "high"}`, "priority", "be of the type integer"},
		{"PATCH", "/jobs/1", `{"queue": null}`, "queue", "be of the type string"},
		{"PATCH", "/jobs/1", `{"run_after": "2090-01-01T00:00:00Z", "delay_ns": 1}`, "delay_ns", "not be given together"},
		{"PATCH", "/jobs/1", `{"delay_ns": -1}`, "delay_ns", "not be negative"},
		{"PATCH", "/jobs/1", `{"priority": 100000}`, "priority", "be from"},
		{"DELETE", "/jobs/1", `{}`, "body", "be empty"},
		{"POST", "/queues/q/pause", `{}`, "body", "be empty"},
	} {
		p := a.refused(http.StatusBadRequest, test.method, test.path, test.body)
		if len(p.Detail) > 1000 || strings.Contains(p.Detail, "admin.") || strings.Contains(p.Detail, "time.") {
			t.Errorf("%s %.80s gets the detail %.1000s", test.method, test.body, p.Detail)
		}
		if len(p.Faults) != 1 || p.Faults[0].Field != test.field || !strings.Contains(p.Faults[0].Must, test.must) {
			t.Errorf("%s %s %.200s has the faults %+v, want %s: must %s", test.method, test.path, test.body, p.Faults, test.field, test.must)
		}
	}
	if stats := get[inspect.Stats](a, http.MethodGet, "/stats", ""); stats.Jobs[jobs.StatusPending] != 0 {
		t.Errorf("a refused request has left %+v", stats)
	}
}

func TestPathsAndMethods(t *testing.T) {
	a := serve(t, jobs.New(testdb.SQLite(t)), admin.Config{Prefix: "/queue"})
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/nothing", 404, ""}, {"GET", "/jobs/1/retry", 405, "POST"}, {"PUT", "/jobs", 405, "GET, HEAD, POST"},
		{"PUT", "/jobs/1", 405, "GET, HEAD, PATCH, DELETE"}, {"GET", "/../../api/admin/stats", 404, ""}, {"HEAD", "/stats", 200, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, a.url+test.path, nil)
		must(t, err)
		response, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		must(t, response.Body.Close())
		if response.StatusCode != test.status || response.Header.Get("Allow") != test.allow {
			t.Errorf("%s %s is answered with %s, allowed %q", test.method, test.path, response.Status, response.Header.Get("Allow"))
		}
		if want := "application/problem+json"; test.status >= 400 && response.Header.Get("Content-Type") != want {
			t.Errorf("%s %s is answered with the type %q", test.method, test.path, response.Header.Get("Content-Type"))
		}
	}
	if response, err := http.Get(strings.TrimSuffix(a.url, "/queue"+base) + base + "/stats"); err != nil || response.StatusCode != 404 {
		t.Errorf("without its prefix the handler answers with %v, %v", response, err)
	}
}

// endless is a body without an end, which counts how much of it is read.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += int64(len(p))
	if e.read > 1<<30 {
		return 0, io.EOF
	}
	return len(p), nil
}

// TestLimits checks that a request that is too large is refused before its end is read.
func TestLimits(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	a := serve(t, client, admin.Config{})
	filters := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&filters, "&kind=k%d", i)
	}
	if p := a.refused(http.StatusRequestURITooLong, http.MethodGet, "/jobs?"+filters.String()[1:], ""); p.Type != "urn:sqluice:problem:query-too-long" {
		t.Errorf("ten thousand filters are refused with %+v", p)
	}
	h := newHandler(t, client, admin.Config{})
	for _, path := range []string{"/jobs", "/bulk/delete", "/jobs/1/retry"} {
		body := &endless{}
		status, _ := ask(h, fromHere, [2]string{http.MethodPost, path}, func(r *http.Request) {
			r.Body = io.NopCloser(body)
			r.Header.Set("Content-Type", "application/json")
		})
		if status != http.StatusRequestEntityTooLarge && status != http.StatusBadRequest || body.read > 8<<20 {
			t.Errorf("an endless body for %s is answered with %d after %d bytes", path, status, body.read)
		}
	}
	for _, mediaType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"} {
		status, body := a.sendAs(http.MethodPost, "/jobs", mediaType, strings.NewReader(`{"kind": "k"}`))
		if status != http.StatusUnsupportedMediaType {
			t.Errorf("a body of the type %q is answered with %d: %s", mediaType, status, body)
		}
	}
	if status, _ := a.sendAs(http.MethodPost, "/jobs", "application/json; charset=utf-8", strings.NewReader(`{"kind": "k"}`)); status != http.StatusCreated {
		t.Errorf("a charset is answered with %d", status)
	}
}

// slowly is a body that arrives a minute late.
type slowly struct{ io.Reader }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(time.Minute)
	return s.Reader.Read(p)
}

// TestSlowBodies checks that the time that a body takes does not count towards the database's timeout.
func TestSlowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{})
		status, _ := ask(h, fromHere, [2]string{http.MethodPost, "/jobs"}, func(r *http.Request) {
			r.Body = io.NopCloser(slowly{strings.NewReader(`{"kind": "k"}`)})
			r.Header.Set("Content-Type", "application/json")
		})
		if status != http.StatusCreated {
			t.Errorf("a job whose description came slowly is answered with %d", status)
		}
	})
}

// TestClosedStore checks that the answer to an error of the database has no details, which are logged.
func TestClosedStore(t *testing.T) {
	store := testdb.SQLite(t)
	a := serve(t, jobs.New(store), admin.Config{})
	must(t, store.Close())
	for _, path := range []string{"/jobs", "/jobs/1", "/stats", "/failed", "/queues", "/workers", "/readyz"} {
		p := a.refused(http.StatusServiceUnavailable, http.MethodGet, path, "")
		if p.Type != "urn:sqluice:problem:closed" && path != "/readyz" || strings.Contains(p.Detail, "/") {
			t.Errorf("%s is refused with %+v", path, p)
		}
	}
}

// TestLog checks that errors that an answer does not show in full are logged, unless the client has gone.
func TestLog(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		var log bytes.Buffer
		config := admin.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		h, err := admin.New(client, config)
		must(t, err)
		stats := [2]string{http.MethodGet, "/stats"}
		status, _ := ask(h, fromHere, stats, func(r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			*r = *r.WithContext(ctx)
		})
		if status < 500 || log.Len() > 0 {
			t.Errorf("a client that has gone gets %d, and the log has %s", status, &log)
		}
		status, _ = ask(h, fromHere, stats, func(r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), -1)
			t.Cleanup(cancel)
			*r = *r.WithContext(ctx)
		})
		if status != http.StatusServiceUnavailable {
			t.Errorf("a request whose context has ended gets %d", status)
		}
		must(t, client.Store().Close())
		for _, path := range []string{"/stats", "/readyz"} {
			log.Reset()
			status, _ = ask(h, fromHere, [2]string{http.MethodGet, path}, nil)
			if status != http.StatusServiceUnavailable || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), path) {
				t.Errorf("%s on a store that is closed is answered with %d, and the log has %s", path, status, &log)
			}
		}
		log.Reset()
		config.Authorize = func(*http.Request) (string, error) { return "", errors.New("nobody can tell who that is") }
		h, err = admin.New(client, config)
		must(t, err)
		if status, _ = ask(h, fromHere, stats, nil); status != http.StatusUnauthorized || !strings.Contains(log.String(), "nobody can tell who that is") {
			t.Errorf("without a known user the answer is %d, and the log has %s", status, &log)
		}
	})
}

// TestUnknownOutcome checks that no answer asks a client to repeat a request whose change may have been made.
func TestUnknownOutcome(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	for _, test := range []struct {
		err    error
		status int
		code   string
		again  string
	}{
		{fmt.Errorf("%w (%w: the server went away)", jobs.ErrUnavailable, jobs.ErrUnknownOutcome), 500, "unknown-outcome", ""},
		{fmt.Errorf("%w (the server is away)", jobs.ErrUnavailable), 503, "unavailable", "1"},
		{fmt.Errorf("%w: since today it is in postgres://the server went to", jobs.ErrMoved), 409, "moved", ""},
	} {
		w := httptest.NewRecorder()
		h.Refuse(w, httptest.NewRequest(http.MethodPost, "http://localhost"+base+"/jobs", nil), test.err)
		var p problem
		decode(t, w.Body.Bytes(), &p)
		if w.Code != test.status || p.Type != "urn:sqluice:problem:"+test.code || w.Header().Get("Retry-After") != test.again || strings.Contains(p.Detail, "server went") || p.Detail == "" {
			t.Errorf("%v is answered with %d, to be tried again %q: %+v", test.err, w.Code, w.Header().Get("Retry-After"), p)
		}
	}
}

// TestAnswerThatCannotBeEncoded checks that the answer is a problem document.
func TestAnswerThatCannotBeEncoded(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	w := httptest.NewRecorder()
	h.Answer(w, httptest.NewRequest(http.MethodGet, "http://localhost"+base+"/jobs", nil), []any{json.RawMessage("{"), "secret"})
	var p problem
	decode(t, w.Body.Bytes(), &p)
	if w.Code != http.StatusInternalServerError || p.Status != w.Code || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("it is answered with %d: %s", w.Code, w.Body)
	}
}
