package postgres

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// A handler that ignores its timeout and holds its job's row in an open transaction keeps the end of its attempt from
// being written, and nothing else.
func TestAHeldRowDoesNotStopTheOthers(t *testing.T) {
	store, client, _ := newSite(t, testdb.StartPostgres(t)).queue(t)
	opened, release := make(chan struct{}), make(chan struct{})
	hold := func(ctx context.Context, job jobs.Job) error {
		if job.Attempt > 1 {
			return nil
		}
		tx, err := store.pool.Begin(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		if err := jobs.CompleteTx(context.WithoutCancel(ctx), Tx(tx), job, nil); err != nil {
			return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		}
		close(opened)
		<-release
		return tx.Rollback(context.WithoutCancel(ctx))
	}
	told := tells{slog.DiscardHandler, "trying again", make(chan struct{}, 1)}
	work(t, client, jobs.Config{Logger: slog.New(told), StuckAfter: time.Millisecond, Queues: map[string]int{jobs.DefaultQueue: 3}},
		handlers{"holds": hold, "k": nothing})
	held := enqueue(t, client, "holds", jobs.Timeout(time.Millisecond))
	receive(t, "the open transaction", opened)
	receive(t, "the end of the attempt, which cannot be written", told.ch)
	// Each of these jobs needs a claim and an end of its own.
	for range 5 {
		wantDone(t, client, enqueue(t, client, "k"), 1)
	}
	close(release)
	eventually(t, "the held job is tried again", func() bool { return get(t, client, held).Attempt == 2 })
	wantDone(t, client, held, 2)
}

// tells says when something is logged.
type tells struct {
	slog.Handler
	text string
	ch   chan struct{}
}

func (h tells) Enabled(context.Context, slog.Level) bool { return true }

func (h tells) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.text) {
		select {
		case h.ch <- struct{}{}:
		default: // it was told
		}
	}
	return nil
}
