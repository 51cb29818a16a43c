package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve serves the dashboard of a queue.
func serve(t *testing.T, client *jobs.Client, c admin.Config) string {
	t.Helper()
	c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	handler, err := admin.New(client, c)
	must(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + c.Prefix
}

// waitFor checks a condition again and again until it holds.
func waitFor(t *testing.T, true func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for look := time.NewTicker(20 * time.Millisecond); !true(); {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal("it does not become so")
		}
	}
}

// execute runs a file of SQL, as another program would.
func execute(t *testing.T, store *sqlite.Store, file string, args ...any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	must(t, err)
	_, err = testdb.PlainSQLite(t, store.Path()).ExecContext(t.Context(), string(text), args...)
	must(t, err)
}

func handle(r *jobs.Runner, kind string, h jobs.Handler[json.RawMessage]) {
	jobs.Kind[json.RawMessage]{Name: kind, RetryDelay: func(jobs.Job, error) time.Duration { return 0 }}.Handle(r, h)
}

// failsByRow fails with an error that differs by a number.
func failsByRow(_ context.Context, j jobs.Job, payload json.RawMessage) error {
	return fmt.Errorf("row %s of job %d is bad", payload, j.ID)
}

// decodeImage panics as a library of images may.
func decodeImage(payload string) error {
	var rows [][]byte
	for y := range 480 {
		rows[y][0] = payload[0]
	}
	return nil
}
