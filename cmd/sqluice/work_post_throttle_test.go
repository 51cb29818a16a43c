package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// refusedPostsCloseTheirLimitKey checks that a receiver that asks to wait holds up the jobs of a limit key alone.
func refusedPostsCloseTheirLimitKey(t *testing.T, c *cli) {
	c.ok("up")
	v := newReceiver(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if strings.Contains(r.Header.Get("body"), "busy") {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	enqueue := func(key string) string {
		t.Helper()
		var id int64
		if err := c.onStore(func(store jobs.Store) error {
			receipt, err := jobs.New(store).Enqueue(t.Context(), "k", json.RawMessage(strconv.Quote(key)), jobs.LimitKey(key))
			id = receipt.ID
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(id, 10)
	}
	refused, behind := enqueue("busy"), enqueue("busy")
	worker := c.startWith([]string{secretVariable + "=" + webhookSecret}, "work", "--concurrency", "1", "--post", "k="+v.URL)
	eventually(t, "the receiver has refused the job", func() bool { return c.show(refused).Uncounted == 1 })
	other := enqueue("free")
	c.ok("wait", other, "--timeout", "2m")
	worker.signal(syscall.SIGTERM)
	worker.wantExit(exitOK)
	if job := c.show(other); job.Status != jobs.StatusDone {
		t.Errorf("the job of another key is %s", job.Status)
	}
	for id, attempts := range map[string]int{refused: 1, behind: 0} {
		if job := c.show(id); job.Status.Final() || job.Attempt != attempts || job.Uncounted != attempts {
			t.Errorf("job %s: %s after %d attempts, %d of them uncounted", id, job.Status, job.Attempt, job.Uncounted)
		}
	}
	if queues := c.ok("queues"); strings.Contains(queues, "asks to wait") {
		t.Errorf("the kind is paused too:\n%s", queues)
	}
	if n := len(v.requests("/")); n != 2 {
		t.Errorf("%d requests", n)
	}
}
