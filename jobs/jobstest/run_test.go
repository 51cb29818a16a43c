package jobstest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// The outcome of a done and removed job has the known fields; a failed job still exists.
func TestOutcomeOfAKindOfWhichNothingIsKept(t *testing.T) {
	t.Parallel()
	brief := mail
	brief.Keep = jobs.Nothing
	q := jobstest.New(t)
	out := jobstest.Run(t, q, brief, deliver, letter{"ann"})
	want(t, "fate", out.Fate, jobs.FateDone)
	want(t, "status", out.Job.Status, jobs.StatusDone)
	want(t, "attempt", out.Job.Attempt, 1)
	if _, err := q.Get(t.Context(), out.Job.ID); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("the job is there: %v", err)
	}
	want(t, "fate", jobstest.Run(t, q, brief, returning(errors.New("no")), letter{"ann"}).Fate, jobs.FateRetry)
	report := jobstest.Crash(t, brief, letter{"ann"}, func(*jobstest.CrashRun) (jobs.Handler[letter], func() any) {
		return deliver, func() any { return nil }
	})
	want(t, "status after crashes", report.Undisturbed.Status, jobs.StatusDone)
	want(t, "differences", len(report.Differences()), 0)
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	broken := errors.New("no answer")
	for name, c := range map[string]struct {
		handler jobs.Handler[letter]
		opts    []jobs.EnqueueOption
		fate    jobs.Fate
		status  jobs.Status
		cause   jobs.Cause
		delay   time.Duration
		text    string
	}{
		"done":  {handler: deliver, fate: jobs.FateDone, status: jobs.StatusDone},
		"retry": {handler: returning(broken), fate: jobs.FateRetry, status: jobs.StatusScheduled, cause: jobs.CauseError, delay: time.Hour, text: "no answer"},
		"retry in": {
			handler: returning(jobs.RetryIn(time.Minute, broken)), fate: jobs.FateRetry, status: jobs.StatusScheduled, cause: jobs.CauseError,
			delay: time.Minute, text: "no answer",
		},
		"retry now":  {handler: returning(jobs.RetryIn(0, broken)), fate: jobs.FateRetry, status: jobs.StatusPending, cause: jobs.CauseError, text: "no answer"},
		"last":       {handler: returning(broken), opts: []jobs.EnqueueOption{jobs.MaxAttempts(1)}, fate: jobs.FateFailed, status: jobs.StatusFailed, cause: jobs.CauseError, text: "no answer"},
		"snooze":     {handler: returning(jobs.Snooze(time.Hour)), fate: jobs.FateSnoozed, status: jobs.StatusScheduled, delay: time.Hour, text: "snooze"},
		"snooze now": {handler: returning(jobs.Snooze(0)), fate: jobs.FateSnoozed, status: jobs.StatusPending, text: "snooze"},
		"cancel":     {handler: returning(jobs.Cancel(broken)), fate: jobs.FateCancelled, status: jobs.StatusCancelled, text: "no answer"},
		"discard":    {handler: returning(jobs.Discard(broken)), fate: jobs.FateFailed, status: jobs.StatusFailed, cause: jobs.CauseError, text: "no answer"},
		"panic":      {handler: func(context.Context, jobs.Job, letter) error { panic("boom") }, fate: jobs.FateRetry, status: jobs.StatusScheduled, cause: jobs.CausePanic, delay: time.Hour, text: "boom"},
		"Goexit":     {handler: func(context.Context, jobs.Job, letter) error { runtime.Goexit(); return nil }, fate: jobs.FateRetry, status: jobs.StatusScheduled, cause: jobs.CausePanic, delay: time.Hour, text: "Goexit"},
		"timeout": {
			handler: func(ctx context.Context, _ jobs.Job, _ letter) error { <-ctx.Done(); return context.Cause(ctx) },
			opts:    []jobs.EnqueueOption{jobs.Timeout(time.Millisecond)}, fate: jobs.FateRetry, status: jobs.StatusScheduled,
			cause: jobs.CauseTimeout, delay: time.Hour, text: "timeout",
		},
		"put off": {handler: deliver, opts: []jobs.EnqueueOption{jobs.In(time.Hour)}, fate: jobs.FateDone, status: jobs.StatusDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := jobstest.Run(t, jobstest.New(t), mail, c.handler, letter{"ann"}, c.opts...)
			want(t, "fate", out.Fate, c.fate)
			want(t, "status", out.Job.Status, c.status)
			want(t, "cause", out.Cause, c.cause)
			want(t, "delay", out.Delay, c.delay)
			want(t, "attempt", out.Job.Attempt, 1)
			if (c.text == "") != (out.Err == nil) || out.Err != nil && !strings.Contains(out.Err.Error(), c.text) {
				t.Errorf("the error is %v, not one about %q", out.Err, c.text)
			}
			if !strings.Contains(out.String(), string(c.fate)) {
				t.Errorf("the outcome reads %q", out)
			}
		})
	}
}

