package postgres

import (
	"context"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var recountTests = []engineTest{
	{"TwoRecounts", testTwoRecounts},
	{"RecountBesideFolds", testRecountBesideFolds},
}

// endUncounted ends a job as a program does that keeps no counts.
func endUncounted(t *testing.T, store *backend, client *jobs.Client) {
	t.Helper()
	id := enqueue(t, client, "k")
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		_, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: store.Now().UnixMicro(), ID: id})
		return err
	}))
}

// Of two concurrent recounts the second one finds the corrections of the first.
func testTwoRecounts(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	endUncounted(t, store, client)
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	wrong, err := inspect.New(client.With(Tx(tx))).Recount(t.Context())
	must(t, err)
	want(t, "counts that the first one finds wrong", wrong, 1)

	type answer struct {
		wrong int64
		err   error
	}
	second := make(chan answer, 1)
	go func() {
		for {
			wrong, err := inspect.New(client).Recount(t.Context())
			if err != nil && store.CanRetry(err) { // it waits for a lock for some seconds only
				continue
			}
			second <- answer{wrong, err}
			return
		}
	}()
	admin := dial(t, url)
	eventually(t, "the second one waits or has ended", func() bool { return len(second) > 0 || scan[int](t, admin, "count_waiting") == 1 })
	must(t, tx.Commit(t.Context()))
	a := receive(t, "the second recount", second)
	must(t, a.err)
	want(t, "counts that the second one finds wrong", a.wrong, 0)
	counts, err := inspect.New(client).Counts(t.Context())
	must(t, err)
	if len(counts) != 1 || counts[0].Status != jobs.StatusCancelled || counts[0].Jobs != 1 {
		t.Errorf("the counts are %+v", counts)
	}
}

// A running recount blocks neither changes nor the sums of their notes.
func testRecountBesideFolds(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	endUncounted(t, store, client)
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	_, err = inspect.New(client.With(Tx(tx))).Recount(t.Context())
	must(t, err)
	id := enqueue(t, client, "k")
	drain(t, client, jobs.Config{}, handlers{"k": nothing}) // which adds up at its end
	must(t, client.Delete(t.Context(), id))
	must(t, inspect.New(client).PruneHistory(t.Context()))
	must(t, tx.Commit(t.Context()))
	wrong, err := inspect.New(client).Recount(t.Context())
	must(t, err)
	want(t, "counts that are wrong in the end", wrong, 0)
}
