package postgres

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// Neither a claim nor a look below the cursors finds jobs of a paused kind. After the pause both do, also released jobs.
func TestCursorsOfAPausedKind(t *testing.T) {
	store, client := stillCursors(t)
	worker := ghost(t, store, "w", []string{"another"}).id
	ids := enqueueMany(t, client, 30)
	key := cursorKey{jobs.DefaultQueue, `["k"]`}
	_, err := store.cursors.view(key.queue, key.kinds)
	must(t, err)
	for range slowLooks {
		store.cursors.looked(key, time.Minute, 1)
	}
	now := store.Now().Add(time.Hour).UnixMicro() // the jobs have been due for an hour
	claim := func() (first int64) {
		must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			rows, committed, err := claimIn(ctx, store, q, db.ClaimJobsParams{
				WorkerID: worker, LeaseUntil: now, Now: now, Kinds: key.kinds, Queue: key.queue, N: 10,
			})
			for _, row := range rows {
				first = min(cmp.Or(first, row.ID), row.ID)
			}
			committed()
			return err
		}))
		return first
	}
	finds := func(below, above int64) {
		t.Helper()
		must(t, store.Read(t.Context(), func(ctx context.Context, q db.Querier) error {
			before, err := store.cursors.scopeBelow(key)
			must(t, err)
			n, err := q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: "[]", Cursors: before, Queue: key.queue})
			must(t, err)
			v, err := store.cursors.view(key.queue, key.kinds)
			must(t, err)
			m, err := q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: key.kinds, Cursors: v.text, Queue: key.queue})
			if n != below || m != above {
				t.Errorf("looks find jobs of %d kinds below the cursors and of %d above, not %d and %d", n, m, below, above)
			}
			return err
		}))
	}
	if first := claim(); first != ids[0] {
		t.Fatalf("the first claim begins with job %d", first)
	}
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		_, err := q.ReturnJob(ctx, db.ReturnJobParams{Status: "pending", Uncounted: 1, Now: now, ID: ids[3], Attempt: 1, WorkerID: worker})
		return err
	}))
	finds(1, 1)
	_, err = client.PauseKind(t.Context(), key.queue, "k")
	must(t, err)
	finds(0, 0)
	if first := claim(); first != 0 {
		t.Errorf("job %d of a paused kind is claimed", first)
	}
	_, err = client.ResumeKind(t.Context(), key.queue, "k")
	must(t, err)
	finds(1, 1)
	store.cursors.lookedBelow(key, slowLook, true)
	if first := claim(); first != ids[3] {
		t.Errorf("the claim after the pause begins with job %d, not %d", first, ids[3])
	}
}
