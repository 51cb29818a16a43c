package postgres

import (
	"context"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// A limit is deleted while another program's declaration is put in force: the one that is in force afterwards counts.
func TestADeletedLimitBesideANewDeclaration(t *testing.T) {
	t.Parallel()
	_, client, url := newSite(t, SharedServer.Postgres(t)).queue(t)
	for _, running := range []int{2, 3} {
		drain(t, client, jobs.Config{QueueLimits: map[string]jobs.LimitValues{"q": {Running: running}}}, handlers{"k": nothing})
	}
	must(t, client.SetQueueLimit(t.Context(), "q", jobs.LimitValues{Running: 9}))
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "swap_declarations"))
	must(t, err)
	deleted := make(chan error, 1)
	go func() {
		_, err := client.DeleteQueueLimit(t.Context(), "q")
		deleted <- err
	}()
	admin := dial(t, url)
	eventually(t, "the deletion waits", func() bool { return len(deleted) > 0 || scan[int](t, admin, "count_waiting") == 1 })
	must(t, tx.Commit(t.Context()))
	must(t, receive(t, "the end of the deletion", deleted))
	list, err := client.Limits(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Running != 2 || !list[0].Declared {
		t.Errorf("the limits are %+v, not the 2 jobs at once that are declared now", list)
	}
}

// Claims of two workers wait for a limit while it is deleted, in favour of a declared one with the same bound: still one claims after the other.
func TestADeletedLimitKeepsClaimsApart(t *testing.T) {
	t.Parallel()
	store, client, url := newSite(t, SharedServer.Postgres(t)).queue(t)
	one := jobs.LimitValues{Running: 1}
	drain(t, client, jobs.Config{QueueLimits: map[string]jobs.LimitValues{"q": one}}, handlers{"k": nothing})
	must(t, client.SetQueueLimit(t.Context(), "q", one))
	for _, key := range []string{"a", "b"} {
		enqueue(t, client, "k", jobs.Queue("q"), jobs.LimitKey(key))
	}
	drain(t, client, jobs.Config{Queues: map[string]int{"other": 1}}, handlers{"other": nothing}) // the jobs wait in their lanes
	tx, err := store.conns.pool.Begin(t.Context())
	must(t, err)
	_, err = client.With(Tx(tx)).DeleteQueueLimit(t.Context(), "q")
	must(t, err)
	release := make(chan struct{})
	blocks := handlers{"k": func(context.Context, jobs.Job) error { <-release; return nil }}
	for range 2 {
		work(t, client, jobs.Config{Queues: map[string]int{"q": 1}}, blocks)
	}
	admin := dial(t, url)
	eventually(t, "both claims wait", func() bool { return scan[int](t, admin, "count_waiting") >= 2 })
	must(t, tx.Commit(t.Context()))
	eventually(t, "a job runs, and no transaction does", func() bool {
		return scan[int](t, admin, "count_running") > 0 && scan[int](t, admin, "count_busy") == 0
	})
	want(t, "jobs that run", scan[int](t, admin, "count_running"), 1)
	close(release)
	eventually(t, "all jobs are done", func() bool { return scan[int](t, admin, "count_done") == 2 })
}
