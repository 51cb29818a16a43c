package jobstest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

type letter struct {
	To string `json:"to"`
}

var mail = jobs.Kind[letter]{Name: "mail", MaxAttempts: 3, RetryDelay: jobs.FixedRetry(time.Hour)}

func deliver(context.Context, jobs.Job, letter) error { return nil }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want[T comparable](t *testing.T, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("%s is %v, not %v", what, have, want)
	}
}

// enqueue adds a job of kind mail.
func enqueue(t *testing.T, q *jobstest.Queue, to string, opts ...jobs.EnqueueOption) int64 {
	t.Helper()
	receipt, err := mail.Enqueue(t.Context(), q.Client, letter{to}, opts...)
	must(t, err)
	return receipt.ID
}

func status(t *testing.T, q *jobstest.Queue, id int64) jobs.Status {
	t.Helper()
	job, err := q.Get(t.Context(), id)
	must(t, err)
	return job.Status
}

func TestTheClockStandsUntilItIsAdvanced(t *testing.T) {
	t.Parallel()
	start := time.Date(2031, 5, 17, 8, 0, 0, 0, time.UTC)
	q := jobstest.New(t, jobstest.StartAt(start))
	id := enqueue(t, q, "ann", jobs.In(time.Millisecond))
	job, err := q.Get(t.Context(), id)
	must(t, err)
	want(t, "created at", job.CreatedAt.UTC(), start)
	q.Drain(func(r *jobs.Runner) { mail.Handle(r, deliver) })
	want(t, "status before its time", status(t, q, id), jobs.StatusScheduled)
	q.Advance(time.Millisecond)
	want(t, "now", q.Now().UTC(), start.Add(time.Millisecond))
	q.Drain(func(r *jobs.Runner) { mail.Handle(r, deliver) })
	want(t, "status after its time", status(t, q, id), jobs.StatusDone)
}

// Queues of parallel tests share nothing, although they begin as copies of one file.
func TestEachTestHasAQueueOfItsOwn(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			q := jobstest.New(t)
			want(t, "the first id", enqueue(t, q, "ann"), 1)
			q.Drain(func(r *jobs.Runner) { mail.Handle(r, deliver) })
			want(t, "status", status(t, q, 1), jobs.StatusDone)
		})
	}
}

func TestAdvanceWakesARunner(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	id := enqueue(t, q, "ann", jobs.In(24*time.Hour))
	runner, err := jobs.NewRunner(q.Client, jobs.Config{})
	must(t, err)
	mail.Handle(runner, deliver)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	q.Advance(24 * time.Hour)
	job, err := q.Wait(t.Context(), id)
	must(t, err)
	want(t, "status", job.Status, jobs.StatusDone)
	stop()
	must(t, <-ended)
}

func TestLeasesGoByTheClock(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	id := enqueue(t, q, "ann")
	started, release := make(chan jobs.Job), make(chan struct{})
	runner, err := jobs.NewRunner(q.Client, jobs.Config{Lease: time.Minute})
	must(t, err)
	mail.Handle(runner, func(_ context.Context, job jobs.Job, _ letter) error {
		started <- job
		<-release
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- runner.Drain(t.Context()) }()
	held := <-started
	want(t, "lease", held.LeaseUntil.Sub(q.Now()), time.Minute)
	want(t, "status", status(t, q, id), jobs.StatusRunning)
	close(release)
	must(t, <-ended)
}

func TestRunForRunsWhatIsDueOnTheWay(t *testing.T) {
	t.Parallel()
	start := time.Date(2031, 5, 17, 8, 30, 0, 0, time.UTC)
	q := jobstest.New(t, jobstest.StartAt(start))
	must(t, q.PutSchedule(t.Context(), mail.Every("hourly", time.Hour, letter{"all"})))
	enqueue(t, q, "ann", jobs.In(90*time.Minute))
	var runs []string
	tries := 0
	q.RunFor(3*time.Hour, func(r *jobs.Runner) {
		mail.Handle(r, func(_ context.Context, _ jobs.Job, args letter) error {
			runs = append(runs, fmt.Sprintf("%s after %s", args.To, q.Now().Sub(start)))
			if args.To == "ann" && tries == 0 {
				tries++
				return errors.New("no answer")
			}
			return nil
		})
	})
	want(t, "now", q.Now().UTC(), start.Add(3*time.Hour))
	want(t, "runs", strings.Join(runs, ", "),
		"all after 1h0m0s, ann after 1h30m0s, all after 2h0m0s, ann after 2h30m0s, all after 3h0m0s")
}

func TestJobsExpireByTheClock(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	id := enqueue(t, q, "ann", jobs.In(time.Hour), jobs.StartWithin(time.Minute))
	q.Advance(2 * time.Hour)
	q.Drain(func(r *jobs.Runner) {
		mail.Handle(r, func(context.Context, jobs.Job, letter) error {
			t.Error("the handler was called")
			return nil
		})
	})
	want(t, "status", status(t, q, id), jobs.StatusCancelled)
}

// A job requested at the moment of a tick is added beside that of the tick.
func TestARunAtTheMomentOfATick(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t, jobstest.StartAt(time.Date(2031, 5, 17, 8, 30, 0, 0, time.UTC)))
	must(t, q.PutSchedule(t.Context(), mail.Every("hourly", time.Hour, letter{"all"})))
	q.Advance(time.Hour)
	_, err := q.RunSchedule(t.Context(), "hourly")
	must(t, err)
	runs := 0
	q.Drain(func(r *jobs.Runner) {
		mail.Handle(r, func(context.Context, jobs.Job, letter) error { runs++; return nil })
	})
	want(t, "runs", runs, 2)
}

