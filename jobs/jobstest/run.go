package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// errRan is the reason with which RunJob stops its runner.
var errRan = errors.New("the attempt has ended")

// Outcome is the result of an attempt.
type Outcome struct {
	// Job is the job after the attempt. Its Status says whether it has ended, and Result and Progress hold the handler's values. If the
	// job is done and its kind keeps nothing, it is the job before the attempt, with the new Status and Attempt.
	Job jobs.Job

	// Fate is the attempt's result for the job: done, retry, failed, cancelled or snoozed.
	Fate jobs.Fate

	// Err is the handler's error, after the middleware. After a panic, and for a payload that could not be decoded, it has the recorded
	// text.
	Err error

	// Cause is the reason why the attempt failed; empty if it did not.
	Cause jobs.Cause

	// Delay is the time until the next attempt, by the queue's clock; 0 if there is none or if it is due.
	Delay time.Duration
}

// Result decodes the job's result into v.
func (o Outcome) Result(v any) error {
	if o.Job.Result == nil {
		return fmt.Errorf("job %d has no result", o.Job.ID)
	}
	return json.Unmarshal(o.Job.Result, v)
}

// String returns the outcome in one line.
func (o Outcome) String() string {
	text := fmt.Sprintf("job %d of %s, attempt %d: %s", o.Job.ID, o.Job.Kind, o.Job.Attempt, o.Fate)
	if o.Delay > 0 {
		text += fmt.Sprintf(" in %s", o.Delay)
	}
	if o.Err != nil {
		text += ": " + o.Err.Error()
	}
	return text
}

// Run enqueues a job of a kind and runs one attempt of it, as a worker does: claim, handler, record. Everything works in the handler:
// SetResult, SetProgress, CompleteTx, and a context that ends with the attempt's timeout. No other job runs. If the options put the job
// off, the clock moves to its time. The payload is encoded and decoded on the way.
func Run[T any](tb testing.TB, q *Queue, kind jobs.Kind[T], h jobs.Handler[T], args T, opts ...jobs.EnqueueOption) Outcome {
	tb.Helper()
	receipt, err := kind.Enqueue(tb.Context(), q.Client, args, opts...)
	if err != nil {
		tb.Fatalf("jobstest: %v", err)
	}
	return RunJob(tb, q, kind, h, receipt.ID)
}

// RunJob runs the next attempt of an existing job, as [Run] does: a second attempt, or a job that other code has enqueued, also under an
// alias of the kind. When no worker could run the job, because it has ended or expired, waits for another job with its unique key, or its
// queue or kind is paused, the test fails with the reason. As at the start of a worker, pauses that are over end, and so do other jobs that
// have expired.
func RunJob[T any](tb testing.TB, q *Queue, kind jobs.Kind[T], h jobs.Handler[T], id int64) Outcome {
	tb.Helper()
	before, err := q.ready(tb.Context(), append([]string{kind.Name}, kind.Aliases...), id)
	if err != nil {
		tb.Fatalf("jobstest: run job %d: %v", id, err)
	}
	ctx, stop := context.WithCancelCause(tb.Context())
	defer stop(nil)
	outcome := Outcome{}
	runner, err := q.runner(jobs.New(engine.SealStore(&single{Store: q.port(), id: id}), q.options...), []string{before.Queue}, func(next jobs.RunFunc) jobs.RunFunc {
		return func(ctx context.Context, job jobs.Job) error {
			defer stop(errRan) // the runner records how the attempt ends, and then stops
			outcome.Err = next(ctx, job)
			return outcome.Err
		}
	})
	if err == nil {
		kind.Handle(runner, h)
		// A drain starts no scheduler, and so reads by one connection less.
		if err = runner.Drain(ctx); errors.Is(err, errRan) {
			err = nil
		}
	}
	if err == nil {
		err = outcome.read(context.WithoutCancel(tb.Context()), q, before, kind.Keep)
	}
	if err != nil {
		tb.Fatalf("jobstest: run job %d: %v", id, err)
	}
	return outcome
}

// ready returns a job that a worker can claim now, after moving the clock to its time. The error says why none can, and what to do.
func (q *Queue) ready(ctx context.Context, kinds []string, id int64) (jobs.Job, error) {
	job, err := q.Revealed().Get(ctx, id)
	if err != nil {
		return job, err
	}
	if !slices.Contains(kinds, job.Kind) {
		return job, fmt.Errorf("the job is of kind %s, not %s", job.Kind, strings.Join(kinds, " or "))
	}
	q.advanceTo(job.RunAfter)
	if err := (&maintenance.Upkeep{Store: q.port(), Log: slog.New(slog.DiscardHandler), Declared: core.JSONNames(nil)}).SettleOverdue(ctx); err != nil {
		return job, err
	}
	diagnosis, err := inspect.New(q.Client).Why(ctx, id)
	if err != nil {
		return job, err
	}
	return job, prevented(diagnosis.Findings)
}

