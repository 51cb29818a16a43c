package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// rescueGone resets the jobs of workers that are gone, as runners do all the time. It counts their crashes, and fails no job
// for them: how many are too many is a runner's choice. Package inspect calls it by the client's scope.
func (c *Client) rescueGone(ctx context.Context, log *slog.Logger) error {
	runner, err := NewRunner(c, Config{MaxCrashes: math.MaxInt32, Logger: log})
	if err != nil {
		return fmt.Errorf("rescue jobs of gone workers: %w", err)
	}
	s := newSession(runner, "[]", false)
	defer callback.Flush(s.observer, s.log, "the rescue")
	before := core.Micros(s.store.Now())
	return errors.Join(s.rescueWorkers(ctx, false, before), s.rescueStuck(ctx, false, before))
}
