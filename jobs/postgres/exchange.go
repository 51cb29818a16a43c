package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// errNotPrepared is the error of a claim that cannot be sent with its commit.
var errNotPrepared = errors.New("the statement is not prepared on its connection yet")

// Exchange implements [engine.Store]. Each look is a round trip, so it uses the caller's last one: if a job has fallen due since,
// the claims take nothing, and the next exchange promotes that job.
func (s *backend) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	x := &exchange{backend: s, plan: p}
	err := errNotPrepared
	if p.Simple && !s.conns.unprepared.Load() && !s.conns.synchronous.Load() { // a hanging commit is asked about by transaction number
		err = s.writer.write(ctx, 1, x.claimAlone, nil)
	}
	if errors.Is(err, errNotPrepared) {
		err = s.writer.write(ctx, 1, s.writer.transact, x.run)
	}
	if err == nil {
		for i, v := range x.views {
			s.cursors.claimed(v, core.Micros(x.out.Now), x.out.Claimed[i])
		}
	}
	return x.out, err
}

// exchange carries out one plan.
type exchange struct {
	backend *backend
	plan    engine.Plan
	out     engine.Outcome
	list    []queued
	views   []view // the views of the claims
}

// begin forgets the results of an earlier run.
func (x *exchange) begin() {
	x.out = engine.Outcome{
		Now: x.plan.Now(x.backend.Now), Done: make([]engine.Completed, len(x.plan.Done)), Claimed: make([][]db.ClaimJobsRow, len(x.plan.Claims)),
	}
	for i, c := range x.plan.Claims {
		x.out.Claimed[i] = c.Rows[:0]
	}
	x.list, x.views = nil, nil
}

// run carries out the plan in a transaction.
func (x *exchange) run(ctx context.Context, t *transaction, q db.Querier) error {
	t.cycle = true
	x.begin()
	if x.plan.Ran != nil {
		q = db.Timed(q, x.plan.Ran)
	}
	if x.plan.Before != nil {
		if err := x.plan.Before(ctx, q, x.out.Now); err != nil {
			return err
		}
	}
	if x.plan.Returns {
		x.backend.cursors.giveUp()
	}
	if err := x.queue(); err != nil {
		return err
	}
	var last []queued
	if x.plan.After != nil && x.plan.Look && len(x.list) == 1 { // nothing but the look: it need not come before the commit
		x.list, last = nil, x.list
	}
	if err := t.run(ctx, x.list, x.ran); err != nil || x.plan.After == nil {
		return err
	}
	if err := x.plan.After(ctx, q, &x.out); err != nil {
		return err
	}
	if x.out.Changes != "" {
		s := queuedAddJobChanges(db.AddJobChangesParams{At: core.Micros(x.out.Now), Items: x.out.Changes})
		s.what = "count the outcomes of jobs"
		last = append(last, s)
	}
	return t.runAtCommit(ctx, last, x.ran)
}

// queue makes the list of the plan's statements.
func (x *exchange) queue() error {
	now, p := x.out.Now, &x.plan
	for i, c := range p.Done {
		x.add("record ends of attempts", queuedCompletion(c, core.Micros(now), &x.out.Done[i]))
	}
	noneDueBefore := core.Micros(now) + 1
	switch {
	case p.Promote.IDs != nil:
		x.add("promote due jobs", queuedPromoteListedJobs(p.Promote.Listed(now), &x.out.Promoted))
	case p.Promote.N > 0 && p.Promote.IsDue(now):
		noneDueBefore, x.out.Due = 0, true
		x.add("promote due jobs", queuedPromoteDueJobs(p.Promote.Params(now), &x.out.Promoted))
	}
	for i, c := range p.Claims {
		if err := x.addClaim(i, c, noneDueBefore); err != nil {
			return err
		}
	}
	if p.Look {
		s := queuedGetNextRunAfter(&x.out.Next)
		readNext := s.read
		s.read = func(rows pgx.Rows) error {
			err := readNext(rows)
			x.out.Looked = err == nil // a commit may succeed whose answer is lost
			return err
		}
		x.add("find the next due job", s)
	}
	return nil
}

func (x *exchange) add(what string, s queued) {
	s.what = what
	x.list = append(x.list, s)
}

// addClaim adds the statement of a claim. A claim that is not of listed jobs begins where earlier claims stopped: see cursors.
func (x *exchange) addClaim(i int, c engine.QueueClaim, noneDueBefore int64) error {
	rows, now := &x.out.Claimed[i], x.out.Now
	if c.IDs != nil {
		x.add("claim jobs", queuedClaimListedJobs(x.plan.Claimer.Listed(c, now), rows))
		return nil
	}
	v, err := x.backend.cursors.view(c.Queue, x.plan.Claimer.Kinds)
	if err != nil {
		return err
	}
	arg := x.plan.Claimer.Params(c, now, noneDueBefore)
	arg.Cursors = v.text
	s := queuedClaimJobs(arg, rows)
	if v.all {
		s.done = func(took time.Duration) { x.backend.cursors.looked(v.key, took, len(*rows)) }
	}
	x.views = append(x.views, v)
	x.add("claim jobs", s)
	return nil
}

// queuedCompletion returns the statement that records ends of attempts. now is in microseconds.
func queuedCompletion(c engine.Completion, now int64, into *engine.Completed) queued {
	switch {
	case c.Drop:
		return queuedDropCompletedJobs(c.Dropped(), &into.Removed)
	case c.Results != "":
		return queuedCompleteJobsWithResults(c.WithResults(now), &into.N)
	default:
		return queuedCompleteJobs(c.Plain(now), &into.N)
	}
}

// ran reports a statement, and returns its error with what it was for.
func (x *exchange) ran(s queued, took time.Duration, err error) error {
	if x.plan.Ran != nil {
		x.plan.Ran(s.name, took, err)
	}
	switch {
	case err == nil && s.done != nil:
		s.done(took)
	case err != nil && s.what != "":
		return fmt.Errorf("%s: %w", s.what, err)
	}
	return err
}

// claimAlone sends BEGIN, settings, the plan's only claim and COMMIT in one round trip. It learns the transaction's number only at the end,
// so it cannot ask for the outcome of a lost commit without an earlier round trip. Its error means that nothing was committed, except
// for ErrUnknownOutcome; it is errNotPrepared when the claim needs a whole transaction.
func (x *exchange) claimAlone(ctx context.Context, _ statements) (committed bool, err error) {
	conns := x.backend.conns
	conn, err := conns.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release() // closes it when the transaction is still open, as after an error
	w := conns.watchPrompt(ctx, conn)
	x.begin()
	if err := x.addClaim(0, x.plan.Claims[0], core.Micros(x.out.Now)+1); err != nil {
		return false, w.end(err)
	}
	text := conns.names.qualify(x.list[0].text)
	if !prepared(conn.Conn(), conns.mode, text) {
		return false, w.end(errNotPrepared)
	}
	var batch pgx.Batch
	batch.Queue(control("begin"))
	batch.Queue(control("one_statement"))
	batch.Queue(text, x.list[0].args...)
	batch.Queue(control("commit"))
	w.extend()
	results := conn.Conn().SendBatch(w.ctx, &batch)
	err = errors.Join(takeOne(results), takeOne(results))
	over := errors.As(err, new(*pgconn.PgError)) // the transaction ended before its statement
	if err == nil {
		err = readAll(x.list, func(queued) (pgx.Rows, error) { return results.Query() }, x.ran)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err = w.end(err); (broken(err) || err != nil && ctx.Err() != nil) && !pgconn.SafeToRetry(err) && !over {
		err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
	}
	return true, err
}
