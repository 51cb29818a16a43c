package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
)

// orphans releases, at no cost, jobs that the database lists for this worker and that the run does not know: a transaction claimed
// them, but its commit looked like a failure to the loop. Each is found by its fence. Only the heartbeat calls it.
type orphans struct {
	env      *env
	ledger   *ledger
	presence *presence
	seen     map[fence]uint64        // unknown jobs of the last look, each with the number of cycles begun at its first look
	refused  map[fence]refusedOrphan // orphans that the database refuses to release
}

// refusedOrphan counts refused releases of an orphan and holds the time of the next try.
type refusedOrphan struct {
	times int
	again time.Time
}

// release releases the orphans among the held jobs.
func (o *orphans) release(ctx context.Context, held map[fence]db.ListHeldJobsRow) error {
	found := o.find(held)
	if len(found) == 0 {
		return nil
	}
	store, released := o.env.store, 0
	err := refusal.Split(found, store.RefusesRow, func(part []fence) error {
		n, err := o.releaseUnstarted(ctx, part)
		released += n
		return err
	}, func(f fence, err error) error {
		times := o.refused[f].times + 1
		o.refused[f] = refusedOrphan{times, time.Now().Add(refusal.Delay(times))}
		return o.env.notes.Postpone(ctx, store.Write, store.Now(), refusal.End, f.job, err)
	})
	if released > 0 {
		o.env.log.Warn("gave back jobs that were claimed by a write that seemed to have failed", "jobs", released)
		store.Announce(core.WorkReady)
	}
	if err != nil {
		return fmt.Errorf("release jobs that this worker holds without an attempt: %w", err)
	}
	return nil
}

// releaseUnstarted releases jobs of this worker in one transaction, and returns the number that it still held.
func (o *orphans) releaseUnstarted(ctx context.Context, jobs []fence) (released int, err error) {
	worker := o.presence.workerID()
	err = o.env.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		released = 0
		for _, f := range jobs {
			done, err := lifecycle.ReleaseUnstarted(ctx, q, core.Micros(o.env.store.Now()), f.job, f.attempt, worker)
			if err != nil {
				return err
			}
			if done {
				released++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return released, nil
}

// find returns the jobs that are unknown at two looks, with no cycle that had begun by the first one still between its
// claim and the start of its handlers: a row seen during a cycle may be one that the same cycle claimed.
func (o *orphans) find(held map[fence]db.ListHeldJobsRow) (found []fence) {
	seen, refused := map[fence]uint64{}, map[fence]refusedOrphan{}
	o.ledger.do(func() {
		l := o.ledger
		for f := range held {
			if r, ok := o.refused[f]; ok {
				refused[f] = r
			}
			if l.refused[f] != nil || l.running[f] != nil || time.Now().Before(refused[f].again) {
				continue
			}
			cycle, before := o.seen[f]
			switch {
			case !before:
				seen[f] = l.cycles.begun
			case len(l.cycles.open) == 0 || l.cycles.open[0] > cycle:
				found = append(found, f)
			default:
				seen[f] = cycle
			}
		}
	})
	o.seen, o.refused = seen, refused
	return found
}
