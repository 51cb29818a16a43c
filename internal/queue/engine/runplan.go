package engine

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Statements runs the statements of a plan for which an engine has faster forms.
type Statements interface {
	Completer

	// ClaimJobs appends the claimed jobs to a list.
	ClaimJobs(ctx context.Context, q db.Querier, arg db.ClaimJobsParams, list []db.ClaimJobsRow) ([]db.ClaimJobsRow, error)
}

// Completer records ends.
type Completer interface {
	// CompleteJobs records that attempts ended well and without a result. It leaves jobs alone that the worker no longer holds, and
	// returns the number of the others. now is in microseconds.
	CompleteJobs(ctx context.Context, q db.Querier, now int64, c Completion) (int64, error)
}

// RunPlan carries out a plan one statement after another. It is for an engine without round trips, in whose transaction no other commits:
// it looks for due jobs before it claims. The caller has set the outcome's Now.
func RunPlan(ctx context.Context, q db.Querier, own Statements, p Plan, out *Outcome) error {
	if p.Ran != nil {
		q = db.Timed(q, p.Ran)
	}
	if p.Before != nil {
		if err := p.Before(ctx, q, out.Now); err != nil {
			return err
		}
	}
	for _, c := range p.Done {
		done, err := Complete(ctx, q, own, core.Micros(out.Now), c)
		if err != nil {
			return err
		}
		out.Done = append(out.Done, done)
	}
	if err := promote(ctx, q, p, out); err != nil {
		return err
	}
	for _, c := range p.Claims {
		rows, err := claim(ctx, q, own, p.Claimer, c, out)
		if err != nil {
			return fmt.Errorf("claim jobs: %w", err)
		}
		out.Claimed = append(out.Claimed, rows)
	}
	if p.After == nil {
		return nil
	}
	if err := p.After(ctx, q, out); err != nil || out.Changes == "" {
		return err
	}
	if err := q.AddJobChanges(ctx, db.AddJobChangesParams{At: core.Micros(out.Now), Items: out.Changes}); err != nil {
		return fmt.Errorf("count the outcomes of jobs: %w", err)
	}
	return nil
}

// Complete records the ends of attempts. now is in microseconds.
func Complete(ctx context.Context, q db.Querier, own Completer, now int64, c Completion) (done Completed, err error) {
	switch {
	case c.Drop:
		done.Removed, err = q.DropCompletedJobs(ctx, c.Dropped())
	case c.Results != "":
		done.N, err = q.CompleteJobsWithResults(ctx, c.WithResults(now))
	default:
		done.N, err = own.CompleteJobs(ctx, q, now, c)
	}
	if err != nil {
		return done, fmt.Errorf("record ends of attempts: %w", err)
	}
	return done, nil
}

// promote makes scheduled jobs pending. Unless they are listed it looks for due ones before, and then for the next.
func promote(ctx context.Context, q db.Querier, p Plan, out *Outcome) (err error) {
	if p.Promote.IDs != nil {
		if out.Promoted, err = q.PromoteListedJobs(ctx, p.Promote.Listed(out.Now)); err != nil {
			return fmt.Errorf("promote due jobs: %w", err)
		}
	}
	if !p.Look {
		return nil
	}
	if err := look(ctx, q, out); err != nil || p.Promote.N == 0 || !IsDue(out.Next.RunAfter, out.Now) {
		return err
	}
	out.Due = true
	if out.Promoted, err = q.PromoteDueJobs(ctx, p.Promote.Params(out.Now)); err != nil {
		return fmt.Errorf("promote due jobs: %w", err)
	}
	return look(ctx, q, out)
}

// look reads when the next scheduled job falls due.
func look(ctx context.Context, q db.Querier, out *Outcome) (err error) {
	if out.Next, err = q.GetNextRunAfter(ctx); err != nil {
		return fmt.Errorf("find the next due job: %w", err)
	}
	out.Looked = true
	return nil
}

// claim claims jobs of one queue.
func claim(ctx context.Context, q db.Querier, own Statements, by Claimer, c QueueClaim, out *Outcome) ([]db.ClaimJobsRow, error) {
	if c.IDs == nil {
		return own.ClaimJobs(ctx, q, by.Params(c, out.Now, 0), c.Rows[:0])
	}
	return by.ClaimListed(ctx, q, c, out.Now)
}
