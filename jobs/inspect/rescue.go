package inspect

import (
	"context"
	"log/slog"
)

// RescueGone resets the jobs of workers that are gone, for programs that cannot wait for a runner to do it. Each such worker
// ends. Its jobs become pending, or failed if no attempt is left, or cancelled if that was requested. Crashes are counted, and
// fail no job: how many are too many is a runner's choice.
//
// A worker is gone when its lock is free, or its lease is over. Unlike a starting runner, this does not wait for workers that
// wake up with the machine at this moment: such a worker loses its jobs, which then run again.
//
// log gets a line for each worker that was gone. The client must not work inside a transaction.
func (in *Inspector) RescueGone(ctx context.Context, log *slog.Logger) error {
	return in.scope.RescueGone(ctx, log)
}
