package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// queued is a statement as a value: it can be sent with others. The functions of queued.go make those of a plan.
type queued struct {
	name string
	text string // not qualified yet
	args []any
	read func(pgx.Rows) error // reads and closes the answer
	what string               // the work of the statement, for its error
	done func(took time.Duration)
}

// ran is called after a statement with its duration, which is the time since the answer before it.
type ran func(s queued, took time.Duration, err error) error

// sendAll runs statements in order, in one round trip if it can.
type sendAll func(ctx context.Context, list []queued, ran ran) error

// readOne reads the answer of a statement that returns one row.
func readOne(rows pgx.Rows, values ...any) error {
	defer rows.Close()
	if !rows.Next() {
		return cmp.Or(rows.Err(), pgx.ErrNoRows)
	}
	if err := rows.Scan(values...); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// readAll reads the answers of statements, which answer returns.
func readAll(list []queued, answer func(queued) (pgx.Rows, error), ran ran) error {
	for _, s := range list {
		began := time.Now()
		rows, err := answer(s)
		if err == nil {
			err = s.read(rows)
		}
		if err = ran(s, time.Since(began), err); err != nil {
			return err
		}
	}
	return nil
}