// prevented returns an error for the first reason for which no worker could claim the job; nil if there is none.
func prevented(findings []inspect.Finding) error {
	for _, r := range reasons() {
		for _, finding := range findings {
			if finding.Reason == r.reason {
				return fmt.Errorf("%s: %s", finding.Text, r.remedy)
			}
		}
	}
	return nil
}

// reason is a reason for which no worker can claim a job, with the remedy for a test.
type reason struct {
	reason inspect.Reason
	remedy string
}

// reasons returns the reasons for which RunJob gives up, the most precise ones first. It starts a worker, so a lack of workers is none.
func reasons() []reason {
	const waits = "RunJob needs a job that waits: "
	return []reason{
		{inspect.ReasonExpired, "run it before that time, or enqueue it with a later one"},
		{inspect.ReasonEnded, waits + "enqueue another one, or make it wait again with Client.Retry"},
		{inspect.ReasonRunning, waits + "call it when that attempt has ended"},
		{inspect.ReasonSuccessor, "run that job to its end first"},
		{inspect.ReasonMoved, "open a queue that is not moved"},
		{inspect.ReasonPaused, "call ResumeQueue first, or Advance to the end of the pause"},
		{inspect.ReasonKindPaused, "call ResumeKind first, or Advance to the end of the pause"},
	}
}

// runner returns a runner of some queues, with a middleware around all others.
func (q *Queue) runner(client *jobs.Client, queues []string, outermost ...jobs.RunMiddleware) (*jobs.Runner, error) {
	c := q.config
	c.Queues = map[string]int{}
	for _, name := range queues {
		c.Queues[name] = 1
	}
	c.Middleware = append(outermost, c.Middleware...)
	return jobs.NewRunner(client, c)
}

// read reads the job after the attempt.
func (o *Outcome) read(ctx context.Context, q *Queue, before jobs.Job, keep time.Duration) (err error) {
	o.Job, err = q.Revealed().Get(ctx, before.ID)
	switch {
	case errors.Is(err, jobs.ErrNotFound) && keep == jobs.Nothing && o.Err == nil:
		o.Job, o.Fate = before, jobs.FateDone
		o.Job.Status, o.Job.Attempt = jobs.StatusDone, before.Attempt+1
		return nil
	case err != nil:
		return err
	}
	if o.Job.Attempt == before.Attempt {
		return errors.New("the job was not run: the test has ended")
	}
	if !o.Job.FinishedAt.IsZero() {
		o.Fate = map[jobs.Status]jobs.Fate{
			jobs.StatusDone: jobs.FateDone, jobs.StatusFailed: jobs.FateFailed, jobs.StatusCancelled: jobs.FateCancelled,
		}[o.Job.Status]
	} else {
		o.Delay = max(0, o.Job.RunAfter.Sub(q.Now()))
		if o.Fate = jobs.FateRetry; o.Job.Uncounted > before.Uncounted {
			o.Fate = jobs.FateSnoozed
		}
	}
	if o.Fate == jobs.FateDone {
		return nil
	}
	list, err := inspect.New(q.Client).Errors(ctx, before.ID)
	for _, e := range list {
		if e.Attempt == o.Job.Attempt {
			if o.Cause = e.Cause; o.Cause == jobs.CauseUnable {
				o.Fate = jobs.FateUnable
			}
			if o.Err == nil {
				o.Err = errors.New(e.Message)
			}
		}
	}
	return err
}

// single is a store that gives one attempt of one job to a runner, and no other job.
type single struct {
	engine.Store
	id      int64
	claimed bool
}

// ClockStands implements [engine.ClockStands].
func (*single) ClockStands() bool { return true }

// Exchange implements [engine.Store]: it claims only the attempt, once. The loop makes one call at a time.
func (s *single) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	p.Claims = slices.Clone(p.Claims)
	for i := range p.Claims {
		if p.Claims[i].IDs = []int64{s.id}; s.claimed {
			p.Claims[i].IDs = []int64{}
		}
	}
	out, err := s.Store.Exchange(ctx, p)
	if err == nil {
		s.claimed = s.claimed || slices.ContainsFunc(out.Claimed, func(rows []db.ClaimJobsRow) bool { return len(rows) > 0 })
	}
	return out, err
}
