package maintenance

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// commitLook is the interval of the looks for the commits of ends.
const commitLook = 50 * time.Millisecond

// CommittedEnds makes the lanes of a limit key ready soon after a caller's transaction has committed the end of an attempt, by CompleteTx,
// while the handler still runs. CompleteTx itself must not lock lanes: the transaction may last. It looks only while there are such
// attempts.
type CommittedEnds struct {
	Store engine.Store
	Log   *slog.Logger
	Began <-chan struct{}     // gets a value when CompleteTx has run in an attempt of a job with a limit key
	List  func() []PendingEnd // lists these attempts, as long as their handlers run and Done was not called
}

// PendingEnd is an attempt in which CompleteTx has run. Its transaction may still be open, or may be rolled back.
type PendingEnd struct {
	Job  *jobtype.Job
	Done func() // called when the end is committed
}

// Name implements Service.
func (*CommittedEnds) Name() string { return "looking for committed ends" }

// Run implements Service.
func (c *CommittedEnds) Run(ctx context.Context) {
	trouble := outage.New(c.Log)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.Began:
		}
		for pause := commitLook; outage.Sleep(ctx, pause); {
			pending := c.List()
			if len(pending) == 0 {
				break
			}
			if err := c.look(ctx, pending); err == nil {
				pause = commitLook
				trouble.Over("committed ends are found again")
			} else if ctx.Err() == nil {
				trouble.Failed(slog.LevelWarn, "looking for the committed ends of jobs failed; trying again", "error", err)
				pause = outage.Backoff(trouble.Failures())
			}
		}
	}
}

// look makes the lanes ready of the attempts whose ends are committed.
func (c *CommittedEnds) look(ctx context.Context, pending []PendingEnd) error {
	var ended []PendingEnd
	err := c.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		ended = nil
		for _, p := range pending {
			row, err := q.GetJobFence(ctx, p.Job.ID)
			switch gone := core.NotFound(err) == jobtype.ErrNotFound; {
			case err != nil && !gone:
				return err
			case gone, jobtype.Status(row.Status) != jobtype.StatusRunning, row.Attempt != int64(p.Job.Attempt), row.WorkerID != p.Job.WorkerID:
				ended = append(ended, p)
			}
		}
		return nil
	})
	if err != nil || len(ended) == 0 {
		return core.Wrap(err, "read the jobs")
	}
	keys := make([][2]string, len(ended))
	for i, p := range ended {
		keys[i] = [2]string{p.Job.Kind, *p.Job.LimitKey}
	}
	err = c.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		return lifecycle.WakeKeys(ctx, q, core.Micros(c.Store.Now()), keys)
	})
	if err != nil {
		return fmt.Errorf("make lanes ready: %w", err)
	}
	c.Store.Announce(core.WorkReady)
	for _, p := range ended {
		p.Done()
	}
	return nil
}
