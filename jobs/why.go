package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Reason is why a job does not run.
type Reason string

const (
	ReasonEnded     Reason = "ended"            // it has a final status
	ReasonUniqueKey Reason = "unique-key-taken" // it has ended, and another live job holds its unique key: it cannot be retried
	ReasonRunning   Reason = "running"          // it does run
	ReasonLease     Reason = "lease-over"       // the worker that runs it gives no sign of life, and there is none to rescue it yet
	ReasonCancel    Reason = "to-be-cancelled"  // it runs, and its worker was asked to stop it
	ReasonNotDue    Reason = "not-due"          // its time has not come
	ReasonClock     Reason = "clock"            // it waits for a worker before its time: by SQL, or because the clock was set back
	ReasonMoved     Reason = "queue-moved"      // the queue is closed by a move to another database, or from one
	ReasonPaused    Reason = "queue-paused"     // nobody claims from its queue
	ReasonNoWorker  Reason = "no-worker"        // no live worker takes its kind from its queue
	ReasonSlots     Reason = "slots-taken"      // each of those workers holds as many jobs of its queue as it runs at once
	ReasonAhead     Reason = "jobs-ahead"       // others are to run before it
	ReasonSoon      Reason = "soon"             // a worker is about to claim it
)

// Finding is one reason why a job does not run, in words.
type Finding struct {
	Reason Reason `json:"reason"`
	Text   string `json:"text"`
}

// Diagnosis says why a job does not run.
type Diagnosis struct {
	Job      int64     `json:"job"`
	Status   Status    `json:"status"`
	Findings []Finding `json:"findings"` // at least one, the first one first to be mended
}

// countAhead is up to how many jobs that are claimed before another are counted, of each sort; more are "at least" so many.
const countAhead = 10_000

// Why says why a job does not run, as far as the database knows it. The error is [ErrNotFound] when there is no such job.
func (c *Client) Why(ctx context.Context, id int64) (Diagnosis, error) {
	var w why
	err := c.read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		w, err = look(ctx, q, id)
		return err
	})
	if err != nil {
		return Diagnosis{}, fmt.Errorf("why job %d does not run: %w", id, notFound(err))
	}
	workers, err := c.Workers(ctx)
	if err != nil {
		return Diagnosis{}, fmt.Errorf("why job %d does not run: %w", id, err)
	}
	now := c.store.Now()
	if err := c.read(ctx, func(ctx context.Context, q db.Querier) error { return w.count(ctx, q, workers, now) }); err != nil {
		return Diagnosis{}, fmt.Errorf("why job %d does not run: %w", id, err)
	}
	return Diagnosis{Job: id, Status: w.job.Status, Findings: w.findings(now)}, nil
}

// why is what there is to know of a job that does not run.
type why struct {
	job      Job
	movedAt  time.Time // when a move closed the queue
	pausedAt time.Time
	holder   int64        // of its unique key, when it has ended
	takers   []WorkerInfo // the live workers that take it
	slots    int64        // of those for its queue
	running  int64        // jobs of its queue that they hold
	free     int64        // slots without one
	ahead    int64
}

func look(ctx context.Context, q db.Querier, id int64) (why, error) {
	row, err := q.GetJob(ctx, id)
	if err != nil {
		return why{}, err
	}
	w := why{job: jobFromRow(row)}
	moves, err := q.ListMoves(ctx)
	if err != nil {
		return why{}, err
	}
	for _, m := range moves {
		w.movedAt = core.Time(m.StartedAt)
	}
	queues, err := q.ListQueueRows(ctx)
	if err != nil {
		return why{}, err
	}
	for _, r := range queues {
		if r.Name == w.job.Queue {
			w.pausedAt = core.Time(core.Deref(r.PausedAt))
		}
	}
	if w.job.Status.Final() && w.job.UniqueKey != "" {
		w.holder, err = q.GetLiveJobIDByUniqueKey(ctx, db.GetLiveJobIDByUniqueKeyParams{Kind: w.job.Kind, UniqueKey: w.job.UniqueKey})
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
	}
	return w, err
}

// waits reports whether a job waits for a worker: also one that is scheduled and has fallen due, which stays so until a
// worker has a slot for it.
func (w *why) waits(now time.Time) bool {
	return w.job.Status == StatusPending || w.job.Status == StatusScheduled && !w.job.RunAfter.After(now)
}

