package runner

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// releaseOrphans releases jobs, at no cost, that the database says this worker holds and that this run does not know: a
// transaction claimed them whose commit looked like a failure to the producer. Each is found by its fence.
func (h *heartbeat) releaseOrphans(ctx context.Context, held map[fence]db.ListHeldJobsRow) error {
	orphans := h.findOrphans(held)
	if len(orphans) == 0 {
		return nil
	}
	worker := h.workerID()
	var released int64
	err := h.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		released = 0
		for _, f := range orphans {
			n, err := q.ReleaseJob(ctx, db.ReleaseJobParams{Now: core.Micros(h.store.Now()), ID: f.job, Attempt: f.attempt, WorkerID: worker})
			if err != nil {
				return err
			}
			released += n
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("give back jobs that were claimed unnoticed: %w", err)
	}
	if released > 0 {
		h.log.Warn("gave back jobs that were claimed by a write that seemed to have failed", "jobs", released)
		h.store.Announce(core.WorkReady)
	}
	return nil
}

// findOrphans returns the jobs that are unknown here at two looks, with no cycle that had begun by the first one still between its
// claim and the start of its handlers: a row seen during a cycle may be one that the same cycle claimed.
func (h *heartbeat) findOrphans(held map[fence]db.ListHeldJobsRow) []fence {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[fence]uint64{}
	var orphans []fence
	for f := range held {
		if _, refused := h.refused[f]; refused || h.running[f] != nil {
			continue
		}
		cycle, before := h.orphans[f]
		switch {
		case !before:
			seen[f] = h.cycles.begun
		case len(h.cycles.open) == 0 || h.cycles.open[0] > cycle:
			orphans = append(orphans, f)
		default:
			seen[f] = cycle
		}
	}
	h.orphans = seen
	return orphans
}
