package jobs

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// A job whose runner is idle in the same process is handed to it: one transaction inserts the job as claimed, in place of two
// transactions, and its handler begins after the commit.

const (
	// handFirst and handLast bound how long a queue is left alone after it declined a job, for example while it is paused or has
	// others: longer each time in a row. A declined handover costs a round trip on PostgreSQL, or a transaction.
	handFirst = 10 * time.Millisecond
	handLast  = time.Second

	// handMost is how long a slot is kept for a job whose insert waits, for example for a row lock, on an engine where others
	// can write meanwhile.
	handMost = time.Second
)

// errChanged ends a transaction in which a trigger of the application changed the job that was being handed over: another queue,
// a later time, another status. The job is then inserted normally.
var errChanged = errors.New("a trigger has changed the job")

// desk lists the sessions of this client's running runners.
type desk struct {
	mu       sync.Mutex
	sessions []*session // never changed, but replaced
}

func (d *desk) open(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions = append(slices.Clone(d.sessions), s)
}

func (d *desk) close(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions = slices.DeleteFunc(slices.Clone(d.sessions), func(other *session) bool { return other == s })
}

// engage returns a handover to a session that takes the job; nil when there is none.
func (d *desk) engage(kind, queue string) *handover {
	d.mu.Lock()
	sessions := d.sessions
	d.mu.Unlock()
	for _, s := range sessions {
		if h := s.engage(kind, queue); h != nil {
			return h
		}
	}
	return nil
}

// handover inserts one job as claimed by a session of this process, which then runs it.
type handover struct {
	session *session
	queue   string
	worker  int64
	turn    uint64 // its number
	began   time.Time
	claimed *attempt // by the last run of the transaction; nil when that has claimed nothing
	vain    bool     // the queue has declined the job in it
	kept    bool     // the slot still is
}

// engage reserves a slot and begins a turn for one handover. It returns nil unless the pump waits for a notification, the queue
// has a free slot and no other handover goes on: jobs that arrive faster are claimed by the pump, many in one transaction.
func (s *session) engage(kind, queue string) *handover {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[queue]
	if l == nil || l.free() == 0 || s.handlers[kind].run == nil || !s.resting || s.engaged || len(s.outcomes) > 0 ||
		s.closing || s.ending != nil || s.fatal != nil || s.worker.id == 0 || time.Now().Before(l.handNext) {
		return nil
	}
	s.engaged = true
	l.kept++
	return &handover{session: s, queue: queue, worker: s.worker.id, turn: s.begin(), began: time.Now(), kept: true}
}

// insert inserts a job as claimed by the session; added is false when the queue declines it, and for a nil handover.
func (h *handover) insert(ctx context.Context, q db.Querier, p db.EnqueueJobParams) (receipt Receipt, added bool, err error) {
	if h == nil {
		return Receipt{}, false, nil
	}
	s := h.session
	h.claimed = nil
	now := s.store.Now()
	lease := now.Add(s.config.Lease)
	arg := db.EnqueueClaimedJobParams{
		Kind: p.Kind, Queue: p.Queue, Payload: p.Payload, Priority: p.Priority, RunAfter: p.RunAfter, MaxAttempts: p.MaxAttempts,
		Timeout: p.Timeout, UserID: p.UserID, Tags: p.Tags, Metadata: p.Metadata, Now: p.Now,
		WorkerID: h.worker, StartedAt: core.Micros(now), LeaseUntil: core.Micros(lease), Kinds: s.kinds,
	}
	row, err := q.EnqueueClaimedJob(ctx, arg)
	if h.vain = errors.Is(err, sql.ErrNoRows); h.vain {
		return Receipt{}, false, nil
	}
	if err == nil && !asGiven(row, arg) {
		err = errChanged
	}
	if err != nil {
		return Receipt{}, false, err
	}
	h.claimed = s.attempt(db.ClaimJobsRow{
		ID: row.ID, Kind: row.Kind, Payload: row.Payload, Priority: row.Priority, RunAfter: row.RunAfter, Attempt: row.Attempt,
		MaxAttempts: row.MaxAttempts, Timeout: row.Timeout, UniqueKey: row.UniqueKey, RequestID: row.RequestID, UserID: row.UserID, Tags: row.Tags, Metadata: row.Metadata, CreatedAt: row.CreatedAt,
	}, p.Queue, h.worker, now, lease)
	return Receipt{ID: row.ID}, true, nil
}

