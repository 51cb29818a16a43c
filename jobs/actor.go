package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// actorKey is under which a context has the name of who changes something.
type actorKey struct{}

// WithActor returns a context for what a person, or a program on somebody's behalf, changes: each change that a [Client]
// makes with it leaves a row that [Client.Audit] lists, written in the same transaction. Nothing is noted of a change that
// did not happen, nor of one without an actor, as those of a service's own code are. What a [Runner] does is nobody's,
// whatever context it was started with.
//
// actor is a name as of [ValidateName]; with another one every change is an [InvalidError].
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// withoutActor is for what is done on nobody's behalf.
func withoutActor(ctx context.Context) context.Context {
	return context.WithValue(ctx, actorKey{}, nil)
}

// author notes what one call changes.
type author struct{ name string }

// authorOf is who changes something; nil when that is not to be noted.
func authorOf(ctx context.Context) (*author, error) {
	name, ok := ctx.Value(actorKey{}).(string)
	if !ok {
		return nil, nil
	}
	if err := ValidateName("actor", name); err != nil {
		return nil, err
	}
	return &author{name}, nil
}

// subject reads what is to be noted of a job beside its id, before the job is gone.
func (a *author) subject(ctx context.Context, q db.Querier, id int64) (db.GetJobSubjectRow, error) {
	if a == nil {
		return db.GetJobSubjectRow{}, nil
	}
	subject, err := q.GetJobSubject(ctx, id)
	return subject, notFound(err)
}

// mostListed is how many ids of jobs a note lists; of more it tells only how many there are, the first and the last.
const mostListed = 1000

// note adds the row of a change; e's id, time and actor are not used.
func (a *author) note(ctx context.Context, q db.Querier, now int64, e AuditEntry) error {
	if a == nil {
		return nil
	}
	p := db.AddAuditParams{
		Now: now, Actor: a.name, Action: string(e.Action), JobID: core.Optional(e.JobID), Kind: core.Optional(e.Kind), Queue: core.Optional(e.Queue),
		Jobs: e.Jobs,
	}
	if len(e.JobIDs) > 0 {
		ids := core.JSONIDs(e.JobIDs)
		p.JobIds = &ids
	}
	if e.Detail != nil {
		text := string(e.Detail)
		p.Detail = &text
	}
	if err := q.AddAudit(ctx, p); err != nil {
		return fmt.Errorf("note who did it: %w", err)
	}
	return nil
}

// detailOf is a value as the detail of a note.
func detailOf(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	text, err := core.Encode("detail", v)
	return json.RawMessage(text), err
}
