package lifecycle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// UniqueMode selects the effect of an enqueue whose unique key is taken.
type UniqueMode int

const (
	UniqueKeep           UniqueMode = iota // the live job stays as it is
	UniqueReplace                          // the live job, unless it runs, gets the payload and the options of the new one
	UniqueAgain                            // as UniqueReplace; beside a running job the new one is added as its successor
	UniqueDebounce                         // as UniqueAgain, and the job runs after a time without a new enqueue
	UniquePeriod                           // the key is taken for a time from the enqueue on, also after the job has ended
	UniqueReplaceRunning                   // as UniqueAgain, and the running job is asked to end
)

// Unique holds the unique key of a job and its mode. The zero value is UniqueKeep.
type Unique struct {
	Mode   UniqueMode
	Quiet  time.Duration // with UniqueDebounce: the time without an enqueue before the run
	AtMost time.Duration // with UniqueDebounce: the longest time from the first enqueue to the run; 0 means no bound
	Period time.Duration // with UniquePeriod: the time for which the key is taken
}

// Row is a job to be inserted.
type Row struct {
	db.EnqueueJobParams
	Unique      Unique
	StartWithin time.Duration // the duration from which StartBy was computed, or 0
	Waiting     bool          // the due job has a limit key and waits at once: OpenLanesOf follows. Otherwise the promotion makes it wait
}

// Inserted is the result of inserting a row.
type Inserted struct {
	ID       int64 // the id of the inserted job, or of the job that has the row's unique key or request id
	Existed  bool
	Replaced bool // that job got the payload and the options of the row
	Dropped  bool // nothing was inserted: the backlog of its limit key or queue is full

	Cancelled int64 // the running job that the row asked to end, or 0
}

// live is the live job with a unique key, or its successor.
type live = db.ListLiveJobsByUniqueKeyRow

// taken handles a row whose unique key is taken. It returns false when the state of the key has changed and the row must be inserted again.
func (r Row) taken(ctx context.Context, q db.Querier) (Inserted, bool, error) {
	found, err := q.ListLiveJobsByUniqueKey(ctx, db.ListLiveJobsByUniqueKeyParams{Kind: r.Kind, UniqueKey: *r.UniqueKey})
	if err != nil || len(found) == 0 {
		return Inserted{}, false, err
	}
	if r.Unique.Mode == UniqueKeep {
		return Inserted{ID: found[0].ID, Existed: true}, true, nil
	}
	if r.Unique.Mode == UniqueReplaceRunning && found[0].Status == string(jobtype.StatusRunning) {
		return r.supersede(ctx, q, found)
	}
	last := found[len(found)-1]
	switch {
	case last.Status != string(jobtype.StatusRunning):
		return r.replace(ctx, q, last)
	case r.Unique.Mode == UniqueReplace:
		return Inserted{ID: last.ID, Existed: true}, true, nil
	default:
		return r.succeed(ctx, q)
	}
}

// supersede asks the running job of the key to end, and inserts the row as its successor, or replaces the one that there is. It returns
// false like taken, also when the job does not run any more.
func (r Row) supersede(ctx context.Context, q db.Querier, found []live) (inserted Inserted, done bool, err error) {
	running := found[0].ID
	asked, err := q.RequestJobCancel(ctx, db.RequestJobCancelParams{Now: r.Now, ID: running})
	if err != nil {
		return Inserted{}, false, err
	}
	if asked == 0 {
		job, err := q.GetJobFence(ctx, running)
		if err != nil && core.NotFound(err) != jobtype.ErrNotFound {
			return Inserted{}, false, err
		}
		if jobtype.Status(job.Status) != jobtype.StatusRunning || job.CancelRequestedAt == 0 {
			return Inserted{}, false, nil
		}
		running = 0 // a caller or an earlier enqueue has asked it
	}
	if len(found) > 1 {
		inserted, done, err = r.replace(ctx, q, found[1])
	} else {
		inserted, done, err = r.succeed(ctx, q)
	}
	inserted.Cancelled = running
	return inserted, done, err
}

// replace gives a job that is not running the payload and the options of the row, and all attempts.
func (r Row) replace(ctx context.Context, q db.Querier, h live) (Inserted, bool, error) {
	at := r.due(h)
	startBy, err := r.startBy(h, at)
	if err != nil {
		return Inserted{}, false, err
	}
	if err := CheckShown(ctx, q, r.Kind, []byte(r.Payload)); err != nil {
		return Inserted{}, false, err
	}
	p := db.ReplaceWaitingJobParamsOf(r.EnqueueJobParams)
	p.ID, p.Attempt, p.Place, p.DueAt, p.StartBy = h.ID, h.Attempt, h.SuccessorAt, at, startBy
	p.Room, p.SetBack = r.room(h, at), r.Now+longestWait.Microseconds()
	if r.StartWithin > 0 {
		p.StartMoves = 1
	}
	n, err := q.ReplaceWaitingJob(ctx, p)
	switch {
	case err == nil && n > 0:
		err = CheckOpen(ctx, q) // last, because the statement takes the lock that a move waits for
	case err == nil && !cipher.Encrypted(r.Payload):
		err = r.checkReplaced(ctx, q, h)
	}
	return Inserted{ID: h.ID, Existed: true, Replaced: true}, n > 0, err
}

