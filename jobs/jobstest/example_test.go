package jobstest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Charge is the payload of a kind of the application.
type Charge struct {
	Order int
	Cents int
}

var charge = jobs.Kind[Charge]{Name: "charge", MaxAttempts: 5, RetryDelay: jobs.FixedRetry(time.Minute)}

// Run runs one attempt on a real queue and returns its outcome.
func ExampleRun() {
	t, end := exampleTest() // in a test this is its *testing.T
	defer end()

	q := jobstest.New(t)
	online := false
	handler := func(_ context.Context, job jobs.Job, args Charge) error {
		if !online {
			return errors.New("the bank does not answer")
		}
		return job.SetResult(fmt.Sprintf("charged %d", args.Cents))
	}
	out := jobstest.Run(t, q, charge, handler, Charge{Order: 7, Cents: 500})
	fmt.Println(out.Fate, out.Delay, out.Err)

	online = true
	out = jobstest.RunJob(t, q, charge, handler, out.Job.ID) // the clock moves to the retry
	fmt.Println(out.Fate, string(out.Job.Result))
	// Output:
	// retry 1m0s the bank does not answer
	// done "charged 500"
}

// The first handler is not idempotent: when its process dies between the INSERT and the record of the job's end, the next attempt
// charges again. The second one ends its job in the transaction of the INSERT, by CompleteTx.
func ExampleCrash() {
	t, end := exampleTest() // in a test this is its *testing.T
	defer end()

	careless := func(db *sql.DB) jobs.Handler[Charge] {
		return func(ctx context.Context, _ jobs.Job, args Charge) error {
			_, err := db.ExecContext(ctx, "INSERT INTO charges VALUES (?, ?)", args.Order, args.Cents)
			return err
		}
	}
	careful := func(db *sql.DB) jobs.Handler[Charge] {
		return func(ctx context.Context, job jobs.Job, args Charge) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, "INSERT INTO charges VALUES (?, ?)", args.Order, args.Cents); err != nil {
				return err
			}
			if err := jobs.CompleteTx(ctx, sqlite.Tx(tx), job, nil); err != nil {
				return err
			}
			return tx.Commit()
		}
	}
	for _, handler := range []func(*sql.DB) jobs.Handler[Charge]{careless, careful} {
		report := jobstest.Crash(t, charge, Charge{Order: 7, Cents: 500}, func(run *jobstest.CrashRun) (jobs.Handler[Charge], func() any) {
			db := run.DB()
			if _, err := db.Exec("CREATE TABLE charges (order_id INTEGER, cents INTEGER)"); err != nil {
				t.Fatal(err)
			}
			return handler(db), func() any {
				var sum int
				if err := db.QueryRow("SELECT SUM(cents) FROM charges").Scan(&sum); err != nil {
					t.Fatal(err)
				}
				return sum
			}
		})
		fmt.Printf("%d points, %d differences\n", len(report.Points), len(report.Differences()))
	}
	// Output:
	// jobstest: kind charge: the handler was killed at 3 points; at 2 of them the end differs after a further attempt
	//   undisturbed: job done, state 500
	//   killed after exec INSERT INTO charges VALUES (?, ?): job done, state 1000
	//   killed after the handler returned, before that is recorded: job done, state 1000
	// 3 points, 2 differences
	// 7 points, 0 differences
}

// RunFor runs the jobs that a worker would have run in a day.
func ExampleQueue_RunFor() {
	t, end := exampleTest() // in a test this is its *testing.T
	defer end()

	q := jobstest.New(t, jobstest.StartAt(time.Date(2031, 5, 17, 8, 0, 0, 0, time.UTC)))
	if err := q.PutSchedule(t.Context(), charge.Cron("nightly", "0 2 * * *", Charge{Order: 7, Cents: 500})); err != nil {
		t.Fatal(err)
	}
	q.RunFor(48*time.Hour, func(r *jobs.Runner) {
		charge.Handle(r, func(context.Context, jobs.Job, Charge) error {
			fmt.Println("charged at", q.Now().UTC().Format(time.DateTime))
			return nil
		})
	})
	// Output:
	// charged at 2031-05-18 02:00:00
	// charged at 2031-05-19 02:00:00
}

// exampleT replaces the test that an example does not have. It prints failures.
type exampleT struct {
	testing.TB
	folder   string
	cleanups []func()
}

func exampleTest() (t *exampleT, end func()) {
	folder, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	t = &exampleT{folder: folder}
	return t, func() {
		for len(t.cleanups) > 0 {
			last := len(t.cleanups) - 1
			fn := t.cleanups[last]
			t.cleanups = t.cleanups[:last]
			fn()
		}
		if err := os.RemoveAll(folder); err != nil {
			log.Fatal(err)
		}
	}
}

func (t *exampleT) Helper()                           {}
func (t *exampleT) Context() context.Context          { return context.Background() }
func (t *exampleT) TempDir() string                   { return t.folder }
func (t *exampleT) Cleanup(fn func())                 { t.cleanups = append(t.cleanups, fn) }
func (t *exampleT) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (t *exampleT) Logf(format string, args ...any)   { fmt.Printf(format+"\n", args...) }
func (t *exampleT) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }
func (t *exampleT) Fatal(args ...any)                 { log.Fatal(args...) }
