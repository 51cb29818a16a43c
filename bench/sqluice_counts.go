package main

import (
	"context"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// roleUncounted is roleDrain by a library that writes no rows of sqluice_job_changes for the counts.
const roleUncounted = "drain uncounted"

func uncountedRole(ctx context.Context, t task, p *parent) (report, error) {
	return drainStore(ctx, t, p, func(s jobs.Store) jobs.Store { return port.SealStore(uncounted{port.StoreOf(s)}) })
}

// drainUncounted is the drain that shows the cost of the counts.
func drainUncounted(ctx context.Context, r running) (figures, error) {
	if err := r.prepare(ctx, r.task(roleBulk)); err != nil {
		return figures{}, err
	}
	return r.drain(ctx, 1, r.task(roleUncounted))
}

// uncounted is a store that keeps no counts.
type uncounted struct{ port.Store }

func (u uncounted) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return u.Store.Write(ctx, withoutNotes(fn))
}

func (u uncounted) Exchange(ctx context.Context, p port.Plan) (port.Outcome, error) {
	if after := p.After; after != nil {
		p.After = func(ctx context.Context, q db.Querier, out *port.Outcome) error {
			err := after(ctx, q, out)
			out.Changes = ""
			return err
		}
	}
	return u.Store.Exchange(ctx, p)
}

func withoutNotes(fn port.Func) port.Func {
	return func(ctx context.Context, q db.Querier) error { return fn(ctx, noteless{q}) }
}

// noteless is a Querier that writes no rows of changes and history: there are none to add up either.
type noteless struct{ db.Querier }

func (noteless) AddJobChanges(context.Context, db.AddJobChangesParams) error { return nil }

func (noteless) TakeJobChanges(context.Context, db.TakeJobChangesParams) ([]db.TakeJobChangesRow, error) {
	return nil, nil
}

func (noteless) AddJobHistory(context.Context, string) error { return nil }
