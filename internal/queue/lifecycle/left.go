package lifecycle

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Left is what one transaction did to jobs: which of them left running, reached a final status or came back from one, by whatever
// way. Whatever changes jobs tells it, and calls Conclude before the commit. What must follow from that in the same transaction
// stands here: today the counts, and the successors of jobs with a unique key. Rows that a DELETE removes are counted by triggers,
// which see the deletes of plain SQL as well.
type Left struct {
	counts stats.Changes
	freed  *freed
}

// NewLeft returns a Left for a transaction that has done nothing yet.
func NewLeft() Left { return Left{counts: stats.Changes{}, freed: &freed{}} }

// Ended tells of a job that reached a final status. key is its unique key, or empty.
func (l Left) Ended(queue, kind, key string, status jobtype.Status) {
	l.counts.Ended(queue, kind, status, 1)
	l.freed.add(kind, key)
}

// Released returns how many jobs may run now because others have ended. They are scheduled, and perhaps due.
func (l Left) Released() int64 { return l.freed.released }

// Dropped tells of a job that ended well and of which no row is kept: the history counts it. key is its unique key, or empty.
func (l Left) Dropped(queue, kind, key string) {
	l.counts.Add(queue, kind, string(jobtype.StatusDone), 1, 0)
	l.freed.add(kind, key)
}

// Retried tells of a job whose attempt failed and that gets another.
func (l Left) Retried(queue, kind string) { l.counts.Add(queue, kind, stats.EventRetried, 1, 0) }

// Crashed tells of a job whose attempt ended with its worker. What became of the job is told besides.
func (l Left) Crashed(queue, kind string) { l.counts.Add(queue, kind, stats.EventCrashed, 1, 0) }

// Revived tells of a job that is pending again and had the given status before.
func (l Left) Revived(queue, kind string, was jobtype.Status) { l.counts.Revived(queue, kind, was) }

// Conclude writes what follows. now is in microseconds. It runs no statement when nothing was told.
func (l Left) Conclude(ctx context.Context, q db.Querier, now int64) error {
	if err := l.freed.release(ctx, q, now); err != nil {
		return err
	}
	if err := l.counts.Write(ctx, q, now); err != nil {
		return fmt.Errorf("count what became of jobs: %w", err)
	}
	return nil
}
