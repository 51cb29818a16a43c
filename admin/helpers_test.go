package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

const base = "/api/admin"

// onBothEngines runs a test on a queue of each engine.
func onBothEngines(t *testing.T, test func(*testing.T, *jobs.Client)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, jobs.New(testdb.SQLite(t))) })
	t.Run("postgres", func(t *testing.T) {
		store, err := postgres.Open(t.Context(), shared.Postgres(t).Database(t))
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		client := jobs.New(store)
		_, err = client.Migrate(t.Context())
		must(t, err)
		test(t, client)
	})
}

// api is a server of the API whose answers are checked against the contract.
type api struct {
	t        *testing.T
	url      string
	client   *jobs.Client
	contract contract
}

func serve(t *testing.T, client *jobs.Client, c admin.Config) *api {
	t.Helper()
	handler := newHandler(t, client, c)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &api{t, server.URL + c.Prefix + base, client, readContract(t)}
}

func newHandler(t *testing.T, client *jobs.Client, c admin.Config) *admin.Handler {
	t.Helper()
	c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	handler, err := admin.New(client, c)
	must(t, err)
	return handler
}

// send sends a request with a body of JSON, if any, and returns the status and the body of the answer, which is checked
// against the contract.
func (a *api) send(method, path, body string) (int, []byte) {
	a.t.Helper()
	return a.sendAs(method, path, "application/json", strings.NewReader(body))
}

func (a *api) sendAs(method, path, mediaType string, body io.Reader) (int, []byte) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, body)
	must(a.t, err)
	if body != http.NoBody {
		r.Header.Set("Content-Type", mediaType)
	}
	answer, err := http.DefaultClient.Do(r)
	must(a.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(a.t, err)
	a.contract.check(a.t, method, base+path, answer, text)
	return answer.StatusCode, text
}

// get decodes an answer into a value.
func get[T any](a *api, method, path, body string) (v T) {
	a.t.Helper()
	status, text := a.send(method, path, body)
	if status >= 300 {
		a.t.Fatalf("%s %s is answered with %d: %s", method, path, status, text)
	}
	decode(a.t, text, &v)
	return v
}

// refused returns the problem with which a request is refused.
func (a *api) refused(want int, method, path, body string) (p problem) {
	a.t.Helper()
	status, text := a.send(method, path, body)
	decode(a.t, text, &p)
	if status != want || p.Status != want {
		a.t.Errorf("%s %s is answered with %d, want %d: %s", method, path, status, want, text)
	}
	return p
}

type problem struct {
	Type   string
	Status int
	Detail string
	Faults []struct{ Field, Value, Must string }
}

func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if p, ok := v.(*problem); ok {
		must(t, json.Unmarshal(text, p))
		return
	}
	if err := in.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs all due jobs: jobs of the kind "bad" fail, jobs of the kind "worse" panic, and all others succeed.
func run(t *testing.T, client *jobs.Client) {
	t.Helper()
	runQueue(t, client, jobs.DefaultQueue)
}

// runQueue does the same in one queue.
func runQueue(t *testing.T, client *jobs.Client, queue string) {
	t.Helper()
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{queue: 10}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	must(t, err)
	for kind, handle := range map[string]func(context.Context, jobs.Job, json.RawMessage) error{
		"good": func(ctx context.Context, j jobs.Job, _ json.RawMessage) error {
			return errors.Join(j.SetProgress(ctx, 0.5), j.SetResult("well"))
		},
		"bad":   func(context.Context, jobs.Job, json.RawMessage) error { return errors.New("it is bad") },
		"worse": func(context.Context, jobs.Job, json.RawMessage) error { panic("it is worse") },
	} {
		jobs.Kind[json.RawMessage]{Name: kind}.Handle(runner, handle)
	}
	must(t, runner.Drain(t.Context()))
}
