package jobstest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// exec runs a statement of a test's application.
func exec(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// texts returns a column of text.
func texts(t testing.TB, db *sql.DB, query string) []string {
	t.Helper()
	list := []string{}
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return list
}

// sentLetters returns a database with a table of letters, and its state.
func sentLetters(t *testing.T, run *jobstest.CrashRun) (*sql.DB, func() any) {
	t.Helper()
	db := run.DB()
	exec(t, db, "CREATE TABLE sent (name TEXT)")
	return db, func() any { return texts(t, db, "SELECT name FROM sent ORDER BY 1") }
}

func names(points []jobstest.CrashPoint) []string {
	var list []string
	for _, p := range points {
		list = append(list, p.Name)
	}
	return list
}

func wantNames(t *testing.T, what string, points []jobstest.CrashPoint, want ...string) {
	t.Helper()
	if have := names(points); !slices.Equal(have, want) {
		t.Errorf("%s are\n%q\nnot\n%q", what, have, want)
	}
}

const returned = "after the handler returned, before that is recorded"

func TestCrashOfAHandlerThatWritesTwice(t *testing.T) {
	t.Parallel()
	var report *jobstest.CrashReport
	r := record(t, func(tb testing.TB) {
		report = jobstest.Crash(tb, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			db, state := sentLetters(t, run)
			return func(ctx context.Context, job jobs.Job, args letter) error {
				if err := job.SetProgress(ctx, "begun"); err != nil {
					return err
				}
				_, err := db.ExecContext(ctx, "INSERT INTO sent VALUES (?)", args.To)
				return errors.Join(err, job.SetResult("sent"))
			}, state
		})
	})
	insert := "exec INSERT INTO sent VALUES (?)"
	wantNames(t, "points", report.Points,
		"before SetProgress", "after SetProgress", "before "+insert, "after "+insert, "before SetResult", "after SetResult", returned)
	wantNames(t, "differences", report.Differences(), "after "+insert, "before SetResult", "after SetResult", returned)
	want(t, "the end without a crash", report.Undisturbed.String(), `job done, state ["ann"]`)
	want(t, "failed", r.failed, true)
	want(t, "report", strings.Contains(r.text.String(), `killed after `+insert+`: job done, state ["ann","ann"]`), true)
}

func TestCrashOfAHandlerThatCompletesInItsTransaction(t *testing.T) {
	t.Parallel()
	report := jobstest.Crash(t, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
		db, state := sentLetters(t, run)
		return completing(db), state
	})
	insert := "exec INSERT INTO sent VALUES (?)"
	wantNames(t, "points", report.Points,
		"before "+insert, "after "+insert, "before CompleteTx", "after CompleteTx", "before commit", "after commit", returned)
}

// completing returns a handler that sends a letter once, however often it runs.
func completing(db *sql.DB) jobs.Handler[letter] {
	return func(ctx context.Context, job jobs.Job, args letter) (err error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() {
			if failed := tx.Rollback(); !errors.Is(failed, sql.ErrTxDone) {
				err = errors.Join(err, failed)
			}
		}()
		if _, err := tx.ExecContext(ctx, "INSERT INTO sent VALUES (?)", args.To); err != nil {
			return err
		}
		if err := jobs.CompleteTx(ctx, sqlite.Tx(tx), job, nil); err != nil {
			return err
		}
		return tx.Commit()
	}
}

// Jobs that a handler enqueues exist twice after a crash, unless they have a unique key.
func TestCrashOfAHandlerThatEnqueues(t *testing.T) {
	t.Parallel()
	receiptKind := jobs.Kind[letter]{Name: "receipt"}
	crash := func(tb testing.TB, opts ...jobs.EnqueueOption) *jobstest.CrashReport {
		return jobstest.Crash(tb, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			return func(ctx context.Context, _ jobs.Job, args letter) error {
					_, err := receiptKind.Enqueue(ctx, run.Client, args, opts...)
					return err
				}, func() any {
					list, err := inspect.New(run.Client).List(t.Context(), inspect.Filter{Kind: "receipt"})
					must(t, err)
					return len(list)
				}
		})
	}
	var report *jobstest.CrashReport
	record(t, func(tb testing.TB) { report = crash(tb) })
	wantNames(t, "differences", report.Differences(), "after an enqueue of receipt", returned)
	wantNames(t, "points with a key", crash(t, jobs.Unique("ann")).Points, "before an enqueue", "after an enqueue", returned)
}

