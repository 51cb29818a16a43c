package jobs

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
)

// A job whose runner is in the same process and has nothing to do is handed to it: it is added as one that is claimed already, in
// one transaction in place of two, and its handler begins when that is committed.

// The bounds of how long a queue is let alone after it did not take a job that was to be handed over, because it is paused or has
// others: longer each time in a row. On PostgreSQL that has cost a round trip.
const (
	handFirst = 10 * time.Millisecond
	handLast  = time.Second
)

// desk is where who adds a job finds the sessions of the client's runners.
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

// handover is the way of a job from who adds it to a session. A nil one hands nothing over.
type handover struct {
	session *session
	queue   string
	worker  int64
	turn    uint64 // its number
	began   time.Time
	claimed *attempt // by the last run of the transaction; nil when that has claimed nothing
	vain    bool     // the queue did not take it
}

// engage keeps a slot and begins a turn for a job that is to be handed over: one job at a time, and only while the pump waits for
// news and has a slot that is free. What comes faster than that is claimed by the pump, many in one transaction.
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
	return &handover{session: s, queue: queue, worker: s.worker.id, turn: s.begin(), began: time.Now()}
}

// insert adds a job for the session to run. If it cannot be that, it is not added: see the returned bool.
func (h *handover) insert(ctx context.Context, q db.Querier, p db.EnqueueJobParams) (receipt Receipt, added bool, err error) {
	if h == nil {
		return Receipt{}, false, nil
	}
	s := h.session
	h.claimed = nil
	now := s.store.Now()
	lease := now.Add(s.config.Lease)
	row, err := q.EnqueueClaimedJob(ctx, db.EnqueueClaimedJobParams{
		Kind: p.Kind, Queue: p.Queue, Payload: p.Payload, Priority: p.Priority, RunAfter: p.RunAfter, MaxAttempts: p.MaxAttempts,
		Timeout: p.Timeout, UserID: p.UserID, Tags: p.Tags, Metadata: p.Metadata, Now: p.Now,
		WorkerID: h.worker, StartedAt: toMicros(now), LeaseUntil: toMicros(lease), Kinds: s.kinds,
	})
	if h.vain = errors.Is(err, sql.ErrNoRows); h.vain {
		return Receipt{}, false, nil
	}
	if err != nil {
		return Receipt{}, false, err
	}
	if row.Status == string(StatusRunning) && row.Kind == p.Kind { // else, if it runs, it is given back like all that nobody knows of
		h.claimed = s.attempt(db.ClaimJobsRow{
			ID: row.ID, Kind: row.Kind, Payload: row.Payload, Priority: row.Priority, RunAfter: row.RunAfter, Attempt: row.Attempt,
			Uncounted: row.Uncounted, MaxAttempts: row.MaxAttempts, Crashes: row.Crashes, Timeout: row.Timeout, UniqueKey: row.UniqueKey,
			RequestID: row.RequestID, UserID: row.UserID, Tags: row.Tags, Metadata: row.Metadata, CreatedAt: row.CreatedAt,
		}, p.Queue, h.worker, now, lease)
	}
	return Receipt{ID: row.ID}, true, nil
}

// end has the handler begin, if the transaction was committed and has claimed the job, and reports whether that is so.
func (h *handover) end(committed bool) (taken bool) {
	if h == nil {
		return false
	}
	s := h.session
	if taken = committed && h.claimed != nil; taken {
		h.claimed.kept = true
		claimed := []*attempt{h.claimed}
		s.observer.turned(&turn{claimed: claimed, took: time.Since(h.began)})
		s.dispatch(claimed)
	}
	s.mu.Lock()
	l := s.lanes[h.queue]
	if !taken {
		l.kept--
	}
	if h.vain {
		l.handNext = time.Now().Add(min(handFirst<<min(l.declined, 10), handLast))
		l.declined++
	} else if taken {
		l.declined = 0
	}
	s.engaged = false
	s.end(h.turn)
	tell := !taken || s.closing || s.drain // the pump may have gone without the slot, or wait for this to end
	s.mu.Unlock()
	if tell {
		s.signal()
	}
	return taken
}

// writeJob adds a job without keys in a transaction of its own, and hands it to a runner that has nothing to do, or else tells all
// who may have one.
func (c *Client) writeJob(ctx context.Context, job db.EnqueueJobParams, noted func(context.Context, db.Querier, int64) error) (Receipt, error) {
	var receipt Receipt
	write := func(h *handover) error {
		return c.store.WriteTogether(ctx, func(ctx context.Context, q db.Querier) (err error) {
			var added bool
			if receipt, added, err = h.insert(ctx, q, job); !added && err == nil {
				receipt, err = insert(ctx, q, job)
			}
			if err != nil {
				return err
			}
			return noted(ctx, q, receipt.ID)
		})
	}
	var h *handover
	if job.Status == string(StatusPending) {
		h = c.desk.engage(job.Kind, job.Queue)
	}
	err := write(h)
	taken := h.end(err == nil)
	if err != nil && h != nil && ctx.Err() == nil && !errors.Is(err, ErrUnknownOutcome) && !c.store.CanRetry(err) {
		err = write(nil) // it may be for the claim, as of a trigger that refuses jobs which run at once
	}
	if err == nil && !taken {
		c.store.Announce(WorkAdded)
	}
	return receipt, err
}
