package jobs

import (
	"context"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// CheckOpen returns an error that is [ErrMoved], with the other database, when the queue is closed by a move.
func (c *Client) CheckOpen(ctx context.Context) error {
	return c.scope().Read(ctx, lifecycle.CheckOpen)
}
