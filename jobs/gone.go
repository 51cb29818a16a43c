package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// RescueGone looks after the jobs of workers that are gone, as runners do all the time, for programs that need no
// runner to have done so: each such worker ends, and its jobs are pending again, or failed if no attempt is left, or
// cancelled if that was asked for. Crashes are counted, and fail no job: how many are too many is the runner's choice.
//
// A worker is gone when its lock is free, or its lease is over. Unlike a starting runner this does not wait for workers
// that wake up with the machine at this moment: one of those loses its jobs, which are then run again.
//
// log takes a line for each worker that was gone.
func (c *Client) RescueGone(ctx context.Context, log *slog.Logger) error {
	runner, err := NewRunner(c, Config{MaxCrashes: math.MaxInt32, Logger: log})
	if err != nil {
		return fmt.Errorf("rescue jobs of gone workers: %w", err)
	}
	s := newSession(runner, "[]", false)
	defer s.flush()
	before := core.Micros(s.store.Now())
	return errors.Join(s.rescueWorkers(ctx, false, before), s.rescueStuck(ctx, false, before))
}
