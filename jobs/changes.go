package jobs

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Events that are counted beside the final statuses, which are events too.
const (
	eventRetried = "retried"
	eventCrashed = "crashed"
	eventWait    = "wait" // how long jobs were due before their handlers began, in classes of durations
	eventRun     = "run"  // how long their handlers took
)

// changes is what one transaction did to jobs, and has to note for the counts: jobs that are alive are counted in their
// indexes, those that ended only by these notes.
type changes map[change]changed

// change is an event in a queue, of a kind.
type change struct{ queue, kind, event string }

// changed is how often an event happened, and by how much the number of jobs with a status of this name changed.
type changed struct{ times, jobs int64 }

func (c changes) add(queue, kind, event string, times, jobs int64) {
	key := change{queue, kind, event}
	sum := c[key]
	c[key] = changed{sum.times + times, sum.jobs + jobs}
}

// ended notes that n jobs got a final status.
func (c changes) ended(queue, kind string, status Status, n int64) {
	c.add(queue, kind, string(status), n, n)
}

// revived notes that a job with some status waits again.
func (c changes) revived(queue, kind string, was Status) {
	if was.Final() {
		c.add(queue, kind, string(was), 0, -1)
	}
}

// recorded notes what the end of an attempt made of its job.
func (c changes) recorded(o outcome) {
	job := &o.attempt.job
	switch o.fate {
	case fateDone:
		c.ended(job.Queue, job.Kind, StatusDone, 1)
	case fateFail:
		c.ended(job.Queue, job.Kind, StatusFailed, 1)
	case fateCancel:
		c.ended(job.Queue, job.Kind, StatusCancelled, 1)
	case fateRetry:
		c.add(job.Queue, job.Kind, eventRetried, 1, 0)
	}
}

// write writes the notes inside the transaction that they tell of.
func (c changes) write(ctx context.Context, q db.Querier, now int64) error {
	if len(c) == 0 {
		return nil
	}
	items := make([]byte, 1, 80*len(c)+2)
	items[0] = '['
	for key, sum := range c {
		if len(items) > 1 {
			items = append(items, ',')
		}
		items = append(items, '[')
		for _, text := range []string{key.queue, key.kind, key.event} {
			items = append(core.AppendString(items, text), ',')
		}
		items = append(strconv.AppendInt(items, sum.times, 10), ',')
		items = append(strconv.AppendInt(items, sum.jobs, 10), ']')
	}
	return q.AddJobChanges(ctx, db.AddJobChangesParams{At: now, Items: string(append(items, ']'))})
}

// compare is the order in which sums are written, the same in all processes, so that none waits for one that waits for it.
func (a change) compare(b change) int {
	return cmp.Or(strings.Compare(a.queue, b.queue), strings.Compare(a.kind, b.kind), strings.Compare(a.event, b.event))
}