// asGiven reports whether the inserted row has the values that the enqueue gave: whether no trigger changed it.
func asGiven(row db.EnqueueClaimedJobRow, arg db.EnqueueClaimedJobParams) bool {
	return row.Kind == arg.Kind && row.Queue == arg.Queue && row.Payload == arg.Payload && row.Status == string(StatusRunning) &&
		row.Priority == arg.Priority && row.RunAfter == arg.RunAfter && row.MaxAttempts == arg.MaxAttempts && row.Timeout == arg.Timeout &&
		core.Deref(row.UserID) == core.Deref(arg.UserID) && core.Deref(row.Tags) == core.Deref(arg.Tags) && core.Deref(row.Metadata) == core.Deref(arg.Metadata) &&
		row.UniqueKey == nil && row.RequestID == nil && row.CreatedAt == arg.Now && row.Attempt == 1 && row.WorkerID != nil && *row.WorkerID == arg.WorkerID
}

// start dispatches the job that the committed transaction claimed. It returns false when the transaction claimed none.
func (h *handover) start() (taken bool) {
	if h.claimed == nil {
		return false
	}
	h.claimed.kept, h.kept = true, false
	claimed := []*attempt{h.claimed}
	h.session.dispatch(claimed)
	tellTurned(h.session.observer, &turn{claimed: claimed, took: time.Since(h.began)})
	return true
}

// end gives the slot back, if it is still kept.
func (h *handover) end() {
	s := h.session
	s.mu.Lock()
	l := s.lanes[h.queue]
	if h.kept {
		l.kept--
		l.handNext = time.Now().Add(min(handFirst<<min(l.declined, 10), handLast))
		l.declined++
	} else {
		l.declined = 0
	}
	s.engaged = false
	s.end(h.turn)
	tell := h.kept || s.closing || s.drain // the pump may have gone without the slot, or wait for this to end
	s.mu.Unlock()
	if tell {
		s.signal()
	}
}

// writeJob inserts a job without keys in a separate transaction. It hands the job to an idle runner of this process, or else
// announces new work.
func (c *Client) writeJob(ctx context.Context, job db.EnqueueJobParams, noted func(context.Context, db.Querier, int64) error) (Receipt, error) {
	if err := c.scope().CheckOutside(ctx); err != nil {
		return Receipt{}, err
	}
	var receipt Receipt
	add := func(h *handover) func(context.Context, db.Querier) error {
		return func(ctx context.Context, q db.Querier) (err error) {
			var added bool
			if receipt, added, err = h.insert(ctx, q, job); !added && err == nil {
				receipt, err = insert(ctx, q, job)
			}
			if err != nil {
				return err
			}
			return noted(ctx, q, receipt.ID)
		}
	}
	if job.Status == string(StatusPending) {
		if h := c.desk.engage(job.Kind, job.Queue); h != nil {
			if final, err := c.handOver(ctx, h, add(h)); final {
				return receipt, err
			}
		}
	}
	err := c.store.WriteTogether(ctx, add(nil))
	if err == nil {
		c.store.Announce(WorkAdded)
	}
	return receipt, err
}

// handOver inserts a job by a handover that add belongs to. final is false when the caller must insert the job normally: the
// handover itself may have caused the failure.
func (c *Client) handOver(ctx context.Context, h *handover, add func(context.Context, db.Querier) error) (final bool, err error) {
	defer h.end() // also when a handler of events of the application panics
	limited, cancel := ctx, context.CancelFunc(func() {})
	if !c.store.WritesAlone() { // on SQLite a waiting writer blocks all others, so no timeout is set
		limited, cancel = context.WithTimeout(ctx, handMost)
	}
	defer cancel()
	err = c.store.Write(limited, add) // alone: its limit and its faults are not for others
	late := limited.Err() != nil
	if err == nil {
		if !h.start() {
			c.store.Announce(WorkAdded)
		}
		return true, nil
	}
	return h.vain && !late || ctx.Err() != nil || errors.Is(err, ErrUnknownOutcome) || !late && c.store.CanRetry(err), err
}
