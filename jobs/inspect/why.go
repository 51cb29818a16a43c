package inspect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Reason is the type of a [Finding].
type Reason string

const (
	ReasonEnded          Reason = "ended"            // it has a final status
	ReasonKept           Reason = "kept"             // a rule sets how long it is kept after its end
	ReasonExpired        Reason = "expired"          // no worker had started it by its start-by time
	ReasonStartBy        Reason = "start-by"         // it waits, and ends as cancelled if not started by a time
	ReasonReplaced       Reason = "replaced"         // its schedule cancelled it for the job of another tick
	ReasonForgotten      Reason = "forgotten"        // it has ended, and its data was erased: it cannot be retried
	ReasonUniqueKey      Reason = "unique-key-taken" // it has ended, and another live job holds its unique key: it cannot be retried
	ReasonRunning        Reason = "running"          // it runs
	ReasonLease          Reason = "lease-over"       // its worker's lease is over, and no worker has rescued the job yet
	ReasonCancel         Reason = "to-be-cancelled"  // it runs, and its worker was asked to stop it
	ReasonUnable         Reason = "unable"           // the workers that claimed it could not run it
	ReasonNotDue         Reason = "not-due"          // its run-after time is in the future
	ReasonDebounced      Reason = "debounced"        // another enqueue with its unique key puts its run-after time off
	ReasonSuccessor      Reason = "successor"        // a live job has its unique key: it runs after the end of that job
	ReasonClock          Reason = "clock"            // it is pending before its run-after time: by SQL, or because the clock was set back
	ReasonMoved          Reason = "queue-moved"      // a move to or from another database has closed the queue
	ReasonPaused         Reason = "queue-paused"     // no worker claims from its queue
	ReasonKindPaused     Reason = "kind-paused"      // no worker claims its kind from its queue
	ReasonNoWorker       Reason = "no-worker"        // no live worker takes its kind from its queue
	ReasonUnknownVersion Reason = "unknown-version"  // no live worker knows the version of its payload
	ReasonRefused        Reason = "refused"          // the database refuses a change of it, as for an index or a trigger of the application
	ReasonLimit          Reason = "limit"            // the limit of its kind and key has no room
	ReasonSlots          Reason = "slots-taken"      // the workers that take it have no free slot
	ReasonAhead          Reason = "jobs-ahead"       // other jobs run before it
	ReasonSoon           Reason = "soon"             // a worker is about to claim it
)

// Finding is one reason why a job does not run.
type Finding struct {
	Reason Reason `json:"reason"`
	Text   string `json:"text"` // for people
}

// Diagnosis holds the reasons why a job does not run.
type Diagnosis struct {
	Job      int64       `json:"job"`
	Status   jobs.Status `json:"status"`
	Findings []Finding   `json:"findings"` // at least one; correct the first one first
}

// countAhead is the largest number of jobs of one kind that are counted ahead of a job. Beyond it the finding says "at least".
const countAhead = 10_000

// Why returns the reasons why a job does not run, as far as the database shows them. The error is [jobs.ErrNotFound] for an unknown id.
func (in *Inspector) Why(ctx context.Context, id int64) (Diagnosis, error) {
	var w why
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if w, err = readJob(ctx, q, id); err == nil {
			err = w.readUnable(ctx, q, in)
		}
		return err
	})
	if err != nil {
		return Diagnosis{}, fmt.Errorf("why job %d does not run: %w", id, core.NotFound(err))
	}
	workers, err := in.Workers(ctx)
	if err != nil {
		return Diagnosis{}, fmt.Errorf("why job %d does not run: %w", id, err)
	}
	now := in.scope.Now()
	if err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error { return w.count(ctx, q, workers, now) }); err != nil {
		return Diagnosis{}, fmt.Errorf("why job %d does not run: %w", id, err)
	}
	return Diagnosis{Job: id, Status: w.job.Status, Findings: w.findings(now)}, nil
}

// why collects the data for the findings about a job.
type why struct {
	job            jobs.Job
	movedAt        time.Time      // when a move closed the queue
	paused         QueueInfo      // the pauses of its queue
	refusals       []db.Refusal   // relevant for its status
	unableAttempts unableAttempts // the latest attempts in which a worker was unable to run the job
	rule           RetentionRule  // for an ended job; zero if no rule matches it
	holder         int64          // for an ended job: the live job with its unique key
	replaced       []db.ScheduleTick
	owed           time.Time    // the tick whose job the schedule enqueues once this job has ended; zero for none
	expired        time.Time    // end of a job that was not started in time; zero otherwise
	takers         []WorkerInfo // the live workers that take its kind from its queue
	slots          int64        // the slots of the takers for its queue
	running        int64        // jobs of its queue that the takers hold
	free           int64        // slots without a job
	ahead          int64
	limits         []heldBy // the limits that may hold it; none unless it is waiting
}