// The death undoes an open transaction of the client, and frees its lock for the next worker.
func TestCrashInATransactionOfTheClient(t *testing.T) {
	t.Parallel()
	receiptKind := jobs.Kind[letter]{Name: "receipt"}
	var report *jobstest.CrashReport
	record(t, func(tb testing.TB) {
		report = jobstest.Crash(tb, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			return func(ctx context.Context, _ jobs.Job, args letter) error {
					return run.Tx(ctx, func(ctx context.Context, tx *jobs.Client) error {
						_, err := receiptKind.Enqueue(ctx, tx, args)
						return err
					})
				}, func() any {
					list, err := inspect.New(run.Client).List(t.Context(), inspect.Filter{Kind: "receipt"})
					must(t, err)
					return len(list)
				}
		})
	})
	wantNames(t, "points", report.Points, "before the commit of Client.Tx", "after the commit of Client.Tx", returned)
	wantNames(t, "differences", report.Differences(), "after the commit of Client.Tx", returned)
}

// A pool of one connection has another one for the next attempt, and queries and prepared statements are points too.
func TestCrashWithOneConnection(t *testing.T) {
	t.Parallel()
	report := jobstest.Crash(t, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
		db, state := sentLetters(t, run)
		db.SetMaxOpenConns(1)
		exec(t, db, "CREATE UNIQUE INDEX sent_once ON sent (name)")
		return func(ctx context.Context, _ jobs.Job, args letter) error {
			statement, err := db.PrepareContext(ctx, "INSERT INTO sent VALUES (?) ON CONFLICT DO NOTHING")
			if err != nil {
				return err
			}
			_, err = statement.ExecContext(ctx, args.To)
			if err := errors.Join(err, statement.Close()); err != nil {
				return err
			}
			var n int
			err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sent").Scan(&n)
			if err == nil && n != 1 {
				err = fmt.Errorf("sent %d times", n)
			}
			return err
		}, state
	})
	insert, query := "exec INSERT INTO sent VALUES (?) ON CONFLICT DO NOTHING", "query SELECT COUNT(*) FROM sent"
	wantNames(t, "points", report.Points, "before "+insert, "after "+insert, "before "+query, "after "+query, returned)
}

// A killed handler runs no deferred function before the state is taken, and later calls of its goroutine have no effect.
func TestCrashRunsNothingAfterThePoint(t *testing.T) {
	t.Parallel()
	deferred := 0
	var report *jobstest.CrashReport
	record(t, func(tb testing.TB) {
		report = jobstest.Crash(tb, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			db, state := sentLetters(t, run)
			return func(_ context.Context, job jobs.Job, args letter) error {
				defer func() { deferred++ }()
				if err := job.SetResult("begun"); err != nil {
					_, err := db.Exec("INSERT INTO sent VALUES ('by the dead')") // without a context
					return err
				}
				_, err := db.Exec("INSERT INTO sent VALUES (?)", args.To)
				return err
			}, state
		})
	})
	for _, p := range report.Points {
		if strings.Contains(string(p.End.State), "dead") {
			t.Errorf("killed %s, the end is %s", p.Name, p.End)
		}
	}
	wantNames(t, "differences", report.Differences(), "after exec INSERT INTO sent VALUES (?)", returned)
	want(t, "attempts of which the deferred function ran in the end", deferred, 1+2*len(report.Points))
}

// The state is taken while the killed handler is stopped: it has not run its deferred function yet.
func TestCrashTakesTheStateBeforeDeferredFunctions(t *testing.T) {
	t.Parallel()
	var report *jobstest.CrashReport
	record(t, func(tb testing.TB) {
		report = jobstest.Crash(tb, mail, letter{"ann"}, func(*jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			var held atomic.Int64
			return func(_ context.Context, job jobs.Job, _ letter) error {
				held.Add(1)
				defer held.Add(-1)
				return job.SetResult("sent")
			}, func() any { return held.Load() }
		})
	})
	wantNames(t, "differences", report.Differences(), "before SetResult", "after SetResult")
}

