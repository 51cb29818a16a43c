package lifecycle

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// count is the reaction that adds transitions to the counts and the history. Its statement comes last: see Transitions.Changes.
func count(_ context.Context, _ db.Querier, _ int64, all *Transitions, made []repeated) error {
	changes := stats.Changes{}
	for _, t := range made {
		job, n := t.Job, t.times
		switch {
		case t.From == t.To: // counted before
		case t.To.Final():
			changes.Add(job.Queue, job.Kind, string(t.To), n, n)
		case t.From.Final() && t.To != StatusRemoved:
			changes.Add(job.Queue, job.Kind, string(t.From), 0, -n)
		case t.To == StatusRemoved && t.Fate == FateDone: // only the history counts the job
			changes.Add(job.Queue, job.Kind, string(jobtype.StatusDone), n, 0)
		}
		switch t.Fate {
		case FateRetry:
			changes.Add(job.Queue, job.Kind, stats.EventRetried, n, 0)
		case FateCrash:
			changes.Add(job.Queue, job.Kind, stats.EventCrashed, n, 0)
		}
	}
	all.changes = changes.Items()
	return nil
}