func TestDrainRunsWhatHandlersEnqueueOnOtherQueues(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	copyOf := jobs.Kind[letter]{Name: "copy", Queue: "archive"}
	enqueue(t, q, "ann")
	ran := 0
	q.Drain(func(r *jobs.Runner) {
		mail.Handle(r, func(ctx context.Context, _ jobs.Job, args letter) error {
			_, err := copyOf.Enqueue(ctx, q.Client, args)
			return err
		})
		copyOf.Handle(r, func(context.Context, jobs.Job, letter) error { ran++; return nil })
	})
	want(t, "copies", ran, 1)
}

func TestConfigOfARun(t *testing.T) {
	t.Parallel()
	seen := 0
	q := jobstest.New(t, jobstest.WithConfig(jobs.Config{Middleware: []jobs.RunMiddleware{func(next jobs.RunFunc) jobs.RunFunc {
		return func(ctx context.Context, job jobs.Job) error { seen++; return next(ctx, job) }
	}}}), jobstest.WithClient(jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
		return func(ctx context.Context, r *jobs.EnqueueRequest) error {
			r.Set(jobs.UserID("u1"))
			return next(ctx, r)
		}
	})))
	out := jobstest.Run(t, q, mail, deliver, letter{"ann"})
	want(t, "calls of the middleware", seen, 1)
	want(t, "user id", out.Job.UserID, "u1")
}

// A queue with encrypted jobs runs them, one by one and all.
func TestEncryptedQueue(t *testing.T) {
	t.Parallel()
	cipher, err := jobs.NewCipher(jobs.Key{ID: "a", Secret: bytes.Repeat([]byte{1}, 32)})
	must(t, err)
	q := jobstest.New(t, jobstest.WithClient(jobs.WithCipher(cipher)))
	jobstest.Run(t, q, mail, deliver, letter{"ann"})
	enqueue(t, q, "ben")
	var seen []string
	q.Drain(func(r *jobs.Runner) {
		mail.Handle(r, func(_ context.Context, _ jobs.Job, l letter) error {
			seen = append(seen, l.To)
			return nil
		})
	})
	want(t, "letters that the drain delivered", fmt.Sprint(seen), "[ben]")
}

// The queue may share its file with the application's tables, and another store may open it.
func TestFileOfAQueue(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	enqueue(t, q, "ann")
	store, err := sqlite.Open(t.Context(), q.Path(), sqlite.MustExist())
	must(t, err)
	list, err := inspect.New(jobs.New(store)).List(t.Context(), inspect.Filter{Kind: "mail"})
	must(t, errors.Join(err, store.Close()))
	want(t, "jobs", len(list), 1)
	want(t, "the file's name", filepath.Base(q.Path()), "jobs.db")
}

// A read during a transaction does not wait for it, and returns the state before it.
func TestReadsBesideATransaction(t *testing.T) {
	t.Parallel()
	q := jobstest.New(t)
	id := enqueue(t, q, "ann")
	must(t, q.Tx(t.Context(), func(ctx context.Context, tx *jobs.Client) error {
		_, err := tx.Cancel(ctx, id)
		want(t, "status outside", status(t, q, id), jobs.StatusPending)
		return err
	}))
	want(t, "status after it", status(t, q, id), jobs.StatusCancelled)
}
