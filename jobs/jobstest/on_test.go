package jobstest_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// A handler that ends its job in a transaction of database/sql on PostgreSQL runs on a store of the test, with the queue's clock.
func TestOnPostgres(t *testing.T) {
	url := testdb.StartPostgres(t).Database(t)
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	q := jobstest.New(t, jobstest.On(store), jobstest.StartAt(start))
	online := false
	handle := func(ctx context.Context, job jobs.Job, l letter) error {
		if !online {
			return errors.New("offline")
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		return errors.Join(jobs.CompleteTx(ctx, postgres.SQLTx(tx), job, "sent"), tx.Commit())
	}
	out := jobstest.Run(t, q, mail, handle, letter{"ann"}, jobs.In(time.Hour))
	if out.Fate != jobs.FateRetry || !q.Now().Equal(start.Add(time.Hour)) || out.Delay <= 0 {
		t.Fatalf("the first attempt, at %s: %s", q.Now(), out)
	}
	online = true
	out = jobstest.RunJob(t, q, mail, handle, out.Job.ID)
	if out.Fate != jobs.FateDone || string(out.Job.Result) != `"sent"` {
		t.Errorf("the second attempt: %s", out)
	}
	if _, err := mail.Enqueue(t.Context(), q.Client, letter{"bob"}, jobs.In(48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := q.PutSchedule(t.Context(), mail.Every("hourly", time.Hour, letter{"all"})); err != nil {
		t.Fatal(err)
	}
	ran := 0
	q.RunFor(72*time.Hour, func(r *jobs.Runner) {
		mail.Handle(r, func(ctx context.Context, job jobs.Job, l letter) error {
			ran++
			return handle(ctx, job, l)
		})
	})
	if ran != 73 {
		t.Errorf("%d jobs ran in three days, not 72 of the schedule and one that was due on the way", ran)
	}
}

// A SQLite file of the test is used unchanged, and stays open for the test.
func TestOnSQLiteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	t.Run("a test", func(t *testing.T) {
		q := jobstest.New(t, jobstest.On(store))
		if out := jobstest.Run(t, q, mail, deliver, letter{"ann"}); out.Fate != jobs.FateDone {
			t.Error(out)
		}
		if q.Path() != store.Path() || q.DB() == nil {
			t.Errorf("the path is %s", q.Path())
		}
	})
	if job, err := jobs.New(store).Get(t.Context(), 1); err != nil || job.Status != jobs.StatusDone {
		t.Errorf("after the test: %v, %v", job, err)
	}
}
