package postgres

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// Another transaction has locked the row of the only due job. An idle worker finds the job at each look and cannot claim it: it
// looks less and less often, down to about once a second, as its housekeeper does.
func TestALockedDueRowIsNoBusyLoop(t *testing.T) {
	t.Parallel()
	site := newSite(t, SharedServer.Postgres(t))
	for name, opts := range map[string][]jobs.EnqueueOption{
		"pending":   nil,
		"scheduled": {jobs.In(time.Microsecond)}, // due when a worker looks, and not promoted
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, client, url := site.queue(t)
			id := enqueue(t, client, "k", opts...)
			want(t, "status", string(get(t, client, id).Status), name)
			conn := dial(t, url)
			tx, err := conn.Begin(t.Context())
			must(t, err)
			_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), id)
			must(t, err)

			counts := &counting{Store: store}
			work(t, jobs.New(engine.SealStore(counts)), jobs.Config{}, handlers{"k": nothing})
			const rounds = 5
			eventually(t, "the housekeeper has looked often", func() bool { return counts.rounds.Load() > rounds })
			// Each pause is twice as long as the previous one, from a millisecond to a second: eleven until then, and one for
			// each round. Twice as many are allowed. A busy loop makes hundreds a second.
			if claims, most := counts.claims.Load(), int64(2*(11+rounds)); claims == 0 || claims > most {
				t.Errorf("%d claims and %d looks in %d rounds, at most %d may be", claims, counts.looks.Load(), rounds, most)
			}
			if looks, most := counts.looks.Load(), int64(4*(11+rounds)); looks > most {
				t.Errorf("%d looks in %d rounds, at most %d may be", looks, rounds, most)
			}
			must(t, tx.Rollback(t.Context()))
			wantDone(t, client, id, 1)
		})
	}
}

// counting counts a runner's queries.
type counting struct {
	engine.Store
	claims, looks, rounds atomic.Int64
}

func (c *counting) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return c.Store.Read(ctx, func(ctx context.Context, q db.Querier) error { return fn(ctx, counted{q, c}) })
}

func (c *counting) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	p.Ran = func(name string, _ time.Duration, _ error) {
		switch name {
		case "ClaimJobs":
			c.claims.Add(1)
		case "GetNextRunAfter":
			c.looks.Add(1)
		}
	}
	return c.Store.Exchange(ctx, p)
}

type counted struct {
	db.Querier
	counts *counting
}

// GetNextRunAfter starts each look, and each turn that may promote.
func (c counted) GetNextRunAfter(ctx context.Context) (db.GetNextRunAfterRow, error) {
	c.counts.looks.Add(1)
	return c.Querier.GetNextRunAfter(ctx)
}

// CountHousework is the query of a housekeeper once a round.
func (c counted) CountHousework(ctx context.Context, p db.CountHouseworkParams) (db.CountHouseworkRow, error) {
	c.counts.rounds.Add(1)
	return c.Querier.CountHousework(ctx, p)
}
