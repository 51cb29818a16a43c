package jobs

import (
	"context"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// insertOne adds a job without keys in a transaction of its own. It hands the job to an idle runner of this process that takes it.
func (c *Client) insertOne(ctx context.Context, in engine.Insert) (Receipt, error) {
	if err := c.scope().CheckOutside(ctx); err != nil {
		return Receipt{}, err
	}
	if in.Job.Status == string(StatusPending) {
		if id, final, err := c.runners.HandOver(ctx, in); final {
			return Receipt{ID: id}, err
		}
	}
	ids, err := c.insert(ctx, in)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{ID: ids[0]}, nil
}