// count counts what is in the way of a job that waits: the jobs that run, and those that its workers claim before it.
func (w *why) count(ctx context.Context, q db.Querier, workers []WorkerInfo, now time.Time) (err error) {
	w.takers, w.slots, w.running, w.free, w.ahead = nil, 0, 0, 0, 0
	var kinds []string
	for _, worker := range workers {
		if worker.Queues[w.job.Queue] > 0 && slices.Contains(worker.Kinds, w.job.Kind) {
			w.takers = append(w.takers, worker)
			kinds = append(kinds, worker.Kinds...)
		}
	}
	if !w.waits(now) || len(w.takers) == 0 {
		return nil
	}
	held, err := q.CountRunningJobsInQueue(ctx, w.job.Queue)
	if err != nil {
		return err
	}
	running := map[int64]int64{}
	for _, h := range held {
		running[h.WorkerID] = h.Jobs
	}
	for _, taker := range w.takers {
		slots := int64(taker.Queues[w.job.Queue])
		w.slots += slots
		w.running += running[taker.ID]
		w.free += max(0, slots-running[taker.ID]) // one may hold more than it has slots for: see Config.Ahead
	}
	slices.Sort(kinds)
	for _, kind := range slices.Compact(kinds) {
		n, err := q.CountJobsAhead(ctx, db.CountJobsAheadParams{
			Queue: w.job.Queue, Kind: kind, Priority: int64(w.job.Priority), N: countAhead,
			RunAfter: core.Micros(w.job.RunAfter), ID: w.job.ID,
		})
		if err != nil {
			return err
		}
		if w.ahead += n; w.ahead >= countAhead {
			break // enough to know: there may be many kinds
		}
	}
	return nil
}

// moment is a time in words; other programs may have set none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.Format(time.RFC3339)
}

// findings are the reasons, the first one first to be mended.
func (w *why) findings(now time.Time) []Finding {
	var list []Finding
	say := func(reason Reason, format string, args ...any) {
		list = append(list, Finding{reason, fmt.Sprintf(format, args...)})
	}
	j := w.job
	switch {
	case j.Status.Final():
		say(ReasonEnded, "it is %s since %s", j.Status, moment(j.FinishedAt))
		if w.holder != 0 && j.Status != StatusDone {
			say(ReasonUniqueKey, "it cannot be retried while job %d has the unique key %s", w.holder, core.Quote(j.UniqueKey))
		}
		return list
	case j.Status == StatusRunning:
		say(ReasonRunning, "worker %d has run it since %s", j.WorkerID, moment(j.StartedAt))
		if j.LeaseUntil.Before(now) {
			say(ReasonLease, "that worker's lease ended at %s: it is gone or does not answer, and no other has rescued the job yet", moment(j.LeaseUntil))
		}
		if !j.CancelRequested.IsZero() {
			say(ReasonCancel, "its worker was asked at %s to stop it", j.CancelRequested.Format(time.RFC3339))
		}
		return list
	case j.Status == StatusScheduled && j.RunAfter.After(now):
		say(ReasonNotDue, "it is due at %s, in %s", j.RunAfter.Format(time.RFC3339), j.RunAfter.Sub(now).Round(time.Second))
	case j.RunAfter.After(now):
		say(ReasonClock, "it is pending but due only at %s, in %s: it was made so by SQL, or the clock was set back",
			j.RunAfter.Format(time.RFC3339), j.RunAfter.Sub(now).Round(time.Second))
	}
	if !w.movedAt.IsZero() {
		say(ReasonMoved, "the queue is closed since %s by a move to another database, or from one", w.movedAt.Format(time.RFC3339))
	}
	if !w.pausedAt.IsZero() {
		say(ReasonPaused, "queue %s is paused since %s", core.Quote(j.Queue), w.pausedAt.Format(time.RFC3339))
	}
	switch {
	case len(w.takers) == 0:
		say(ReasonNoWorker, "no live worker takes jobs of the kind %s from queue %s", core.Quote(j.Kind), core.Quote(j.Queue))
	case w.waits(now) && w.free == 0:
		say(ReasonSlots, "the workers that take it hold %d jobs of queue %s, and run %d at once", w.running, core.Quote(j.Queue), w.slots)
	}
	if w.ahead > 0 {
		more := ""
		if w.ahead >= countAhead {
			more = "at least "
		}
		say(ReasonAhead, "%s%d jobs of queue %s are to run before it", more, w.ahead, core.Quote(j.Queue))
	}
	if len(list) == 0 {
		say(ReasonSoon, "worker %s is about to claim it", core.Quote(w.takers[0].Name))
	}
	return list
}