// readJob reads the job, and the state of its queue and its unique key.
func readJob(ctx context.Context, q db.Querier, id int64) (why, error) {
	row, err := q.GetJob(ctx, id)
	if err != nil {
		return why{}, err
	}
	w := why{job: jobrow.Of(row)}
	moves, err := q.ListMoves(ctx)
	if err != nil {
		return why{}, err
	}
	for _, m := range moves {
		w.movedAt = core.Time(m.StartedAt)
	}
	pauses, err := q.ListPauses(ctx)
	if err != nil {
		return why{}, err
	}
	markPauses(pauses, func(name string) *QueueInfo {
		if name == w.job.Queue {
			return &w.paused
		}
		return new(QueueInfo)
	})
	refusals, err := q.ListRefusals(ctx, id)
	if err != nil {
		return why{}, err
	}
	for _, r := range refusals {
		if refusal.Action(r.Action).Concerns(w.job.Status) {
			w.refusals = append(w.refusals, r)
		}
	}
	if err := w.readLimit(ctx, q); err != nil {
		return why{}, err
	}
	if err := w.readOwed(ctx, q); err != nil {
		return why{}, err
	}
	err = w.readEnd(ctx, q)
	return w, err
}

// readOwed reads the tick whose job the schedule enqueues after the job's end.
func (w *why) readOwed(ctx context.Context, q db.Querier) error {
	name := w.job.Schedule()
	if name == "" {
		return nil
	}
	s, err := q.GetSchedule(ctx, name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && s.OwedAt != nil && core.Deref(s.LastJobID) == w.job.ID {
		w.owed = core.Time(*s.OwedAt)
	}
	return err
}

// owedFinding returns the finding about that tick.
func (w *why) owedFinding(when string) possible {
	return possible{!w.owed.IsZero(), newFinding(ReasonOwed, "schedule %s enqueues the job of the tick %s %s",
		strconv.Quote(w.job.Schedule()), moment(w.owed), when)}
}

// readEnd reads the circumstances of a job's end, and the holder of the unique key of a job that does not run.
func (w *why) readEnd(ctx context.Context, q db.Querier) (err error) {
	if name := w.job.Schedule(); name != "" && w.job.Status == jobs.StatusCancelled {
		w.replaced, err = q.ListReplacingTicks(ctx, db.ListReplacingTicksParams{Schedule: name, JobID: w.job.ID})
		if err != nil {
			return err
		}
	}
	if w.job.Status == jobs.StatusCancelled && !w.job.StartBy.IsZero() {
		last, err := q.ListJobErrors(ctx, db.ListJobErrorsParams{JobID: w.job.ID, BeforeID: math.MaxInt64, Failed: 1, N: 1})
		if err != nil {
			return err
		}
		if len(last) > 0 && jobs.Cause(last[0].Cause) == jobs.CauseExpired {
			w.expired = core.Time(last[0].EndedAt)
		}
	}
	if w.job.Status.Final() {
		if err := w.readRule(ctx, q); err != nil {
			return err
		}
	}
	if (w.job.Status.Final() || w.job.Successor) && w.job.UniqueKey != "" {
		w.holder, err = lifecycle.HolderOf(ctx, q, w.job.Kind, w.job.UniqueKey)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
	}
	return err
}

// unableAttempts describes a job's latest attempts, in a row, whose workers could not run it.
type unableAttempts struct {
	attempts int64
	since    time.Time
	last     AttemptEnd
}

// readUnable reads why workers could not run a waiting job.
func (w *why) readUnable(ctx context.Context, q db.Querier, in *Inspector) error {
	if w.job.Attempt == 0 || !w.unstarted() {
		return nil
	}
	found, err := q.GetUnableAttempts(ctx, w.job.ID)
	if err != nil || found.Attempts == 0 {
		return err
	}
	rows, err := q.ListJobErrors(ctx, db.ListJobErrorsParams{JobID: w.job.ID, BeforeID: found.LastID + 1, N: 1})
	if err != nil || len(rows) == 0 {
		return err
	}
	w.unableAttempts = unableAttempts{found.Attempts, core.Time(found.Since), in.attemptEnds(w.job.Kind, rows)[0]}
	return nil
}

// finding returns why the last worker could not run the job.
func (u unableAttempts) finding() possible {
	times := ""
	if u.attempts > 1 {
		times = fmt.Sprintf("; %d attempts in a row ended so since %s", u.attempts, moment(u.since))
	}
	worker := "a worker"
	if u.last.Worker != "" {
		worker = "worker " + strconv.Quote(u.last.Worker)
	}
	return possible{u.attempts > 0, newFinding(ReasonUnable, "%s could not run it at %s, and put it off for others: %s%s",
		worker, moment(u.last.EndedAt), u.last.Message, times)}
}

// readRule reads the rule that keeps an ended job.
func (w *why) readRule(ctx context.Context, q db.Querier) error {
	rule, err := q.GetRetention(ctx, db.GetRetentionParams{Status: string(w.job.Status), Kind: w.job.Kind, Queue: w.job.Queue})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	w.rule = ruleOf(rule)
	return err
}

// unstarted reports whether the job is to start.
func (w *why) unstarted() bool {
	return w.job.Status == jobs.StatusScheduled || w.job.Status == jobs.StatusWaiting || w.job.Status == jobs.StatusPending
}

// waits reports whether the job waits for a worker. A scheduled job that has fallen due waits too: it stays scheduled until
// a worker has a slot for it.
func (w *why) waits(now time.Time) bool {
	return w.job.Status == jobs.StatusPending || w.job.Status == jobs.StatusWaiting || w.job.Status == jobs.StatusScheduled && !w.job.Successor && !w.job.RunAfter.After(now)
}

// count counts, for a waiting job, the running jobs and the jobs that its workers claim before it.
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
		w.free += max(0, slots-running[taker.ID]) // a worker may hold more jobs than slots: see jobs.Config.Ahead
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
			break // there may be many kinds
		}
	}
	return nil
}