func returning(err error) jobs.Handler[letter] {
	return func(context.Context, jobs.Job, letter) error { return err }
}

func TestResultAndProgressOfARun(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	out := jobstest.Run(t, q, mail, func(ctx context.Context, job jobs.Job, args letter) error {
		return errors.Join(job.SetProgress(ctx, "half"), job.SetResult(letter{"re: " + args.To}))
	}, letter{"ann"})
	var result letter
	must(t, out.Result(&result))
	want(t, "result", result.To, "re: ann")
	want(t, "progress", string(out.Job.Progress), `"half"`)
	none := jobstest.Run(t, q, mail, deliver, letter{"ben"})
	if err := none.Result(&result); err == nil {
		t.Error("there is a result that no handler set")
	}
}

func TestCompleteTxInARun(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	db := q.DB()
	out := jobstest.Run(t, q, mail, func(ctx context.Context, job jobs.Job, _ letter) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		return errors.Join(jobs.CompleteTx(ctx, sqlite.Tx(tx), job, "sent"), tx.Commit())
	}, letter{"ann"})
	want(t, "fate", out.Fate, jobs.FateDone)
	want(t, "result", string(out.Job.Result), `"sent"`)
}

// Run does not run other jobs, also of the same kind and of a higher priority, and RunJob runs the next attempt.
func TestRunRunsOneAttemptOfOneJob(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	other := enqueue(t, q, "first", jobs.Priority(9))
	first := jobstest.Run(t, q, mail, returning(jobs.RetryIn(0, errors.New("again"))), letter{"ann"})
	want(t, "attempt", first.Job.Attempt, 1)
	second := jobstest.RunJob(t, q, mail, returning(errors.New("again")), first.Job.ID)
	want(t, "attempt", second.Job.Attempt, 2)
	last := jobstest.RunJob(t, q, mail, deliver, first.Job.ID)
	want(t, "fate", last.Fate, jobs.FateDone)
	want(t, "status of the other job", status(t, q, other), jobs.StatusPending)
}

// A job that Run cannot run stops the test with the reason, without a hang.
func TestRunOfWhatCannotRun(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	id := enqueue(t, q, "ann")
	_, err := q.PauseQueue(t.Context(), jobs.DefaultQueue)
	must(t, err)
	wantFatal(t, `queue "default" is paused since`, func(tb testing.TB) { jobstest.RunJob(tb, q, mail, deliver, id) })
	_, err = q.ResumeQueue(t.Context(), jobs.DefaultQueue)
	must(t, err)
	jobstest.RunJob(t, q, mail, deliver, id)
	wantFatal(t, "it is done", func(tb testing.TB) { jobstest.RunJob(tb, q, mail, deliver, id) })
	wantFatal(t, "the job is of kind mail, not post", func(tb testing.TB) {
		jobstest.RunJob(tb, q, jobs.Kind[letter]{Name: "post"}, deliver, id)
	})
	wantFatal(t, "no such job", func(tb testing.TB) { jobstest.RunJob(tb, q, mail, deliver, id+1) })
}

