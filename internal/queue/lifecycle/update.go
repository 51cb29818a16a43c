package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Update changes the columns of p that are set, of a scheduled or pending job. It returns [jobtype.ErrNotFound] or [jobtype.ErrStatus] if
// the job cannot be changed. It returns an InvalidError for a payload that was read without the fields that its kind marks as sensitive,
// and for a run-after time at which the job has expired.
func Update(ctx context.Context, q db.Querier, p db.UpdateWaitingJobParams, o Options) error {
	if p.Payload != nil {
		payload, err := newPayload(ctx, q, p, o)
		if err != nil {
			return err
		}
		p.Payload = &payload
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
		if status != jobtype.StatusScheduled && status != jobtype.StatusWaiting && status != jobtype.StatusPending {
			return statusError(fmt.Sprintf("it is %s, not scheduled, waiting or pending", status))
		}
		if err := checkStartBy(ctx, q, p); err != nil {
			return err
		}
		// The status changed between the statements (not on SQLite, where one transaction writes at a time).
	}
	return ErrChanging
}

// checkStartBy refuses a run-after time at which a job has expired.
func checkStartBy(ctx context.Context, q db.Querier, p db.UpdateWaitingJobParams) error {
	if p.RunAfter == nil {
		return nil
	}
	row, err := q.GetJob(ctx, p.ID)
	if err != nil {
		return core.NotFound(err)
	}
	if row.StartBy == nil || *row.StartBy > *p.RunAfter {
		return nil
	}
	return jobtype.NewInvalidError("run-after time", core.Time(*p.RunAfter).Format(time.RFC3339),
		"lie before "+core.Time(*row.StartBy).Format(time.RFC3339)+", by which the job must start")
}

// newPayload returns the stored form of a payload. It refuses one that was read without the fields that its kind marks as sensitive, or
// without decryption.
func newPayload(ctx context.Context, q db.Querier, p db.UpdateWaitingJobParams, o Options) (string, error) {
	subject, err := q.GetJobSubject(ctx, p.ID)
	if err != nil {
		return "", core.NotFound(err)
	}
	if err := cipher.CheckPayload([]byte(*p.Payload)); err != nil {
		return "", err
	}
	if err := CheckShown(ctx, q, subject.Kind, []byte(*p.Payload)); err != nil {
		return "", err
	}
	if o.Cipher == nil {
		if err := checkReplaced(ctx, q, p.ID); err != nil {
			return "", err
		}
	}
	return o.Cipher.JSON(subject.Kind, cipher.Payload, []byte(*p.Payload))
}

// CheckShown refuses a replacement payload that was read without the fields that its kind marks as sensitive, which would be lost. A
// payload without a redacted field costs no statement.
func CheckShown(ctx context.Context, q db.Querier, kind string, payload []byte) error {
	if !bytes.Contains(payload, []byte(jobtype.Redacted)) {
		return nil
	}
	fields, err := redact.ReadFields(ctx, q, []string{kind})
	if err == nil && fields[kind].Shown(json.RawMessage(payload)) {
		err = jobtype.NewInvalidError("payload", "", "not have "+strconv.Quote(jobtype.Redacted)+" where its kind has a sensitive field: give the field's value")
	}
	return err
}
