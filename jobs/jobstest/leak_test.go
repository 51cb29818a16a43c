package jobstest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// When 200 parallel tests have ended, none of their goroutines, files and descriptors is left, whatever each did with its queue. (The test
// itself is not parallel: all other tests are paused meanwhile.)
func TestNothingIsLeftOfParallelTests(t *testing.T) {
	// The first queue causes the one-time work of a process.
	t.Run("first", func(t *testing.T) { jobstest.Run(t, jobstest.New(t), mail, deliver, letter{"ann"}) })
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder) // on Windows
	goroutines, open := runtime.NumGoroutine(), descriptors(t)
	uses := []func(*testing.T, *jobstest.Queue){useRun, useDrain, useRunFor, useTransaction, useRunner}
	var inFolder atomic.Int64
	t.Run("all", func(t *testing.T) {
		for i := range 200 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				q := jobstest.New(t)
				if strings.HasPrefix(q.Path(), folder) {
					inFolder.Add(1)
				}
				if i%20 == 0 {
					useCrash(t) // takes as long as ten of the others
				}
				uses[i%len(uses)](t, q)
			})
		}
	})
	want(t, "queues in the folder that is looked at", inFolder.Load(), 200)
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	eventually(t, func() string {
		if n, files := runtime.NumGoroutine(), descriptors(t); n > goroutines || files > open {
			return fmt.Sprintf("%d goroutines and %d descriptors became %d and %d\n%s", goroutines, open, n, files, stacks())
		}
		return ""
	})
}

func useRun(t *testing.T, q *jobstest.Queue) {
	out := jobstest.Run(t, q, mail, returning(errors.New("no")), letter{"ann"})
	want(t, "fate", out.Fate, jobs.FateRetry)
	want(t, "fate then", jobstest.RunJob(t, q, mail, deliver, out.Job.ID).Fate, jobs.FateDone)
}

func useDrain(t *testing.T, q *jobstest.Queue) {
	id := enqueue(t, q, "ann")
	q.Drain(func(r *jobs.Runner) { mail.Handle(r, deliver) })
	want(t, "status", status(t, q, id), jobs.StatusDone)
}

func useRunFor(t *testing.T, q *jobstest.Queue) {
	must(t, q.PutSchedule(t.Context(), mail.Every("hourly", time.Hour, letter{"all"})))
	var runs atomic.Int64
	q.RunFor(3*time.Hour, func(r *jobs.Runner) {
		mail.Handle(r, func(context.Context, jobs.Job, letter) error { runs.Add(1); return nil })
	})
	want(t, "runs", runs.Load(), 3)
}

func useTransaction(t *testing.T, q *jobstest.Queue) {
	out := jobstest.Run(t, q, mail, func(ctx context.Context, job jobs.Job, _ letter) error {
		tx, err := q.DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		return errors.Join(jobs.CompleteTx(ctx, sqlite.Tx(tx), job, 1), tx.Commit())
	}, letter{"ann"})
	want(t, "fate", out.Fate, jobs.FateDone)
}

func useRunner(t *testing.T, q *jobstest.Queue) {
	runner, err := jobs.NewRunner(q.Client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	mail.Handle(runner, deliver)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	id := enqueue(t, q, "ann", jobs.In(time.Hour))
	q.Advance(time.Hour)
	job, err := q.Wait(t.Context(), id)
	must(t, err)
	want(t, "status", job.Status, jobs.StatusDone)
	stop()
	must(t, <-ended)
}

func useCrash(t *testing.T) {
	jobstest.Crash(t, mail, letter{"ann"}, func(*jobstest.CrashRun) (jobs.Handler[letter], func() any) {
		return func(ctx context.Context, job jobs.Job, _ letter) error { return job.SetProgress(ctx, 1) }, func() any { return nil }
	})
}

// descriptors returns the number of the process's open files; 0 where the system does not report it.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

// eventually waits until nothing is wrong: closing may take effect a moment later.
func eventually(t *testing.T, wrong func() string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(time.Minute)
	for text := wrong(); text != ""; text = wrong() {
		if time.Now().After(end) {
			t.Fatal(text)
		}
		<-tick.C
	}
}

func stacks() string {
	text := make([]byte, 1<<16)
	return string(text[:runtime.Stack(text, true)])
}
