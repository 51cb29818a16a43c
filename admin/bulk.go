package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// bulkTimeout bounds the time of one request of a bulk change. The answer has the position of the next request.
const bulkTimeout = requestTimeout / 2

// maxBulkJobs bounds the number of jobs that one request reads.
const maxBulkJobs = 1000

// bulkRequest is the body of a bulk change. The status is required, so that an empty filter does not change every job.
type bulkRequest struct {
	Status jobs.Status `json:"status"`
	Kind   *string     `json:"kind"`
	Queue  *string     `json:"queue"`
	UserID *string     `json:"user_id"`
	Tag    *string     `json:"tag"`
	Text   *string     `json:"q"`
	failedLike
	After int64 `json:"after"`
	Limit *int  `json:"limit"`
}

// failedLike selects failed jobs by a group of the failed-job report. nil selects all jobs.
type failedLike struct {
	Error   *string     `json:"error"`   // the complete text
	Pattern *string     `json:"pattern"` // see [inspect.ErrorPattern]
	Cause   *jobs.Cause `json:"cause"`   // "" selects jobs without a failed attempt
}

// fields returns the values that are set, by the names of the request's fields.
func (f failedLike) fields() map[string]any {
	set := map[string]any{}
	if f.Error != nil {
		set["error"] = *f.Error
	}
	if f.Pattern != nil {
		set["pattern"] = *f.Pattern
	}
	if f.Cause != nil {
		set["cause"] = *f.Cause
	}
	return set
}

// failureCauses returns the causes of groups of the failed-job report.
func failureCauses() []jobs.Cause {
	return []jobs.Cause{"", jobs.CauseError, jobs.CausePanic, jobs.CauseTimeout, jobs.CauseDecode, jobs.CauseCrash, jobs.CauseLost, jobs.CauseExpired}
}

// selects reports whether a job is in the group.
func (f failedLike) selects(ctx context.Context, in *inspect.Inspector, j jobs.Job) (bool, error) {
	if f.Error != nil && j.LastError != *f.Error || f.Pattern != nil && inspect.ErrorPattern(j.LastError) != *f.Pattern {
		return false, nil
	}
	if f.Cause == nil {
		return true, nil
	}
	page, err := in.Attempts(ctx, j.ID, 0, 1)
	if err != nil || len(page.Failed) == 0 {
		return *f.Cause == "", err
	}
	return page.Failed[0].Cause == *f.Cause, nil
}

// bulkResult holds the counts of a bulk change and the position of the next request.
type bulkResult struct {
	Changed int    `json:"changed"`
	Skipped int    `json:"skipped"`           // jobs whose status does not allow the change any more, or whose unique key another job holds
	Refused int    `json:"refused"`           // jobs that the database refused to change
	Refusal string `json:"refusal,omitempty"` // the first refused job with the reason
	Next    int64  `json:"next,omitempty"`    // the parameter after of the next request; 0 if no jobs are left
}

// add adds the counts of a later part of the same change.
func (b *bulkResult) add(part bulkResult) {
	b.Changed += part.Changed
	b.Skipped += part.Skipped
	b.Refused += part.Refused
	b.Refusal = cmp.Or(b.Refusal, part.Refusal)
}

// firstRefusal returns the first job that the database refused to change, with the reason, or "".
func firstRefusal(refused jobs.RefusedError) string {
	if len(refused.Jobs) == 0 {
		return ""
	}
	return fmt.Sprintf("job %d: %v", refused.Jobs[0], refused.Err)
}

func (h *Handler) retryMany(r *http.Request) (answer, error) {
	return h.bulk(r, h.inspector.RetryMany, retryable()...)
}

func (h *Handler) cancelMany(r *http.Request) (answer, error) {
	return h.bulk(r, h.inspector.CancelMany, cancellable()...)
}

func (h *Handler) deleteMany(r *http.Request) (answer, error) {
	return h.bulk(r, h.inspector.DeleteMany, deletable()...)
}

func retryable() []jobs.Status {
	return []jobs.Status{jobs.StatusScheduled, jobs.StatusFailed, jobs.StatusCancelled}
}

func cancellable() []jobs.Status {
	return []jobs.Status{jobs.StatusScheduled, jobs.StatusWaiting, jobs.StatusPending, jobs.StatusRunning}
}

func deletable() []jobs.Status {
	return []jobs.Status{jobs.StatusScheduled, jobs.StatusWaiting, jobs.StatusPending, jobs.StatusDone, jobs.StatusFailed, jobs.StatusCancelled}
}

// changeMany is a method of an inspector: see [inspect.Inspector.RetryMany].
type changeMany = func(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error)

// bulk changes the jobs that a filter selects, newest first, in batches.
func (h *Handler) bulk(r *http.Request, act changeMany, allowed ...jobs.Status) (answer, error) {
	q := bulkRequest{}
	if err := decode(r, &q); err != nil {
		return answer{}, err
	}
	limit, err := q.check(allowed)
	if err != nil {
		return answer{}, err
	}
	filter, err := q.selected()
	if err != nil {
		return answer{}, err
	}
	b := batches{act: act, opts: []jobs.ChangeOption{
		jobs.OnlyIf(q.Status), // the status may have changed since the job was listed
		jobs.AuditDetail(map[string]any{"filter": q.filter()}),
	}, only: func(ctx context.Context, j jobs.Job) (bool, error) { return q.selects(ctx, h.inspector, j) }, now: h.now, until: h.now().Add(bulkTimeout), last: q.After}
	b.result.Next, err = h.eachJob(r.Context(), filter, limit, b.visit)
	if err == nil || errors.Is(err, errEnough) {
		if flushed := b.flush(r.Context()); flushed != nil {
			err = flushed
		}
	}
	if b.result.Refused > 0 {
		h.logError(r, "the database refused some jobs of a bulk change", errors.New(b.result.Refusal))
	}
	switch {
	case err == nil:
	case errors.Is(err, errEnough):
		b.result.Next, err = b.last, nil
	case b.result.Changed+b.result.Refused > 0:
		// The answer has the counts so far. The next request meets the error again.
		h.logError(r, "a bulk change stopped early", err)
		b.result.Next, err = b.last, nil
	}
	return answer{body: b.result}, err
}