// A state that would keep any worker from the job stops the test with the reason and the remedy; after the remedy the job runs.
func TestRunJobSaysWhyAJobCannotRun(t *testing.T) {
	t.Parallel()
	enqueue := func(t *testing.T, q *jobstest.Queue, opts ...jobs.EnqueueOption) int64 {
		t.Helper()
		receipt, err := mail.Enqueue(t.Context(), q.Client, letter{"ann"}, opts...)
		must(t, err)
		return receipt.ID
	}
	paused := func(t *testing.T, q *jobstest.Queue, opts ...jobs.PauseOption) int64 {
		t.Helper()
		_, err := q.PauseKind(t.Context(), jobs.DefaultQueue, mail.Name, opts...)
		must(t, err)
		return enqueue(t, q)
	}
	for name, c := range map[string]struct {
		prepare func(*testing.T, *jobstest.Queue) (id int64)
		texts   []string
		remedy  func(*testing.T, *jobstest.Queue, int64)
	}{
		"the kind is paused": {
			func(t *testing.T, q *jobstest.Queue) int64 { return paused(t, q) },
			[]string{`its kind "mail" is paused in queue "default"`, "call ResumeKind"},
			func(t *testing.T, q *jobstest.Queue, _ int64) {
				_, err := q.ResumeKind(t.Context(), jobs.DefaultQueue, mail.Name)
				must(t, err)
			},
		},
		"the kind is paused for a time": {
			func(t *testing.T, q *jobstest.Queue) int64 { return paused(t, q, jobs.PauseFor(time.Hour)) },
			[]string{`its kind "mail" is paused`, "or Advance"},
			func(_ *testing.T, q *jobstest.Queue, _ int64) { q.Advance(time.Hour) },
		},
		"the queue is paused for a time": {
			func(t *testing.T, q *jobstest.Queue) int64 {
				_, err := q.PauseQueue(t.Context(), jobs.DefaultQueue, jobs.PauseFor(time.Hour))
				must(t, err)
				return enqueue(t, q)
			},
			[]string{`queue "default" is paused`, "call ResumeQueue"},
			func(_ *testing.T, q *jobstest.Queue, _ int64) { q.Advance(time.Hour) },
		},
		"it has expired": {
			func(t *testing.T, q *jobstest.Queue) int64 {
				id := enqueue(t, q, jobs.StartWithin(time.Minute))
				q.Advance(time.Hour)
				return id
			},
			[]string{"it expired at", "run it before that time"},
			func(t *testing.T, q *jobstest.Queue, id int64) {
				must(t, q.Retry(t.Context(), id))
			},
		},
		"the job before it waits for a retry": {
			func(t *testing.T, q *jobstest.Queue) (id int64) {
				jobstest.Run(t, q, mail, func(context.Context, jobs.Job, letter) error {
					id = enqueue(t, q, jobs.UniqueAgain("k"))
					return errors.New("no")
				}, letter{"ann"}, jobs.UniqueAgain("k"))
				return id
			},
			[]string{"it runs when job 1 has ended", "run that job to its end first"},
			func(t *testing.T, q *jobstest.Queue, _ int64) { jobstest.RunJob(t, q, mail, deliver, 1) },
		},
		"it has ended": {
			func(t *testing.T, q *jobstest.Queue) int64 {
				return jobstest.Run(t, q, mail, returning(jobs.Discard(errors.New("no"))), letter{"ann"}).Job.ID
			},
			[]string{"it is failed since", "Client.Retry"},
			func(t *testing.T, q *jobstest.Queue, id int64) { must(t, q.Retry(t.Context(), id)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := jobstest.New(t)
			id := c.prepare(t, q)
			for _, text := range c.texts {
				wantFatal(t, text, func(tb testing.TB) { jobstest.RunJob(tb, q, mail, deliver, id) })
			}
			c.remedy(t, q, id)
			want(t, "fate", jobstest.RunJob(t, q, mail, deliver, id).Fate, jobs.FateDone)
		})
	}
}

// A job that was enqueued before its kind was renamed is run by the kind with the new name.
func TestRunJobOfAnAlias(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	id := enqueue(t, q, "ann")
	renamed := jobs.Kind[letter]{Name: "post", Aliases: []string{"letter", mail.Name}}
	out := jobstest.RunJob(t, q, renamed, deliver, id)
	want(t, "fate", out.Fate, jobs.FateDone)
	want(t, "kind", out.Job.Kind, mail.Name)
	wantFatal(t, "the job is of kind mail, not post or letter", func(tb testing.TB) {
		jobstest.RunJob(tb, q, jobs.Kind[letter]{Name: "post", Aliases: []string{"letter"}}, deliver, id)
	})
}

func TestStartAtIsATimeThatTheQueueKeeps(t *testing.T) {
	t.Parallel()
	first := time.UnixMicro(100_000_000_000_000)
	enqueue(t, jobstest.New(t, jobstest.StartAt(first)), "ann")
	for _, at := range []time.Time{{}, time.Unix(0, 0), first.Add(-1)} {
		wantFatal(t, "set StartAt to 1973-03-03T09:46:40Z or later", func(tb testing.TB) { jobstest.New(tb, jobstest.StartAt(at)) })
	}
}

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	text   strings.Builder
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.note(format, args...)
}

func (r *recorder) Logf(format string, args ...any) { r.note(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// record runs a function as a test that may fail.
func record(t *testing.T, fn func(tb testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fn(r)
	}()
	<-ended
	return r
}

func wantFatal(t *testing.T, text string, fn func(tb testing.TB)) {
	t.Helper()
	r := record(t, fn)
	if !r.failed || !strings.Contains(r.text.String(), text) {
		t.Errorf("failed: %v, with %q, not one about %q", r.failed, r.text.String(), text)
	}
}

func (r *recorder) note(format string, args ...any) {
	fmt.Fprintf(&r.text, format+"\n", args...)
}