// moment returns a time as text. Other programs may have left it unset.
func moment(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.Format(time.RFC3339)
}

// pauseEnd returns the end of a pause as text.
func pauseEnd(until time.Time) string {
	if until.IsZero() {
		return "it is resumed"
	}
	return moment(until)
}

// byWhom returns the actor and the reason of a pause, if it has them.
func byWhom(actor, reason string) string {
	var text string
	if actor != "" {
		text = ", by " + strconv.Quote(actor)
	}
	if reason != "" {
		text += ": " + strconv.Quote(reason)
	}
	return text
}

// possible is a finding with the condition under which it applies.
type possible struct {
	applies bool
	Finding
}

// findingsOf returns the findings that apply.
func findingsOf(list ...possible) []Finding {
	var found []Finding
	for _, p := range list {
		if p.applies {
			found = append(found, p.Finding)
		}
	}
	return found
}

// findings returns the reasons; correct the first one first.
func (w *why) findings(now time.Time) []Finding {
	switch {
	case w.job.Status.Final():
		return w.ended()
	case w.job.Status == jobs.StatusRunning:
		return w.runningFindings(now)
	}
	list := w.waiting(now)
	if len(list) == 0 {
		list = []Finding{newFinding(ReasonSoon, "worker %s is about to claim it", strconv.Quote(w.takers[0].Name))}
	}
	j, must := w.job, !w.job.StartBy.IsZero()
	return append(list, findingsOf(
		w.owedFinding("when this one has ended"),
		possible{must && j.StartBy.After(now), newFinding(ReasonStartBy, "it ends as cancelled if it has not started by %s", moment(j.StartBy))},
		possible{must && !j.StartBy.After(now),
			newFinding(ReasonStartBy, "it had to start by %s: the next worker that looks ends it as cancelled", moment(j.StartBy))},
	)...)
}

// refused returns the findings about actions that the database refuses.
func (w *why) refused() (found []Finding) {
	for _, r := range w.refusals {
		times := "once"
		if r.Times > 1 {
			times = fmt.Sprintf("%d times since %s", r.Times, moment(core.Time(r.FirstAt)))
		}
		found = append(found, newFinding(ReasonRefused, "the database refuses to %s, %s: %s; it is tried again after %s",
			refusal.Action(r.Action).Phrase(), times, r.Message, moment(core.Time(r.AgainAt))))
	}
	return found
}

// ended returns the findings of a job with a final status.
func (w *why) ended() []Finding {
	j := w.job
	var by db.ScheduleTick
	for _, tick := range w.replaced {
		by = tick
	}
	return append(findingsOf(
		possible{true, newFinding(ReasonEnded, "it is %s since %s", j.Status, moment(j.FinishedAt))},
		possible{!w.expired.IsZero(), newFinding(ReasonExpired, "it expired at %s: it had to start by %s", moment(w.expired), moment(j.StartBy))},
		possible{len(w.replaced) > 0, newFinding(ReasonReplaced, "schedule %s replaced it by job %d, of the tick %s",
			strconv.Quote(by.Schedule), core.Deref(by.JobID), moment(core.Time(by.Tick)))},
		w.owedFinding("when a worker looks next"),
		possible{string(j.Payload) == jobtype.ForgottenJSON, newFinding(ReasonForgotten, "what it carried was erased: its user was forgotten, or it was kept long enough: it cannot be retried")},
		possible{w.holder != 0 && j.Status != jobs.StatusDone,
			newFinding(ReasonUniqueKey, "it cannot be retried while job %d has the unique key %s", w.holder, strconv.Quote(j.UniqueKey))},
		possible{w.rule.Keep != 0 && !j.FinishedAt.IsZero(), w.kept()},
	), w.refused()...)
}