// selected returns the filter of the request without failedLike, which the change applies to each job.
func (q bulkRequest) selected() (inspect.Filter, error) {
	filter := inspect.Filter{Status: q.Status, After: q.After}
	for _, f := range []struct {
		name string
		from *string
		to   *string
	}{{"kind", q.Kind, &filter.Kind}, {"queue", q.Queue, &filter.Queue}, {"user_id", q.UserID, &filter.UserID}, {"tag", q.Tag, &filter.Tag}, {"q", q.Text, &filter.Text}} {
		switch {
		case f.from == nil:
		case *f.from == "": // an empty text would select all jobs
			return filter, &jobs.InvalidError{Field: f.name, Must: "not be empty; leave it out for all"}
		default:
			*f.to = *f.from
		}
	}
	return filter, nil
}

// batchSize is the number of jobs in one transaction.
const batchSize = 100

// errEnough is the error for a request of a bulk change after its deadline.
var errEnough = errors.New("enough for one request")

// batches changes jobs in batches.
type batches struct {
	act    changeMany
	opts   []jobs.ChangeOption
	only   func(context.Context, jobs.Job) (bool, error) // reports whether the change selects a job
	now    func() time.Time
	until  time.Time // the deadline of the request
	began  bool      // the request has read a job
	ids    []int64   // the ids of the current batch
	seen   int64     // the id of the last job that was read
	last   int64     // the position to continue after: all selected jobs up to it are changed, skipped or refused
	result bulkResult
}

// visit adds a job to the batch, or skips it. It returns errEnough after the request's deadline.
func (b *batches) visit(ctx context.Context, j jobs.Job) error {
	// Each request handles at least one job, also after a slow search: otherwise a repeated request would never advance.
	if b.began && b.now().After(b.until) {
		return errEnough
	}
	b.began = true
	switch selected, err := b.only(ctx, j); {
	case err != nil:
		return err
	case !selected:
		b.pass(j.ID)
		return nil
	}
	return b.add(ctx, j.ID)
}

// pass skips a job.
func (b *batches) pass(id int64) {
	if b.seen = id; len(b.ids) == 0 {
		b.last = id
	}
}

func (b *batches) add(ctx context.Context, id int64) error {
	b.seen, b.ids = id, append(b.ids, id)
	if len(b.ids) < batchSize {
		return nil
	}
	return b.flush(ctx)
}

// flush changes the jobs of the batch. If the database refuses one, flush changes the others.
func (b *batches) flush(ctx context.Context) error {
	if len(b.ids) == 0 {
		return nil
	}
	changed, err := b.act(ctx, b.ids, b.opts...)
	var refused jobs.RefusedError
	if some := (*jobs.RefusedError)(nil); errors.As(err, &some) {
		refused, err = *some, nil
	}
	if err != nil {
		return err
	}
	b.result.add(bulkResult{Changed: changed, Skipped: len(b.ids) - changed - refused.N, Refused: refused.N, Refusal: firstRefusal(refused)})
	b.last, b.ids = b.seen, nil
	return nil
}

// filter returns the request's filter for the audit log.
func (q bulkRequest) filter() map[string]any {
	filter := q.fields()
	filter["status"] = q.Status
	for name, value := range map[string]*string{"kind": q.Kind, "queue": q.Queue, "user_id": q.UserID, "tag": q.Tag, "q": q.Text} {
		if value != nil {
			filter[name] = *value
		}
	}
	return filter
}

// check returns the maximum number of jobs that the request reads, or an error if a field is invalid.
func (q bulkRequest) check(allowed []jobs.Status) (int, error) {
	if !slices.Contains(allowed, q.Status) {
		return 0, &jobs.InvalidError{Field: "status", Value: fmt.Sprintf("%q", q.Status), Must: fmt.Sprintf("be one of %q", allowed)}
	}
	if q.After < 0 {
		return 0, &jobs.InvalidError{Field: "after", Value: fmt.Sprint(q.After), Must: "be the next of the previous answer"}
	}
	if q.Cause != nil && !slices.Contains(failureCauses(), *q.Cause) {
		return 0, &jobs.InvalidError{Field: "cause", Value: fmt.Sprintf("%.40q", *q.Cause), Must: fmt.Sprintf("be one of %q", failureCauses())}
	}
	limit := maxBulkJobs
	if q.Limit != nil {
		limit = *q.Limit
	}
	if limit < 1 || limit > maxBulkJobs {
		return 0, &jobs.InvalidError{Field: "limit", Value: fmt.Sprint(limit), Must: fmt.Sprintf("be from 1 to %d", maxBulkJobs)}
	}
	return limit, nil
}