// The job's end counts too: here the crash has used up its only attempt.
func TestCrashOfAJobWithOneAttempt(t *testing.T) {
	t.Parallel()
	once := jobs.Kind[letter]{Name: "once", MaxAttempts: 1}
	r := record(t, func(tb testing.TB) {
		jobstest.Crash(tb, once, letter{"ann"}, func(*jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			return func(context.Context, jobs.Job, letter) error { return nil }, func() any { return nil }
		})
	})
	want(t, "failed", r.failed, true)
	want(t, "report", strings.Contains(r.text.String(), "job failed, state null"), true)
}

// Retries and snoozes continue, and points of later attempts count.
func TestCrashOfAHandlerThatSnoozes(t *testing.T) {
	t.Parallel()
	report := jobstest.Crash(t, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
		began := run.Now()
		return func(context.Context, jobs.Job, letter) error {
			if run.Now().Before(began.Add(time.Hour)) {
				return jobs.Snooze(time.Hour)
			}
			return nil
		}, func() any { return run.Now().Sub(began) }
	})
	wantNames(t, "points", report.Points, returned, returned)
}

func TestMaxPoints(t *testing.T) {
	t.Parallel()
	var report *jobstest.CrashReport
	r := record(t, func(tb testing.TB) {
		report = jobstest.Crash(tb, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			db, state := sentLetters(t, run)
			return completing(db), state
		}, jobstest.MaxPoints(2))
	})
	want(t, "points", len(report.Points), 2)
	want(t, "points left", report.Left, 5)
	want(t, "failed", r.failed, false)
	want(t, "told", strings.Contains(r.text.String(), "not tried: the last 5 points"), true)
}

func TestCrashWithoutAState(t *testing.T) {
	t.Parallel()
	r := record(t, func(tb testing.TB) {
		jobstest.Crash(tb, mail, letter{"ann"}, func(*jobstest.CrashRun) (jobs.Handler[letter], func() any) { return deliver, nil })
	})
	want(t, "failed", r.failed, true)
	want(t, "told", strings.Contains(r.text.String(), "must return a handler and a function that returns the state"), true)
}

// A handler that does not repeat its steps is reported.
func TestCrashOfAHandlerThatDiffers(t *testing.T) {
	t.Parallel()
	runs := 0
	report := jobstest.Crash(t, mail, letter{"ann"}, func(*jobstest.CrashRun) (jobs.Handler[letter], func() any) {
		runs++
		first := runs == 1
		return func(ctx context.Context, job jobs.Job, _ letter) error {
			if first {
				return job.SetProgress(ctx, 1)
			}
			return nil
		}, func() any { return nil }
	})
	want(t, "reached", report.Points[0].Reached, true)
	want(t, "reached", report.Points[2].Reached, false)
	want(t, "told", strings.Contains(report.String(), "not reached again"), true)
}

// Goroutines of a killed handler stop at their next point as well.
func TestCrashOfAHandlerWithGoroutines(t *testing.T) {
	t.Parallel()
	var report *jobstest.CrashReport
	record(t, func(tb testing.TB) {
		report = jobstest.Crash(tb, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
			db, state := sentLetters(t, run)
			return func(ctx context.Context, job jobs.Job, args letter) error {
				var all sync.WaitGroup
				for i := range 4 {
					all.Go(func() { _, _ = db.ExecContext(ctx, "INSERT INTO sent VALUES (?)", fmt.Sprint(args.To, i)) })
				}
				all.Wait()
				return nil
			}, state
		})
	})
	want(t, "points", len(report.Points), 9)
}

// A Crash leaves no goroutine when it returns.
func TestCrashLeavesNoGoroutine(t *testing.T) {
	before := goroutines()
	jobstest.Crash(t, mail, letter{"ann"}, func(run *jobstest.CrashRun) (jobs.Handler[letter], func() any) {
		db, state := sentLetters(t, run)
		return completing(db), state
	})
	for range 1000 {
		if goroutines() <= before {
			return
		}
		runtime.Gosched()
		runtime.GC() // waits a moment for the others to stop
	}
	buffer := make([]byte, 1<<20)
	t.Errorf("%d goroutines were there before, and %d after:\n%s", before, goroutines(), buffer[:runtime.Stack(buffer, true)])
}

func goroutines() int { return runtime.NumGoroutine() }
