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

// run runs statements in order: in one round trip, and with BEGIN unless the transaction has begun, if all of them are prepared on the
// connection; otherwise one by one, since pgx prepares a whole batch before it sends any of it.
func (t *transaction) run(ctx context.Context, list []queued, ran ran) error {
	if len(list) == 0 {
		return nil
	}
	if !t.prepared(list) {
		return readAll(list, func(s queued) (pgx.Rows, error) { return t.placed.Query(ctx, s.text, s.args...) }, ran)
	}
	var batch pgx.Batch
	begun := t.beginWith(&batch)
	for _, s := range list {
		batch.Queue(t.qualify(s.text), s.args...)
	}
	t.watch.extend()
	results := t.conn.Conn().SendBatch(ctx, &batch)
	var err error
	if begun != nil {
		err = begun(results)
	}
	if err == nil {
		err = readAll(list, func(queued) (pgx.Rows, error) { return results.Query() }, ran)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
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

// runAtCommit runs a statement without rows with the commit, or at once if it is not prepared yet.
func (t *transaction) runAtCommit(ctx context.Context, s queued, ran ran) error {
	if list := []queued{s}; !t.begun || !t.prepared(list) {
		return t.run(ctx, list, ran)
	}
	t.last = append(t.last, s)
	return ran(s, 0, nil)
}

// prepared reports whether all statements are prepared on the connection.
func (t *transaction) prepared(list []queued) bool {
	if !t.prepare {
		return false
	}
	for _, s := range list {
		if !t.direct.prepared(t.qualify(s.text)) {
			return false
		}
	}
	return true
}

func (t *transaction) qualify(text string) string { return t.store.conns.names.qualify(text) }
