package lifecycle

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Left collects the effects of one transaction on jobs: jobs that left running, reached a final status or came back from one, in
// any way. Each change of jobs records itself here, and the caller runs Conclude before the commit. Conclude writes the
// consequences that belong to the same transaction: today the counts, and the successors of jobs with a unique key. Triggers count
// the rows that a DELETE removes, because they see the deletes of plain SQL as well.
type Left struct {
	counts stats.Changes
	freed  *freed
}

// NewLeft returns a Left for a transaction that has changed nothing yet.
func NewLeft() Left { return Left{counts: stats.Changes{}, freed: &freed{}} }

// Ended records a job that reached a final status. key is its unique key, or empty.
func (l Left) Ended(queue, kind, key string, status jobtype.Status) {
	l.counts.Ended(queue, kind, status, 1)
	l.freed.add(kind, key)
}

// Released returns the number of jobs that may run now because others have ended. They are scheduled, and perhaps due.
func (l Left) Released() int64 { return l.freed.released }

// Dropped records a job that ended well and whose row is removed: the history counts it. key is its unique key, or empty.
func (l Left) Dropped(queue, kind, key string) {
	l.counts.Add(queue, kind, string(jobtype.StatusDone), 1, 0)
	l.freed.add(kind, key)
}

// Retried records a job whose attempt failed and that gets another.
func (l Left) Retried(queue, kind string) { l.counts.Add(queue, kind, stats.EventRetried, 1, 0) }

// Crashed records a job whose attempt ended with its worker. The caller reports the job's new status as well.
func (l Left) Crashed(queue, kind string) { l.counts.Add(queue, kind, stats.EventCrashed, 1, 0) }

// Revived records a job that is pending again and had the given status before.
func (l Left) Revived(queue, kind string, was jobtype.Status) { l.counts.Revived(queue, kind, was) }

// Conclude writes the consequences. now is in microseconds. It runs no statement when nothing was recorded.
func (l Left) Conclude(ctx context.Context, q db.Querier, now int64) error {
	if err := l.freed.release(ctx, q, now); err != nil {
		return err
	}
	if err := l.counts.Write(ctx, q, now); err != nil {
		return fmt.Errorf("count what became of jobs: %w", err)
	}
	return nil
}
