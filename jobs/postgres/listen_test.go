package postgres

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

var listenTests = []engineTest{
	{"ListeningConnectionEnds", testListeningConnectionEnds},
	{"CommitWhileListeningIsLost", testCommitWhileListeningIsLost},
	{"NothingChanges", testNothingChanges},
	{"WaitDoesNotListen", testWaitDoesNotListen},
}

// A listening connection that is ended is replaced, and receives later notifications.
func testListeningConnectionEnds(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	log := &journal{}
	listener, _ := open(t, url, WithPoll(time.Minute), WithLogger(slog.New(log)))
	wake, stop := listener.Listen(core.WorkReady, nil)
	defer stop()
	receive(t, "the wake when listening has begun", wake)
	admin := dial(t, url)
	for i := range 5 {
		want(t, "ended backends", scan[int](t, admin, "end_listeners"), 1)
		receive(t, "the wake when it listens again", wake)
		enqueue(t, client, "k")
		receive(t, "the wake by a notification", wake)
		eventually(t, "the loss is logged each time", func() bool { return log.count("no notifications from PostgreSQL") == i+1 })
	}
}

// A listener for changes is woken by each change that no notification announces. It is not woken without a change, however often
// the store polls.
func testNothingChanges(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	store, own := open(t, url, WithPoll(time.Millisecond))
	_, silent := open(t, url, WithoutNotify())
	changed, stop := own.Watch()
	defer stop()
	polled, stopPolled := store.Listen(core.WorkReady, nil)
	defer stopPolled()
	settle := func() { // until looks find nothing more: the beginning and the connection's are changes too
		t.Helper()
		end := time.Now().Add(hang)
		for quiet := 0; quiet < 100; quiet++ {
			if time.Now().After(end) {
				t.Fatal("it is told of changes again and again, and nothing changes")
			}
			receive(t, "a poll", polled)
			select {
			case <-changed:
				quiet = 0
			default:
			}
		}
	}
	receive(t, "the first value", changed)
	settle()
	release, begun := make(chan struct{}), make(chan struct{})
	var end func() error
	for _, change := range []struct {
		what string
		do   func()
	}{
		{"a job is added", func() { enqueue(t, silent, "k") }},
		{"a queue is paused", func() {
			_, err := silent.PauseQueue(t.Context(), "other")
			must(t, err)
		}},
		{"a worker claims the job", func() {
			end = work(t, silent, jobs.Config{}, handlers{"k": func(context.Context, jobs.Job) error {
				close(begun)
				<-release
				return nil
			}})
			receive(t, "the begin", begun)
		}},
		{"the job ends", func() { close(release); must(t, end()) }},
		{"the job is removed", func() { must(t, silent.Delete(t.Context(), 1)) }},
	} {
		change.do()
		receive(t, change.what, changed)
		settle()
	}
}

// A process that only waits for jobs needs no listening connection, and finds ends in other processes without the polls of the
// store.
func testWaitDoesNotListen(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	store, own := open(t, url, WithPoll(time.Minute))
	for range 3 {
		id := enqueue(t, client, "k")
		waited := make(chan jobs.Job, 1)
		go func() { waited <- ended(t, own, id) }()
		_, err := client.Cancel(t.Context(), id)
		must(t, err)
		want(t, "status", receive(t, "the job's end", waited).Status, jobs.StatusCancelled)
	}
	store.hub.mu.Lock()
	defer store.hub.mu.Unlock()
	want(t, "whether it listens", store.hub.started, false)
}

// A commit while the listening connection is lost is found when the connection is back.
func testCommitWhileListeningIsLost(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	p := newProxy(t, url)
	_, own := open(t, p.url(url), WithPoll(time.Minute))
	stop := work(t, own, jobs.Config{}, handlers{"k": nothing})
	wantDone(t, client, enqueue(t, client, "k"), 1)
	p.leave()
	id := enqueue(t, client, "k")
	dials := p.dials()
	eventually(t, "the store has tried to connect", func() bool { return p.dials() > dials+3 })
	want(t, "status while the connection is lost", get(t, client, id).Status, jobs.StatusPending)
	p.comeBack()
	wantDone(t, client, id, 1)
	must(t, stop())
}

// A server that refuses LISTEN, such as a standby, is polled, and listened to after its promotion.
func TestServerThatRefusesToListen(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, nil)
	_, client, url := newSite(t, cluster.Postgres).queue(t)
	id := enqueue(t, client, "k")
	cluster.Stop(t, "fast")
	must(t, os.WriteFile(filepath.Join(cluster.DataDir(), "standby.signal"), nil, 0o644))
	cluster.Start(t)

	log := &journal{}
	store, _ := open(t, url, WithLogger(slog.New(log)))
	wake, stop := store.Listen(core.WorkReady|core.JobEnded, nil)
	defer stop()
	for range 3 { // although nothing can be committed
		receive(t, "the wake by polling", wake)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	waited := make(chan jobs.Job, 1)
	go func() {
		job, err := jobs.New(store).Wait(ctx, id)
		if err != nil {
			t.Error(err)
		}
		waited <- job
	}()
	eventually(t, "LISTEN was refused again", func() bool { return log.count("LISTEN") > 0 })
	want(t, "times that the refusal was logged", log.count("no notifications from PostgreSQL"), 1)

	admin := dial(t, url)
	if !scan[bool](t, admin, "promote") {
		t.Fatal("the standby was not promoted")
	}
	eventually(t, "the store listens", func() bool { return scan[int](t, admin, "count_listeners") == 1 })
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	want(t, "status", receive(t, "the job's end", waited).Status, jobs.StatusDone)
	want(t, "times that the refusal was logged in the end", log.count("no notifications from PostgreSQL"), 1)
}
