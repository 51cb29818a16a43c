package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// A job whose runner is idle in the same process is handed to it: one transaction inserts the job as claimed, in place of two
// transactions, and its handler begins after the commit.

const (
	// handFirst and handLast bound how long a queue is left alone after it declined a job, for example while it is paused or has
	// others: longer each time in a row. A declined handover costs a transaction that is rolled back.
	handFirst = 10 * time.Millisecond
	handLast  = time.Second

	// handMost is how long a slot is kept for a job whose insert waits, for example for a row lock, on an engine where others
	// can write meanwhile.
	handMost = time.Second
)

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
	kept    bool // the slot still is
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

// claim returns what an insert says of the worker, as of now.
func (h *handover) claim(now time.Time) *engine.Claim {
	s := h.session
	return &engine.Claim{
		WorkerID: h.worker, StartedAt: core.Micros(now), LeaseUntil: core.Micros(now.Add(s.config.Lease)), Kinds: s.kinds,
	}
}

// start dispatches a job that the session's worker has claimed.
func (h *handover) start(claimed *attempt) {
	claimed.kept, h.kept = true, false
	list := []*attempt{claimed}
	h.session.dispatch(list)
	tellTurned(h.session.observer, &turn{claimed: list, took: time.Since(h.began)})
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

// insertOne adds a job without keys in a transaction of its own. It hands the job to an idle runner of this process that takes it.
func (c *Client) insertOne(ctx context.Context, in engine.Insert) (Receipt, error) {
	if err := c.scope().CheckOutside(ctx); err != nil {
		return Receipt{}, err
	}
	if in.Job.Status == string(StatusPending) {
		if h := c.desk.engage(in.Job.Kind, in.Job.Queue); h != nil {
			if id, final, err := c.handOver(ctx, h, in); final {
				return Receipt{ID: id}, err
			}
		}
	}
	ids, err := c.insert(ctx, in)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{ID: ids[0]}, nil
}

// handOver inserts a job as claimed by a handover's worker, and starts it. final is false when the caller must insert the job
// normally, because the handover itself may have caused the failure.
func (c *Client) handOver(ctx context.Context, h *handover, in engine.Insert) (id int64, final bool, err error) {
	defer h.end() // also when a handler of events of the application panics
	limited, cancel := ctx, context.CancelFunc(func() {})
	if !c.store.WritesAlone() { // on SQLite a waiting writer blocks all others, so no timeout is set
		limited, cancel = context.WithTimeout(ctx, handMost)
	}
	defer cancel()
	now := c.store.Now()
	in.Claim = h.claim(now)
	ids, err := c.store.Insert(limited, in)
	if err != nil {
		late := limited.Err() != nil
		return 0, ctx.Err() != nil || errors.Is(err, ErrUnknownOutcome) || !late && c.store.CanRetry(err), err
	}
	job := &in.Job
	h.start(h.session.attempt(db.ClaimJobsRow{
		ID: ids[0], Kind: job.Kind, Payload: job.Payload, Priority: job.Priority, RunAfter: job.RunAfter, Attempt: 1,
		MaxAttempts: job.MaxAttempts, Timeout: job.Timeout, UserID: job.UserID, Tags: job.Tags, Metadata: job.Metadata, CreatedAt: job.Now,
	}, job.Queue, h.worker, now, now.Add(h.session.config.Lease)))
	return ids[0], true, nil
}
