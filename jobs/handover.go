package jobs

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/runner"
)

// writeJob inserts a job without keys in a separate transaction. It hands the job to an idle runner of this process, or else
// announces new work.
func (c *Client) writeJob(ctx context.Context, job db.EnqueueJobParams, noted func(context.Context, db.Querier, int64) error) (Receipt, error) {
	if err := c.scope().CheckOutside(ctx); err != nil {
		return Receipt{}, err
	}
	var receipt Receipt
	add := func(h *runner.Handover) engine.Func {
		return func(ctx context.Context, q db.Querier) (err error) {
			var added bool
			if h != nil {
				receipt = Receipt{}
				receipt.ID, added, err = h.Insert(ctx, q, job)
			}
			if !added && err == nil {
				receipt, err = insert(ctx, q, job)
			}
			if err != nil {
				return err
			}
			return noted(ctx, q, receipt.ID)
		}
	}
	if job.Status == string(StatusPending) {
		if final, err := c.runners.HandOver(ctx, job.Kind, job.Queue, add); final {
			return receipt, err
		}
	}
	err := c.store.WriteTogether(ctx, add(nil))
	if err == nil {
		c.store.Announce(WorkAdded)
	}
	return receipt, err
}
