package inspect

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
)

// RescueGone resets the jobs of dead workers, for programs that cannot wait for a runner to do it. It ends each such worker.
// Its jobs become pending, or failed if no attempt is left, or cancelled if that was requested. It counts crashes, but fails
// no job for them: a runner chooses how many are too many.
//
// A worker is dead when its lock is free, or its lease is over. Unlike a starting runner, this does not wait for workers that
// wake up with the machine at this moment: such a worker loses its jobs, which then run again.
//
// log gets a line for each dead worker; nil means slog.Default. The client must not work inside a transaction.
func (in *Inspector) RescueGone(ctx context.Context, log *slog.Logger) error {
	if in.scope.Tx != nil {
		return errors.New("rescue jobs of gone workers: the client works inside a transaction")
	}
	if log == nil {
		log = slog.Default()
	}
	log = callback.Logger(log)
	defer callback.Flush(in.scope.Store.Observer(), log, "the rescue")
	rescuer := maintenance.Rescuer{Store: in.scope.Store, Log: log, MaxCrashes: math.MaxInt32, Notes: &refusal.Notes{Log: log}}
	return rescuer.All(ctx)
}
