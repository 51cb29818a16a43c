package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// releaseStrays releases jobs, at no cost, that the database says this worker holds and that this session does not know: a
// transaction claimed them whose commit looked like a failure to the pump. Each is found by its fence.
func (h *housekeeper) releaseStrays(ctx context.Context, held map[fence]db.ListHeldJobsRow) error {
	strays := h.findStrays(held)
	if len(strays) == 0 {
		return nil
	}
	worker := h.workerID()
	var released int64
	err := h.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		released = 0
		for _, f := range strays {
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
		h.store.Announce(WorkReady)
	}
	return nil
}

// findStrays returns the jobs that are unknown here at two looks, with no turn that had begun by the first one still between its
// claim and the start of its handlers: a row seen during a turn may be one that the same turn claimed.
func (h *housekeeper) findStrays(held map[fence]db.ListHeldJobsRow) []fence {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[fence]uint64{}
	var strays []fence
	for f := range held {
		if _, refused := h.refused[f]; refused || h.running[f] != nil {
			continue
		}
		turn, before := h.strays[f]
		switch {
		case !before:
			seen[f] = h.turns
		case len(h.open) == 0 || h.open[0] > turn:
			strays = append(strays, f)
		default:
			seen[f] = turn
		}
	}
	h.strays = seen
	return strays
}