// kept returns the finding about the rule that keeps an ended job.
func (w *why) kept() Finding {
	if w.rule.Keep == jobs.Forever {
		return newFinding(ReasonKept, "it is kept for ever, by the rule for %s", w.rule)
	}
	return newFinding(ReasonKept, "it is kept until %s, and then removed by a worker, by the rule for %s", moment(w.job.FinishedAt.Add(w.rule.Keep)), w.rule)
}

// runningFindings returns the findings of a running job.
func (w *why) runningFindings(now time.Time) []Finding {
	j := w.job
	return append(findingsOf(
		possible{true, newFinding(ReasonRunning, "worker %d has run it since %s", j.WorkerID, moment(j.StartedAt))},
		possible{j.LeaseUntil.Before(now),
			newFinding(ReasonLease, "that worker's lease ended at %s: it is gone or does not answer, and no other has rescued the job yet", moment(j.LeaseUntil))},
		possible{!j.CancelRequested.IsZero(), newFinding(ReasonCancel, "its worker was asked at %s to stop it", moment(j.CancelRequested))},
		w.owedFinding("when this one has ended"),
	), w.refused()...)
}

// waiting returns the findings of a scheduled or pending job; none if a worker can claim it.
func (w *why) waiting(now time.Time) []Finding {
	j, queue := w.job, strconv.Quote(w.job.Queue)
	early, scheduled, how := j.RunAfter.After(now), j.Status == jobs.StatusScheduled, j.Debounced()
	debounced := how.Quiet > 0 && j.Attempt == 0
	due, in := moment(j.RunAfter), j.RunAfter.Sub(now).Round(time.Second)
	more := ""
	if w.ahead >= countAhead {
		more = "at least "
	}
	var kind KindPause
	for _, p := range w.paused.PausedKinds {
		if p.Kind == j.Kind {
			kind = p
		}
	}
	return append(w.refused(), findingsOf(
		w.unableAttempts.finding(),
		possible{j.Successor && w.holder == j.ID, newFinding(ReasonSuccessor, "the job before it with its unique key %s has ended: the next worker that looks lets it run", strconv.Quote(j.UniqueKey))},
		possible{j.Successor && w.holder != j.ID, newFinding(ReasonSuccessor, "it runs when job %d has ended, which has its unique key %s", w.holder, strconv.Quote(j.UniqueKey))},
		possible{early && scheduled && !debounced, newFinding(ReasonNotDue, "it is due at %s, in %s", due, in)},
		possible{early && scheduled && debounced, newFinding(ReasonDebounced, "it is debounced until %s, in %s: an enqueue with its unique key %s before puts it off%s",
			due, in, strconv.Quote(j.UniqueKey), debounceLimit(j, how))},
		possible{early && !scheduled,
			newFinding(ReasonClock, "it is pending but due only at %s, in %s: it was made so by SQL, or the clock was set back", due, in)},
		possible{!w.movedAt.IsZero(),
			newFinding(ReasonMoved, "the queue is closed since %s by a move to another database, or from one", moment(w.movedAt))},
		possible{!w.paused.PausedAt.IsZero(), newFinding(ReasonPaused, "queue %s is paused since %s, until %s%s", queue,
			moment(w.paused.PausedAt), pauseEnd(w.paused.PausedUntil), byWhom(w.paused.PausedBy, w.paused.PauseReason))},
		possible{kind.Kind != "", newFinding(ReasonKindPaused, "its kind %s is paused in queue %s since %s, until %s%s", strconv.Quote(j.Kind), queue,
			moment(kind.At), pauseEnd(kind.Until), byWhom(kind.By, kind.Reason))},
		possible{len(w.takers) == 0,
			newFinding(ReasonNoWorker, "no live worker takes jobs of the kind %s from queue %s", strconv.Quote(j.Kind), queue)},
		w.limitFinding(now),
		w.unknownVersion(),
		possible{len(w.takers) > 0 && w.waits(now) && w.free == 0,
			newFinding(ReasonSlots, "the workers that take it hold %d jobs of queue %s, and run %d at once", w.running, queue, w.slots)},
		possible{w.ahead > 0, newFinding(ReasonAhead, "%s%d jobs of queue %s are to run before it", more, w.ahead, queue)},
	)...)
}

// debounceLimit returns the latest time to which a debounced job can be postponed, as text.
func debounceLimit(j jobs.Job, how jobtype.Debounce) string {
	if how.AtMost == 0 {
		return ""
	}
	return ", until " + moment(j.CreatedAt.Add(how.AtMost)) + " at the latest"
}

func newFinding(reason Reason, format string, args ...any) Finding {
	return Finding{reason, fmt.Sprintf(format, args...)}
}
