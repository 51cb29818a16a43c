package audit

import (
	"context"
	"encoding/json"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// actorKey is the key of a context's actor.
type actorKey struct{}

// With returns a context with the name of the actor that makes the changes.
func With(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// Without returns a context without an actor: changes made with it are not recorded.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, actorKey{}, nil)
}

// Author records the changes of one call. A nil Author records nothing.
type Author struct{ name string }

// Of returns the author of a context, and nil when it has no actor. The error is an InvalidError for a name that is not valid.
func Of(ctx context.Context) (*Author, error) {
	name, ok := ctx.Value(actorKey{}).(string)
	if !ok {
		return nil, nil
	}
	if err := core.ValidateName("actor", name); err != nil {
		return nil, err
	}
	return &Author{name}, nil
}

// Name returns the author's name; nil for a nil Author.
func (a *Author) Name() *string {
	if a == nil {
		return nil
	}
	return &a.name
}

// Entry is a change. Which fields are set depends on the action.
type Entry struct {
	Action jobtype.Action
	JobID  int64 // set for a change of one job
	Kind   string
	Queue  string
	Jobs   int64           // the number of changed jobs
	JobIDs []int64         // set for a change of many jobs
	Detail json.RawMessage // a JSON object
}

// mostListed is the largest number of job ids that an entry lists. For more jobs it has their number, the first id and the last.
const mostListed = 1000

// Subject reads the columns of a job that an entry has beside the job's id. It must run before the job is deleted. The
// error is [jobtype.ErrNotFound] when there is no such job; a nil Author reads nothing.
func (a *Author) Subject(ctx context.Context, q db.Querier, id int64) (db.GetJobSubjectRow, error) {
	if a == nil {
		return db.GetJobSubjectRow{}, nil
	}
	subject, err := q.GetJobSubject(ctx, id)
	return subject, core.NotFound(err)
}

// Detail returns a value as an entry's detail: nil for nil, and for a nil Author.
func (a *Author) Detail(v any) (json.RawMessage, error) {
	if a == nil || v == nil {
		return nil, nil
	}
	text, err := core.Encode("detail", v)
	return json.RawMessage(text), err
}

// Detailed returns the author as [Of] does, and the detail v of an entry as [Author.Detail] does.
func Detailed(ctx context.Context, v any) (*Author, json.RawMessage, error) {
	a, err := Of(ctx)
	if err != nil {
		return nil, nil, err
	}
	detail, err := a.Detail(v)
	return a, detail, err
}

// Record adds an entry.
func (a *Author) Record(ctx context.Context, q db.Querier, now int64, e Entry) error {
	if a == nil {
		return nil
	}
	p := db.AddAuditParams{
		Now: now, Actor: a.name, Action: string(e.Action), JobID: core.Optional(e.JobID), Kind: core.Optional(e.Kind), Queue: core.Optional(e.Queue),
		Jobs: e.Jobs,
	}
	if len(e.JobIDs) > 0 {
		p.JobIds = new(core.JSONIDs(e.JobIDs))
	}
	if e.Detail != nil {
		p.Detail = new(string(e.Detail))
	}
	return core.Wrap(q.AddAudit(ctx, p), "record the author of the change")
}

// RecordMany adds an entry for the jobs in its JobIDs, and none when there are no jobs.
func (a *Author) RecordMany(ctx context.Context, q db.Querier, now int64, e Entry) error {
	if a == nil || len(e.JobIDs) == 0 {
		return nil
	}
	e.Jobs = int64(len(e.JobIDs))
	if len(e.JobIDs) > mostListed {
		var err error
		if e.Detail, err = a.Detail(map[string]int64{"first": e.JobIDs[0], "last": e.JobIDs[len(e.JobIDs)-1]}); err != nil {
			return err
		}
		e.JobIDs = nil
	}
	return a.Record(ctx, q, now, e)
}
