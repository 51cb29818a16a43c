package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// errNotPrepared stops a statement from being sent with others: see opening.
var errNotPrepared = errors.New("the statement is not prepared on its connection yet")

// Exchange implements [engine.Store]. Each look is a round trip, so it uses the caller's last one: if a job has fallen due since,
// the claims take nothing, and the next exchange promotes that job.
func (s *backend) Exchange(ctx context.Context, x *engine.Exchange) error {
	if x.Simple && !s.conns.unprepared.Load() && !s.conns.synchronous.Load() { // a hanging commit is asked about by transaction number
		err := s.claimSimply(ctx, x)
		if !errors.Is(err, errNotPrepared) {
			return err
		}
	}
	return s.writer.write(ctx, 1, s.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) error {
		t.cycle = true
		x.Begin()
		steps := []engine.Func{x.Record}
		if (x.Returning || x.Releasing) && x.Claiming {
			if err := x.Record(ctx, q); err != nil {
				return err
			}
			if x.Returning {
				s.cursors.giveUp()
			}
			steps = nil
		}
		if x.Claiming {
			if x.NoneDueBefore = x.Now + 1; x.IsDue() {
				x.NoneDueBefore = 0
				steps = append(steps, x.Promote)
			}
			steps = append(append(steps, x.Claims...), x.Look)
		}
		if err := t.together(ctx, q, steps); err != nil {
			return err
		}
		if err := engine.InOrder(ctx, q, []engine.Func{x.Judge}); err != nil || x.Note == nil {
			return err
		}
		return x.Note(ctx, s.writer.withCommit(t, q))
	})
}

// claimSimply commits a single claim in one round trip, and then runs Judge and Note. It returns errNotPrepared when the
// claim needs a whole transaction.
func (s *backend) claimSimply(ctx context.Context, x *engine.Exchange) error {
	err := s.writer.write(ctx, 1, s.writer.transactOne, func(ctx context.Context, _ *transaction, q db.Querier) error {
		x.Begin()
		x.NoneDueBefore = x.Now + 1
		return engine.InOrder(ctx, q, x.Claims)
	})
	if err != nil || x.Keep != nil && x.Keep() {
		return err
	}
	return s.Write(ctx, x.Conclude)
}

// transactOne is transact for one statement: it sends BEGIN, settings, the statement and COMMIT in one round trip. It learns the
// transaction's number only at the end, so it cannot ask for the outcome of a lost commit without an earlier round trip. Its error
// means that nothing was committed, except for ErrUnknownOutcome and errors of fn.
func (s *writer) transactOne(ctx context.Context, fn statements) (committed bool, err error) {
	conn, err := s.conns.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release() // closes it when the transaction is still open, as after an error
	w := s.conns.watchPrompt(ctx, conn)
	over := false // whether the transaction ended before its statement
	q := s.conns.querier(opening{
		watched: watched{conn.Conn(), w}, mode: s.conns.mode,
		first: func() error { return errNotPrepared },
		ahead: func(batch *pgx.Batch) func(pgx.BatchResults) error {
			batch.Queue(control("begin"))
			batch.Queue(control("one_statement"))
			return func(results pgx.BatchResults) error {
				err := errors.Join(takeOne(results), takeOne(results))
				var server *pgconn.PgError
				over = errors.As(err, &server)
				return err
			}
		},
		behind: func(batch *pgx.Batch) { batch.Queue(control("commit")) },
	}, true)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write: %v", p)
		}
		if err = w.end(err); (broken(err) || err != nil && ctx.Err() != nil) && !pgconn.SafeToRetry(err) && !over {
			err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
		}
	}()
	return true, fn(w.ctx, nil, q)
}

// claims is the part of the engine that claims and completes jobs.
type claims struct{ cursors *cursors }

// Backoff implements [engine.Claims]: workers do not contend for one lock.
func (claims) Backoff(func() int64) engine.Backoff { return engine.NoBackoff{} }

// ClaimJobs implements [engine.Claims]. The claim begins where earlier claims stopped: see cursors.
func (s claims) ClaimJobs(ctx context.Context, q db.Querier, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, committed func(), err error) {
	v, err := s.cursors.from(ctx, arg.Queue, arg.Kinds, func(cursors string) (_ int, err error) {
		arg.Cursors = cursors
		rows, err = q.ClaimJobs(ctx, arg)
		return len(rows), err
	})
	return rows, func() { s.cursors.claimed(v, arg.Now, rows) }, err
}

// HasClaimableJobs implements [engine.Store].
func (s claims) HasClaimableJobs(ctx context.Context, q db.Querier, arg db.HasClaimableJobsParams) (found bool, err error) {
	_, err = s.cursors.from(ctx, arg.Queue, arg.Kinds, func(cursors string) (int, error) {
		arg.Cursors = cursors
		n, err := q.HasClaimableJobs(ctx, arg)
		found = n > 0
		return 1, err
	})
	return found, err
}

// ClaimableQueues implements [engine.Store]. A queue with a cursor has many dead index entries, and a look that goes from queue to
// queue would read them each time.
func (s claims) ClaimableQueues(ctx context.Context, q db.Querier, kinds string, queues []string) ([]string, error) {
	views, err := s.cursors.views(queues, kinds)
	if err != nil {
		return nil, err
	}
	if len(views) == 0 {
		return engine.ClaimableQueues(ctx, q, kinds, queues)
	}
	return engine.ListedQueues(ctx, q, kinds, queues, views)
}

// enqueueClaimed inserts a job as claimed, unless a search as for a claim finds jobs that come before it.
func (s claims) enqueueClaimed(ctx context.Context, q db.Querier, arg db.EnqueueClaimedJobParams) (row db.EnqueueClaimedJobRow, committed func(), err error) {
	v, err := s.cursors.from(ctx, arg.Queue, arg.Kinds, func(cursors string) (_ int, err error) {
		arg.Cursors = cursors
		row, err = q.EnqueueClaimedJob(ctx, arg)
		return 1, err
	})
	return row, func() {
		s.cursors.claimed(v, arg.Now, []db.ClaimJobsRow{db.ClaimJobsRow(row)})
	}, err
}

// CompleteJobs implements [engine.Store].
func (s claims) CompleteJobs(ctx context.Context, q db.Querier, c engine.Completion) (int64, error) {
	return q.CompleteJobs(ctx, db.CompleteJobsParams{Now: c.Now, WorkerID: c.WorkerID, Attempt: c.Attempt, Ids: core.JSONIDs(c.IDs)})
}
