package jobs

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// RevealErrors records that the actor of ctx ([WithActor]) reads encrypted errors, and returns a client that decrypts the errors and stacks
// of attempts with its keys ([WithCipher]). Payloads, results and progress stay hidden, and so do values that were withheld from the
// errors: see [Kind.Sensitive]. id is the job whose errors are read; 0 means all jobs, and [AuditDetail] may say which.
//
// The error is an [InvalidError] without an actor, and [ErrNotFound] for an unknown job. In the caller's transaction ([Client.With]) the
// entry is a part of it.
func (c *Client) RevealErrors(ctx context.Context, id int64, opts ...ChangeOption) (*Client, error) {
	if err := c.recordReveal(ctx, id, opts); err != nil {
		return nil, fmt.Errorf("%s: %w", jobtype.ActionRevealErrors, err)
	}
	scope := *c.scope()
	scope.Errors = true
	return c.with(scope), nil
}

// recordReveal adds the audit entry of RevealErrors.
func (c *Client) recordReveal(ctx context.Context, id int64, opts []ChangeOption) error {
	var options lifecycle.Options
	for _, opt := range opts {
		opt(&options)
	}
	author, detail, err := audit.Detailed(ctx, options.Detail)
	if err == nil && author == nil {
		err = jobtype.NewInvalidError("actor", "", "be given by jobs.WithActor: the audit log names it")
	}
	if err != nil {
		return err
	}
	return lifecycle.Change(ctx, c.scope(), 0, func(ctx context.Context, q db.Querier) error {
		entry := audit.Entry{Action: jobtype.ActionRevealErrors, Detail: detail}
		if id != 0 {
			subject, err := author.Subject(ctx, q, id)
			if err != nil {
				return fmt.Errorf("job %d: %w", id, err)
			}
			entry.JobID, entry.Kind, entry.Queue = id, subject.Kind, subject.Queue
		}
		return author.Record(ctx, q, core.Micros(c.store.Now()), entry)
	})
}
