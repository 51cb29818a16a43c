package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var sequencesTests = []engineTest{
	{"SequencesAreMended", testSequencesAreMended},
	{"SequenceInACallersTransaction", testSequenceInACallersTransaction},
	{"SequencesOfAnUnusedTarget", testSequencesOfAnUnusedTarget},
}

// used fills every table that has a sequence of ids, and sets the sequences back, as logical replication leaves them.
func used(t *testing.T, client *jobs.Client, url string) {
	t.Helper()
	discard := handlers{"k": func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("no")) }}
	for range 3 {
		id := enqueue(t, client, "k")
		drain(t, client, jobs.Config{}, discard)
		must(t, client.Retry(jobs.WithActor(t.Context(), "a person"), id))
		drain(t, client, jobs.Config{}, discard)
	}
	for _, table := range numbered() {
		exec(t, dial(t, url), "restart_ids", table)
	}
}

// Sequences that return ids of existing rows are moved past these by the first write that meets one.
func testSequencesAreMended(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	used(t, client, url)
	log := &journal{}
	store, own := open(t, url, WithLogger(slog.New(log)))
	bad := enqueue(t, own, "bad", jobs.MaxAttempts(1))
	drain(t, own, jobs.Config{}, handlers{"bad": func(context.Context, jobs.Job) error { return errors.New("no") }, "k": nothing})
	want(t, "status", get(t, own, bad).Status, jobs.StatusFailed)
	must(t, own.Retry(jobs.WithActor(t.Context(), "a person"), bad))
	drain(t, own, jobs.Config{}, handlers{"bad": nothing})
	wantDone(t, own, bad, 2)
	must(t, callback.FlushLogger(t.Context(), store.conns.options.logger))
	want(t, "lines in the log", log.count("its sequences were moved past these"), 1)
}

// A caller's transaction cannot go on after such an id. Its error says what to do, and the next transaction finds the sequence repaired.
func testSequenceInACallersTransaction(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	for sort := range beginners(t, url) {
		_, client, url := site.queue(t) // one for each: another's sequences may still be under repair
		used(t, client, url)
		begin := beginners(t, url)[sort]
		tx := begin()
		_, err := client.With(tx).Enqueue(t.Context(), "k", json.RawMessage(`{}`))
		if err == nil || !strings.Contains(err.Error(), "sqluice up") || !strings.Contains(err.Error(), "sqluice_jobs ") {
			t.Errorf("%s: an enqueue gives %v", sort, err)
		}
		must(t, tx.rollback())
		eventually(t, "an enqueue goes well", func() bool {
			tx := begin()
			_, err := client.With(tx).Enqueue(t.Context(), "k", json.RawMessage(`{}`))
			return errors.Join(err, tx.rollback()) == nil
		})
	}
}

// A migration, which the owner of the tables runs, moves sequences that were not used since they were set back, and no others.
func testSequencesOfAnUnusedTarget(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	_, err := client.Migrate(t.Context())
	must(t, err)
	want(t, "the first id", enqueue(t, client, "k"), 1)
	_, err = client.Migrate(t.Context())
	must(t, err)
	want(t, "the second id", enqueue(t, client, "k"), 2)
	exec(t, dial(t, url), "restart_ids", "sqluice_jobs")
	_, err = client.Migrate(t.Context())
	must(t, err)
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	r, err := client.With(Tx(tx)).Enqueue(t.Context(), "k", json.RawMessage(`{}`))
	must(t, err)
	want(t, "the third id", r.ID, 3)
	must(t, tx.Commit(t.Context()))
}

// A worker's role may not move a sequence. Everything else is recorded, later jobs run, and the log says what to do.
func TestSequenceThatTheRoleMayNotMove(t *testing.T) {
	t.Parallel()
	owner, worker := roles(t)
	_, admin := open(t, owner, WithSchema("queue"))
	_, client := open(t, worker, WithSchema("queue"))
	used(t, admin, with(owner, "search_path=queue"))
	for range 100 { // a try uses up an id or two
		enqueue(t, admin, "k")
	}
	drain(t, admin, jobs.Config{}, handlers{"k": func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("no")) }})
	_, err := admin.Migrate(t.Context()) // moves all sequences; all but one stay moved
	must(t, err)
	exec(t, dial(t, with(owner, "search_path=queue")), "restart_ids", "sqluice_job_errors")

	log := &journal{}
	fail := func(context.Context, jobs.Job) error { return errors.New("no") }
	stop := work(t, client, jobs.Config{Logger: slog.New(log)}, handlers{"bad": fail, "good": nothing})
	bad := enqueue(t, client, "bad", jobs.MaxAttempts(1))
	wantDone(t, client, enqueue(t, client, "good"), 1)
	eventually(t, "the log says what to do", func() bool { return log.count("sqluice up") > 0 })
	wantDone(t, client, enqueue(t, client, "good"), 1)
	must(t, stop())
	_, err = admin.Migrate(t.Context())
	must(t, err)
	drain(t, client, jobs.Config{}, handlers{"bad": fail})
	want(t, "status of the failed job", get(t, client, bad).Status, jobs.StatusFailed)
	list, err := inspect.New(client).Errors(t.Context(), bad)
	must(t, err)
	if len(list) == 0 {
		t.Error("no error of the job is recorded")
	}
}
