package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// shipArgs is the payload of a job that ships an order.
type shipArgs struct {
	Order int64 `json:"order"`
}

var shipOrder = jobs.Kind[shipArgs]{Name: "ship-order", MaxAttempts: 10, Timeout: time.Minute}

// carrier takes an order and gives a tracking number. The job may run again after a crash, so for the same order it
// must give the same shipment: a real one would be called with the order's id as its idempotency key.
type carrier func(ctx context.Context, o order) (tracking string, err error)

// label is a carrier that only prints labels: the tracking number is the order's, with check digits.
func label(_ context.Context, o order) (string, error) {
	number := fmt.Sprintf("SQ%08d", o.ID)
	return fmt.Sprintf("%s-%08X", number, crc32.ChecksumIEEE([]byte(number))), nil
}

// ship is the job's handler. It talks to the carrier outside any transaction, and then writes the tracking number and
// the job's end in one.
func (s *shop) ship(ctx context.Context, job jobs.Job, args shipArgs) error {
	o, err := getOrder(ctx, s.db, args.Order)
	if errors.Is(err, sql.ErrNoRows) {
		return jobs.Discard(fmt.Errorf("order %d does not exist", args.Order))
	}
	if err != nil {
		return fmt.Errorf("read order %d: %w", args.Order, err)
	}
	tracking, err := s.carrier(ctx, o)
	if err != nil {
		return fmt.Errorf("hand order %d to the carrier: %w", o.ID, err)
	}
	return s.inTx(ctx, func(tx *sql.Tx) error {
		if err := setTracking(ctx, tx, o.ID, tracking); err != nil {
			return fmt.Errorf("write the tracking number of order %d: %w", o.ID, err)
		}
		return jobs.CompleteTx(ctx, sqlite.Tx(tx), job, map[string]string{"tracking": tracking})
	})
}

// inTx commits the work of fn, or none of it.
func (s *shop) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