// checkReplaced is checkReplaced for a job that has not changed since it was read: otherwise another round handles it.
func (r Row) checkReplaced(ctx context.Context, q db.Querier, h live) error {
	now, err := q.ListLiveJobsByUniqueKey(ctx, db.ListLiveJobsByUniqueKeyParams{Kind: r.Kind, UniqueKey: *r.UniqueKey})
	if err != nil || !slices.Contains(now, h) {
		return err
	}
	return checkReplaced(ctx, q, h.ID)
}

// checkReplaced refuses to replace a job's encrypted payload by a plain one. A job that is gone has none.
func checkReplaced(ctx context.Context, q db.Querier, id int64) error {
	row, err := q.GetJob(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return cipher.CheckReplaced(row.Payload)
}

// longestWait is the longest time for which an enqueue waits for others with its key after it has read its clock. A job with a change
// later than that was changed before a clock was set back.
const longestWait = time.Minute

// room returns the longest further delay of a job that others have replaced while this enqueue waited for them.
func (r Row) room(h live, at *int64) int64 {
	switch most := r.Unique.AtMost; {
	case at == nil:
		return 0
	case most > 0:
		return max(0, h.CreatedAt+most.Microseconds()-*at)
	}
	return min(longestWait.Microseconds(), core.Micros(core.Latest)-*at)
}

// startBy returns the time by which a job must start that keeps its run-after time, or gets the run-after time at.
func (r Row) startBy(h live, at *int64) (*int64, error) {
	due := h.RunAfter
	if at != nil {
		due = *at
	}
	switch {
	case r.StartBy == nil:
		return nil, nil
	case r.StartWithin > 0:
		by := min(max(due, r.Now)+r.StartWithin.Microseconds(), core.Micros(core.Latest))
		return &by, nil
	case *r.StartBy <= due:
		return nil, jobtype.NewInvalidError("start-by time", core.Time(*r.StartBy).Format(time.RFC3339),
			fmt.Sprintf("lie after the run-after time %s of job %d, which has the unique key", core.Time(due).Format(time.RFC3339), h.ID))
	}
	return r.StartBy, nil
}

// due returns the run-after time of a job after one more enqueue; nil when it keeps its time. A job that waits for a further attempt
// waits because of its old payload: the new one is due like a job that is enqueued now.
func (r Row) due(h live) *int64 {
	if r.Unique.Mode != UniqueDebounce && h.Attempt == 0 {
		return nil
	}
	at := r.RunAfter
	if most := r.Unique.AtMost; most > 0 {
		at = min(at, h.CreatedAt+most.Microseconds())
	}
	if at <= r.Now && h.RunAfter <= r.Now {
		return nil // the job keeps its time
	}
	at = max(at, r.Now)
	return &at
}

// succeed inserts the row as the successor of the running job.
func (r Row) succeed(ctx context.Context, q db.Querier) (Inserted, bool, error) {
	p := r.EnqueueJobParams
	at := p.RunAfter
	p.SuccessorAt, p.RunAfter, p.Status = &at, core.Micros(core.Latest), string(jobtype.StatusScheduled)
	id, err := q.EnqueueJob(ctx, p)
	if errors.Is(err, sql.ErrNoRows) { // the running job has ended, or has a successor now
		return Inserted{}, false, nil
	}
	return Inserted{ID: id}, err == nil, err
}

// insertForPeriod inserts a row that takes its key for a period.
func (r Row) insertForPeriod(ctx context.Context, q db.Querier) (Inserted, error) {
	key := *r.UniqueKey
	r.UniqueKey = nil
	if id, err := r.byRequestID(ctx, q); id != 0 || err != nil {
		return Inserted{ID: id, Existed: true}, err
	}
	n, err := q.TakeUniqueKey(ctx, db.TakeUniqueKeyParams{
		Kind: r.Kind, UniqueKey: key, Until: r.Now + r.Unique.Period.Microseconds(), Now: r.Now,
	})
	if err != nil {
		return Inserted{}, err
	}
	if n == 0 {
		row, err := q.GetUniqueKey(ctx, db.GetUniqueKeyParams{Kind: r.Kind, UniqueKey: key})
		return Inserted{ID: row.JobID, Existed: true}, err
	}
	r.Unique = Unique{}
	inserted, err := Insert(ctx, q, r)
	if err != nil {
		return inserted, err
	}
	return inserted, q.SetUniqueKeyJob(ctx, db.SetUniqueKeyJobParams{JobID: inserted.ID, Kind: r.Kind, UniqueKey: key})
}

// HolderOf returns the live job that has a unique key. The error is sql.ErrNoRows when there is none.
func HolderOf(ctx context.Context, q db.Querier, kind, key string) (int64, error) {
	found, err := q.ListLiveJobsByUniqueKey(ctx, db.ListLiveJobsByUniqueKeyParams{Kind: kind, UniqueKey: key})
	if err == nil && len(found) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return 0, err
	}
	return found[0].ID, nil
}

// HolderOrTaker returns the job of HolderOf, or else the job that has taken the key for a period that is not over.
func HolderOrTaker(ctx context.Context, q db.Querier, now int64, kind, key string) (int64, error) {
	id, err := HolderOf(ctx, q, kind, key)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	taken, err := q.GetUniqueKey(ctx, db.GetUniqueKeyParams{Kind: kind, UniqueKey: key})
	if err == nil && taken.Until <= now {
		err = sql.ErrNoRows
	}
	return taken.JobID, err
}
