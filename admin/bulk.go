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

// bulkTimeout bounds how long one request of a bulk change takes. Its answer says how far it came.
const bulkTimeout = requestTimeout / 2

// maxBulkJobs bounds how many jobs one request looks at.
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

// failedLike selects jobs by how they failed, as the failed-job report has it. nil selects all.
type failedLike struct {
	Error   *string     `json:"error"`   // the complete text
	Pattern *string     `json:"pattern"` // see [inspect.ErrorPattern]
	Cause   *jobs.Cause `json:"cause"`   // "" selects jobs without a failed attempt
}

// fields returns what is set, by the names of a request's fields.
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

// selects reports whether a job failed so.
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

// bulkResult says how far a bulk change came.
type bulkResult struct {
	Changed int    `json:"changed"`
	Skipped int    `json:"skipped"`           // the status no longer allows it, or another job holds the unique key
	Refused int    `json:"refused"`           // jobs that the database refused to change
	Refusal string `json:"refusal,omitempty"` // the first of them, and why
	Next    int64  `json:"next,omitempty"`    // the after of the next request, if there may be more jobs
}

// add adds the counts of a later part of the same change.
func (b *bulkResult) add(part bulkResult) {
	b.Changed += part.Changed
	b.Skipped += part.Skipped
	b.Refused += part.Refused
	b.Refusal = cmp.Or(b.Refusal, part.Refusal)
}

// firstRefusal returns the first job that the database refused, and why; "" for none.
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
	return []jobs.Status{jobs.StatusScheduled, jobs.StatusPending, jobs.StatusRunning}
}

func deletable() []jobs.Status {
	return []jobs.Status{jobs.StatusScheduled, jobs.StatusPending, jobs.StatusDone, jobs.StatusFailed, jobs.StatusCancelled}
}

// changeMany is a method of an inspector: see [inspect.Inspector.RetryMany].
type changeMany = func(ctx context.Context, ids []int64, opts ...jobs.ChangeOption) (int, error)

// bulk changes the jobs that a filter selects, newest first, a batch in each transaction.
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
		// The answer reports what became of the jobs so far; the next request meets the error again.
		h.logError(r, "a bulk change stopped early", err)
		b.result.Next, err = b.last, nil
	}
	return answer{body: b.result}, err
}

// selected returns the filter for the jobs to look at. Of those, only jobs that failed as the request says are changed.
func (q bulkRequest) selected() (inspect.Filter, error) {
	filter := inspect.Filter{Status: q.Status, After: q.After}
	for _, f := range []struct {
		name string
		from *string
		to   *string
	}{{"kind", q.Kind, &filter.Kind}, {"queue", q.Queue, &filter.Queue}, {"user_id", q.UserID, &filter.UserID}, {"tag", q.Tag, &filter.Tag}, {"q", q.Text, &filter.Text}} {
		switch {
		case f.from == nil:
		case *f.from == "": // it would select all jobs
			return filter, &jobs.InvalidError{Field: f.name, Must: "not be empty; leave it out for all"}
		default:
			*f.to = *f.from
		}
	}
	return filter, nil
}

// batchSize is how many jobs are changed in one transaction.
const batchSize = 100

// errEnough means that one request of a bulk change has taken long enough.
var errEnough = errors.New("enough for one request")

// batches changes jobs in batches.
type batches struct {
	act    changeMany
	opts   []jobs.ChangeOption
	only   func(context.Context, jobs.Job) (bool, error) // reports whether the change selects a job
	now    func() time.Time
	until  time.Time // when the request has taken long enough
	looked bool      // at a job
	ids    []int64   // of the current batch
	seen   int64     // the last job that was looked at
	last   int64     // the position to continue after: all selected jobs up to it are changed, skipped or refused
	result bulkResult
}

// visit changes a job, or skips it. The error is errEnough when the request has taken long enough.
func (b *batches) visit(ctx context.Context, j jobs.Job) error {
	// Each request looks at one job at least, however long finding it took: otherwise repeating it would never advance.
	if b.looked && b.now().After(b.until) {
		return errEnough
	}
	b.looked = true
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

// flush changes the jobs of the batch. It goes on after jobs that the database refuses: all others of the batch are changed.
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

// check returns how many jobs the request looks at, or what is wrong with it.
func (q bulkRequest) check(allowed []jobs.Status) (int, error) {
	if !slices.Contains(allowed, q.Status) {
		return 0, &jobs.InvalidError{Field: "status", Value: fmt.Sprintf("%q", q.Status), Must: fmt.Sprintf("be one of %q", allowed)}
	}
	if q.After < 0 {
		return 0, &jobs.InvalidError{Field: "after", Value: fmt.Sprint(q.After), Must: "be the next of the answer before"}
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
