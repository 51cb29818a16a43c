package recipes_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/sqluice/sqluice/examples/recipes/reports"
	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// report joins the application's orders with the queue's jobs.
type report interface {
	Orders(ctx context.Context, after string, n int64) ([]reports.Order, error)
	Failed(ctx context.Context, since time.Time, n int64) ([]reports.Failed, error)
}

func TestReportsOnSQLite(t *testing.T) {
	d := openSQLite(t)
	checkReports(t, d, reports.SQLite{DB: d.DB})
}

func TestReportsOnPostgres(t *testing.T) {
	d := openPostgres(t, testdb.StartPostgres(t).Database(t))
	checkReports(t, d, reports.Postgres{Pool: d.pgx})
}

// checkReports places orders of which one is shipped, one fails, one waits, and one has no job.
func checkReports(t *testing.T, d database, r report) {
	t.Helper()
	ctx, began := t.Context(), time.Now().Add(-time.Minute)
	must(t, reports.Place(ctx, d.Database, "gears"))
	must(t, reports.Place(ctx, d.Database, "levers"))
	runner, err := jobs.NewRunner(d.Client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	shop.Ship.Handle(runner, func(ctx context.Context, _ jobs.Job, order shop.Order) error {
		if order.Item == "levers" {
			return jobs.Discard(errors.New("out of stock"))
		}
		_, err := d.DB.ExecContext(ctx, `UPDATE orders SET shipments = shipments + 1 WHERE item = $1`, order.Item)
		return err
	})
	must(t, runner.Drain(ctx))
	must(t, reports.Place(ctx, d.Database, "springs"))
	_, err = d.DB.ExecContext(ctx, `INSERT INTO orders (item) VALUES ('old wheels')`)
	must(t, err)

	orders, err := r.Orders(ctx, "", 10)
	must(t, err)
	want := []reports.Order{
		{Item: "gears", Shipments: 1, Status: "done", Attempt: 1},
		{Item: "levers", Status: "failed", Attempt: 1, LastError: "out of stock"},
		{Item: "old wheels", Status: "none"},
		{Item: "springs", Status: "pending"},
	}
	if !reflect.DeepEqual(orders, want) {
		t.Errorf("the orders are\n%+v, not\n%+v", orders, want)
	}
	if next, err := r.Orders(ctx, "levers", 1); err != nil || !reflect.DeepEqual(next, want[2:3]) {
		t.Errorf("the order behind levers is %+v: %v", next, err)
	}

	failed, err := r.Failed(ctx, began, 10)
	must(t, err)
	if len(failed) != 1 || failed[0].Item != "levers" || failed[0].LastError != "out of stock" || failed[0].FailedAt < began.UnixMicro() {
		t.Errorf("the failed orders are %+v", failed)
	}
	if failed, err := r.Failed(ctx, time.Now().Add(time.Minute), 10); err != nil || len(failed) != 0 {
		t.Errorf("after now failed %+v: %v", failed, err)
	}
}
