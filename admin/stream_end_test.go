package admin_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// TestStreamsEnd checks that a stream ends after a time although its client reads it, and a client that reconnects needs credentials again.
func TestStreamsEnd(t *testing.T) {
	var lockedOut atomic.Bool
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{Authorize: func(*http.Request) (string, error) {
		if lockedOut.Load() {
			return "", errors.New("locked out")
		}
		return "ann", nil
	}})
	h.SetPace(time.Millisecond, time.Millisecond, time.Minute)
	h.SetStreamTime(50 * time.Millisecond)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ends := func(r *reader) {
		t.Helper()
		for {
			if _, err := r.next(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 { // an authorized client reconnects
		ends(listen(t, server.URL, nil))
	}
	last := listen(t, server.URL, nil)
	lockedOut.Store(true)
	ends(last)
	answer, err := http.Get(server.URL + base + "/events")
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a locked user gets %d", answer.StatusCode)
	}
	eventually(t, "no watcher runs without a client", func() bool { n, watched := h.Streams(); return n == 0 && !watched })
}
