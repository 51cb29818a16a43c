package guides_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Bill is the payload of a job that charges an order.
type Bill struct {
	Order int
	Cents int
}

var charging = jobs.Kind[Bill]{Name: "charge", RetryDelay: jobs.FixedRetry(time.Minute)}

var refunding = jobs.Kind[Bill]{Name: "refund"}

// application is an application under test.
type application struct {
	db     *sql.DB
	client *jobs.Client
	online bool
}

func newShop(db *sql.DB, client *jobs.Client) *application {
	return &application{db: db, client: client}
}

func (s *application) charge(ctx context.Context, job jobs.Job, args Bill) error {
	if !s.online {
		return errors.New("the bank is offline")
	}
	tx, err := s.db.BeginTx(ctx, nil)
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

func (s *application) register(r *jobs.Runner) { charging.Handle(r, s.charge) }

func (s *application) placeOrder(ctx context.Context, client *jobs.Client, order int) {
	_, err := charging.Enqueue(ctx, client, Bill{Order: order, Cents: 500})
	check(err)
}

func (s *application) totals() (sum int) {
	check(s.db.QueryRow("SELECT COALESCE(SUM(cents), 0) FROM charges").Scan(&sum))
	return sum
}

func createTables(t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS charges (order_id INTEGER, cents INTEGER)"); err != nil {
		t.Fatal(err)
	}
}

// docs/testing.md
func TestChargeIsRetried(t *testing.T) {
	q := jobstest.New(t)
	createTables(t, q.DB())
	shop := newShop(q.DB(), q.Client)

	shop.online = false
	out := jobstest.Run(t, q, charging, shop.charge, Bill{Order: 7, Cents: 500})
	if out.Fate != jobs.FateRetry || out.Delay != time.Minute {
		t.Error(out)
	}
	shop.online = true
	out = jobstest.RunJob(t, q, charging, shop.charge, out.Job.ID) // the second attempt
	if out.Fate != jobs.FateDone || shop.totals() != 500 {
		t.Error(out)
	}
}

func TestOrdersAreCharged(t *testing.T) {
	ctx := t.Context()
	q := jobstest.New(t)
	createTables(t, q.DB())
	shop := newShop(q.DB(), q.Client)
	shop.online = true

	shop.placeOrder(ctx, q.Client, 7)
	job := jobstest.RequireEnqueued(t, q.Client, charging, func(job jobs.Job, args Bill) bool { return args.Order == 7 })
	jobstest.RequireNotEnqueued(t, q.Client, refunding, nil)

	tx, err := q.DB().BeginTx(ctx, nil)
	check(err)
	shop.placeOrder(ctx, q.Client.With(sqlite.Tx(tx)), 8)
	jobstest.RequireEnqueued(t, q.Client.With(sqlite.Tx(tx)), charging, nil) // before the commit
	check(tx.Rollback())

	q.Drain(shop.register)                // register(r *jobs.Runner) calls Handle for each kind
	q.Advance(time.Hour)                  // the clock stands until then
	q.RunFor(24*time.Hour, shop.register) // runs each job and each schedule at its time
	if ended, err := q.Client.Get(ctx, job.ID); err != nil || ended.Status != jobs.StatusDone || shop.totals() != 500 {
		t.Error(ended.Status, err, shop.totals())
	}
}

func TestChargeSurvivesCrashes(t *testing.T) {
	jobstest.Crash(t, charging, Bill{Order: 7, Cents: 500}, func(run *jobstest.CrashRun) (jobs.Handler[Bill], func() any) {
		db := run.DB() // or run.OpenDB("pgx", dsn)
		createTables(t, db)
		shop := newShop(db, run.Client)
		shop.online = true
		return shop.charge, func() any { return shop.totals() }
	})
}
