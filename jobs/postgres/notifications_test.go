package postgres

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

var notificationsTests = []engineTest{
	{"OneNotificationPerBatch", testOneNotificationPerBatch},
	{"EndsCauseNone", testEndsCauseNoNotification},
	{"WithoutNotify", testWithoutNotify},
	{"ForeignNotifications", testForeignNotifications},
	{"TellsOnALostConnection", testTellsOnALostConnection},
	{"TellsAtTheEnd", testTellsAtTheEnd},
}

// listen makes a plain connection listen on a channel. The returned function returns the notifications since its last call, of
// everything committed before the call.
func listen(t *testing.T, url, channel string) func() []string {
	t.Helper()
	listener, sender := dial(t, url), dial(t, url)
	exec(t, listener, "listen", channel)
	return func() []string {
		t.Helper()
		end := rand.Text()
		run(t, sender, "notify", channel, end)
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		var got []string
		for {
			n, err := listener.WaitForNotification(ctx)
			must(t, err)
			if n.Payload == end {
				return got
			}
			got = append(got, n.Payload)
		}
	}
}

// withQueue returns the notifications with a queue; the others only say that something changed.
func withQueue(all []string) []string {
	var list []string
	for _, n := range all {
		if parts := strings.SplitN(n, "/", 3); parts[2] != "" {
			list = append(list, parts[1]+"/"+parts[2])
		}
	}
	return list
}

// Each batch of new jobs causes one notification for each queue, and no other.
func testOneNotificationPerBatch(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	notifications := listen(t, url, "sqluice")
	enqueueMany(t, client, 2500) // in several statements
	for _, queue := range []string{"a", "b"} {
		must(t, store.InsertWith(t.Context(), queue, func(ctx context.Context, q db.Querier) (bool, error) {
			job := add("k")
			job.Queue = queue
			for range 3 {
				if _, err := q.EnqueueJob(ctx, job); err != nil {
					return false, err
				}
			}
			return true, nil
		}))
	}
	store.Announce(core.WorkAdded)
	enqueue(t, client, "k", jobs.Queue("c"))
	// This notification comes later: by then all earlier ones have come.
	must(t, client.Retry(t.Context(), enqueue(t, client, "k", jobs.Queue("d"), jobs.In(time.Hour))))
	var all []string
	eventually(t, "the retry is told", func() bool {
		all = append(all, notifications()...)
		return slices.ContainsFunc(all, func(n string) bool { return strings.HasSuffix(n, "/") })
	})
	if got := withQueue(all); !slices.Equal(got, []string{"1/default", "1/a", "1/b", "1/c", "1/d"}) {
		t.Errorf("%q were told, not that those queues have work (signal 1)", got)
	}
	want(t, "all notifications", len(all), 6)
}

// Jobs that end or are removed cause no notification, also in a caller's transaction. Work that is announced with an end does.
func testEndsCauseNoNotification(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	done, pending, last := enqueue(t, client, "k"), enqueue(t, client, "other"), enqueue(t, client, "other")
	notifications := listen(t, url, "sqluice")
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	must(t, client.Delete(t.Context(), done))
	must(t, client.Delete(t.Context(), pending))
	must(t, client.Tx(t.Context(), func(ctx context.Context, tx *jobs.Client) error { return tx.Delete(ctx, last) }))
	store.Announce(core.WorkReady | core.JobEnded)
	var all []string
	eventually(t, "the work is told", func() bool {
		all = append(all, notifications()...)
		return len(all) > 0
	})
	if len(all) != 1 || !strings.HasSuffix(all[0], "/1/") {
		t.Errorf("%q was told", all)
	}
}

// A store without notifications sends none, and others find its jobs by polling.
func testWithoutNotify(t *testing.T, site *site) {
	for name, silent := range map[string]func(url string) (*backend, *jobs.Client){
		"option": func(url string) (*backend, *jobs.Client) { return open(t, url, WithoutNotify()) },
		"URL":    func(url string) (*backend, *jobs.Client) { return open(t, with(url, "notify=false")) },
	} {
		t.Run(name, func(t *testing.T) {
			_, other, url := site.queue(t)
			store, client := silent(url)
			notifications := listen(t, url, "sqluice")
			lifeOfJobs(t, store, client)
			id := enqueue(t, client, "polled")
			if got := notifications(); len(got) > 0 {
				t.Errorf("notifications were sent: %q", got)
			}
			stop := work(t, other, jobs.Config{}, handlers{"polled": nothing, "more": nothing})
			wantDone(t, client, id, 1)
			wantDone(t, client, enqueue(t, client, "more"), 1)
			must(t, stop())
		})
	}
}

// Any role that knows the channel can notify by plain SQL, and does no harm.
func testForeignNotifications(t *testing.T, site *site) {
	_, client, url := site.queue(t, WithPoll(time.Minute))
	work(t, client, jobs.Config{}, handlers{"k": nothing})
	wantDone(t, client, enqueue(t, client, "k"), 1)
	conn := dial(t, url)
	for _, payload := range []string{
		"", "/", "//", "x", "/default", "a/default", "a/0/default", "a/1/default", "a/255/x", "a/999/x", "a/-1/", "//default", "/\u9375", "{}", strings.Repeat("x", 7999), "\x01", "' OR 1=1", "/default/x",
	} {
		run(t, conn, "notify", "sqluice", payload)
	}

	// Another listener gets no notification from before it started.
	other, _ := open(t, url, WithPoll(time.Minute))
	wake, stop := other.Listen(core.WorkReady, []string{jobs.DefaultQueue})
	defer stop()
	receive(t, "the wake when listening has begun", wake)
	id := scan[int64](t, conn, "insert_job", "k") // no notification goes with it
	exec(t, conn, "notify_bare")
	receive(t, "the wake by a bare notification", wake)
	wantDone(t, client, id, 1)
}

// A notification is sent again if its connection turns out to be lost.
func testTellsOnALostConnection(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	store, client := open(t, with(url, "pool_max_conns=1"))
	must(t, client.CheckSchema(t.Context()))
	exec(t, dial(t, url), "end_others")
	notifications := listen(t, url, "sqluice")
	store.Announce(core.WorkReady)
	eventually(t, "the work is told", func() bool { return len(notifications()) > 0 })
}

// A pending notification is sent when the store is closed.
func testTellsAtTheEnd(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	notifications := listen(t, url, "sqluice")
	store, err := openBackend(t.Context(), with(url, "pool_max_conns=1"), WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	must(t, jobs.New(store).CheckSchema(t.Context()))
	release := useUp(t, store)
	store.Announce(core.WorkReady)
	eventually(t, "it is about to be told", func() bool {
		store.hub.tells.mu.Lock()
		defer store.hub.tells.mu.Unlock()
		return store.hub.tells.sending && !store.hub.tells.pending
	})
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	<-store.hub.ctx.Done()
	release()
	must(t, receive(t, "the end of the store", closed))
	want(t, "notifications", len(notifications()), 1)
}
