package main

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
)

// placeOne returns a shop with one order, in the database of a test's queue.
func placeOne(t *testing.T, db *sql.DB, client *jobs.Client, carrier carrier) (*shop, order) {
	t.Helper()
	s, o := &shop{db: db, client: client, carrier: carrier}, order{Customer: "Ada", Item: "gears"}
	err := createOrders(t.Context(), db)
	if err == nil {
		err = s.inTx(t.Context(), func(tx *sql.Tx) error { return insertOrder(t.Context(), tx, &o) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, o
}

// Wherever the service dies while it ships an order, the order has one shipment and its tracking number in the end: the carrier gives the
// same shipment for the same order.
func TestShipIsIdempotent(t *testing.T) {
	report := jobstest.Crash(t, shipOrder, shipArgs{Order: 1}, func(run *jobstest.CrashRun) (jobs.Handler[shipArgs], func() any) {
		db, shipments := run.DB(), map[string]bool{}
		s, _ := placeOne(t, db, run.Client, func(ctx context.Context, o order) (string, error) {
			tracking, err := label(ctx, o)
			shipments[tracking] = true
			return tracking, err
		})
		return s.ship, func() any {
			o, err := getOrder(t.Context(), db, 1)
			if err != nil {
				t.Fatal(err)
			}
			return []any{o, shipments}
		}
	})
	if len(report.Points) < 8 {
		t.Errorf("only %d points", len(report.Points))
	}
}

func TestShipWithoutTheCarrier(t *testing.T) {
	q := jobstest.New(t)
	away := errors.New("closed for the night")
	s, o := placeOne(t, q.DB(), q.Client, func(context.Context, order) (string, error) { return "", away })
	if out := jobstest.Run(t, q, shipOrder, s.ship, shipArgs{Order: o.ID}); out.Fate != jobs.FateRetry || !errors.Is(out.Err, away) || out.Delay == 0 {
		t.Error(out)
	}
	if out := jobstest.Run(t, q, shipOrder, s.ship, shipArgs{Order: o.ID + 1}); out.Fate != jobs.FateFailed {
		t.Error(out)
	}
}
