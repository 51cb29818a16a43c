package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Update changes a job that is scheduled or pending, as p says. The error is [jobtype.ErrNotFound] or [jobtype.ErrStatus] when it cannot
// be changed, and an InvalidError for a payload that was read without what its kind marks as sensitive.
func Update(ctx context.Context, q db.Querier, p db.UpdateWaitingJobParams, o Options) error {
	if p.Payload != nil {
		if err := checkPayload(ctx, q, p); err != nil {
			return err
		}
	}
	p.Only = o.only()
	for range changeTries {
		n, err := q.UpdateWaitingJob(ctx, p)
		if err != nil || n > 0 {
			return err
		}
		status, err := statusOf(ctx, q, p.ID)
		if err != nil {
			return err
		}
		if err := o.check(status); err != nil {
			return err
		}
		if status != jobtype.StatusScheduled && status != jobtype.StatusPending {
			return statusError(fmt.Sprintf("it is %s, not scheduled or pending", status))
		}
		// It went from running to waiting between the statements (not on SQLite, where one transaction writes at a time).
	}
	return errChanging
}

// checkPayload refuses a payload that has [jobtype.Redacted] in the place of what the job's kind marks as sensitive.
func checkPayload(ctx context.Context, q db.Querier, p db.UpdateWaitingJobParams) error {
	subject, err := q.GetJobSubject(ctx, p.ID)
	if err != nil {
		return core.NotFound(err)
	}
	fields, err := redact.ReadFields(ctx, q, []string{subject.Kind})
	if err != nil {
		return err
	}
	if fields[subject.Kind].Shown(json.RawMessage(*p.Payload)) {
		return jobtype.NewInvalidError("payload", "", "not have "+strconv.Quote(jobtype.Redacted)+" where its kind has a sensitive field: give the field's value")
	}
	return nil
}
