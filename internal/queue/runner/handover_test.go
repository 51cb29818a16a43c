package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// restingRun returns a run whose loop waits for a notification, with two slots.
func restingRun(t *testing.T) *run {
	r := runOf(t, &endless{}, Config{}, map[string]int{"q": 2}, map[string]*Handler{"k": {Run: func(context.Context, *jobtype.Job) error { return nil }}})
	r.presence.id.Store(7)
	r.ledger.activity = resting
	return r
}

func TestRunsThatTakeAJob(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*run)
		kind   string
		queue  string
		taken  bool
	}{
		"idle":              {taken: true},
		"one slot left":     {change: func(s *run) { s.slots.queues["q"].active = 1 }, taken: true},
		"no slot left":      {change: func(s *run) { s.slots.queues["q"].active = 2 }},
		"slots kept":        {change: func(s *run) { s.slots.queues["q"].active, s.slots.queues["q"].reserved = 1, 1 }},
		"loop at work":      {change: func(s *run) { s.ledger.activity = working }},
		"another job":       {change: func(s *run) { s.receiver.reserveSlot("k", "q") }},
		"outcomes":          {change: func(s *run) { s.ledger.ended = make([]*Attempt, 1) }},
		"stopping":          {change: func(s *run) { s.ledger.life.phase = phaseStopping }},
		"handlers ended":    {change: func(s *run) { s.ledger.cancelHandlers(jobtype.ErrStopping) }},
		"fault":             {change: func(s *run) { s.ledger.life.fatal = errors.New("no") }},
		"declared dead":     {change: func(s *run) { s.presence.id.Store(0) }},
		"declined":          {change: func(s *run) { s.slots.queues["q"].handover.until = time.Now().Add(time.Hour) }},
		"declined long ago": {change: func(s *run) { s.slots.queues["q"].handover.until = time.Now().Add(-time.Hour) }, taken: true},
		"another kind":      {kind: "other"},
		"another queue":     {queue: "other"},
	} {
		s := restingRun(t)
		if test.change != nil {
			test.change(s)
		}
		kind, queue := "k", "q"
		if test.kind != "" {
			kind = test.kind
		}
		if test.queue != "" {
			queue = test.queue
		}
		var d Registry
		if d.reserve(kind, queue) != nil {
			t.Errorf("%s: there is a handover without a run that takes it", name)
		}
		d.addReceiver(s.receiver)
		kept := s.slots.queues["q"].reserved
		if h := d.reserve(kind, queue); (h != nil) != test.taken {
			t.Errorf("%s: a job is taken: %t", name, h != nil)
		} else if test.taken && (s.slots.queues["q"].reserved != kept+1 || s.ledger.isIdle() || h.worker != 7) {
			t.Errorf("%s: %d slots are kept, idle: %t, by the worker %d", name, s.slots.queues["q"].reserved, s.ledger.isIdle(), h.worker)
		}
		d.removeReceiver(s.receiver)
		left := restingRun(t)
		d.removeReceiver(left.receiver) // removing an absent attempt changes nothing
		d.addReceiver(left.receiver)
		d.removeReceiver(left.receiver)
		if d.reserve("k", "q") != nil {
			t.Errorf("%s: a run that has left takes a job", name)
		}
	}
}

// A queue that declines jobs is asked at growing intervals, until it accepts one.
func TestQueueThatDeclines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := restingRun(t)
		l := s.slots.queues["q"]
		for n, wait := range []time.Duration{handoverFirst, 2 * handoverFirst, 4 * handoverFirst, 8 * handoverFirst, 16 * handoverFirst, 32 * handoverFirst, 64 * handoverFirst, handoverLast, handoverLast} {
			h := s.receiver.reserveSlot("k", "q")
			if h == nil {
				t.Fatalf("no run takes job %d", n)
			}
			if h.release(); s.slots.handingOver || l.reserved != 0 || !s.ledger.isIdle() || len(s.ledger.changed) != 1 {
				t.Fatalf("after job %d: engaged %t, %d slots kept, idle %t, %d signals", n, s.slots.handingOver, l.reserved, s.ledger.isIdle(), len(s.ledger.changed))
			}
			<-s.ledger.changed
			time.Sleep(wait - 1)
			if s.receiver.reserveSlot("k", "q") != nil {
				t.Fatalf("job %d came too soon", n+1)
			}
			time.Sleep(time.Nanosecond)
		}
		h := s.receiver.reserveSlot("k", "q")
		claimed := newAttempt(s.env, jobrow.Claimed(db.ClaimJobsRow{ID: 1, Kind: "k", Attempt: 1}, "q", 7, time.Now(), time.Now()))
		h.runJob(claimed)
		if h.release(); l.handover.declined != 0 {
			t.Errorf("it has declined %d jobs in a row", l.handover.declined)
		}
		synctest.Wait() // the handler has returned
		close(s.env.finished)
		if s.slots.handingOver || l.reserved != 0 || l.active != 0 || len(s.ledger.ended) != 1 || s.ledger.isIdle() {
			t.Errorf("engaged %t, %d slots kept, %d active, %d outcomes", s.slots.handingOver, l.reserved, l.active, len(s.ledger.ended))
		}
	})
}

// A stopping or draining run is signalled when a handover ends, also when the handed-over job itself has ended before.
func TestEndOfAHandoverIsTold(t *testing.T) {
	for name, wait := range map[string]func(*run){
		"stop": func(s *run) { s.ledger.life.phase = phaseStopping }, "drain": func(s *run) { s.env.config.Drain = true }, "neither": func(*run) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := restingRun(t)
			h := s.receiver.reserveSlot("k", "q")
			h.runJob(newAttempt(s.env, jobrow.Claimed(db.ClaimJobsRow{ID: 1, Kind: "k", Attempt: 1}, "q", 7, time.Now(), time.Now())))
			synctest.Wait() // the handler has returned
			close(s.env.finished)
			<-s.ledger.changed
			wait(s)
			if h.release(); len(s.ledger.changed) == 1 != (name != "neither") {
				t.Errorf("%s: %d signals", name, len(s.ledger.changed))
			}
		})
	}
}

// While a slot is kept, no other job gets it, not even one that waits for a slot.
func TestKeptSlot(t *testing.T) {
	q := &queueSlots{total: 2, prefetch: prefetch{most: 10, room: 10}}
	q.reserved = 1
	if q.free() != 1 || q.wants(0, true) != 1 {
		t.Errorf("%d slots are free, and %d jobs are wanted", q.free(), q.wants(0, true))
	}
	if q.prefetch.pace = time.Millisecond; q.wants(time.Second, true) != 1 {
		t.Error("jobs are wanted that would wait")
	}
	first, second, handed := &Attempt{}, &Attempt{}, &Attempt{reserved: true}
	if !q.accept(first) || q.accept(second) {
		t.Error("a slot that is kept is given away")
	}
	if q.nextWaiting(time.Now()) != nil {
		t.Error("a job that waits takes a slot that is kept")
	}
	if !q.accept(handed) || q.reserved != 0 || q.active != 2 {
		t.Errorf("%d slots are kept, %d active", q.reserved, q.active)
	}
}

// stubborn is a store that never inserts a job as claimed: it returns an error. With waits it first waits for the end of the
// claim's patience or, if it ignores that, of the context.
type stubborn struct {
	endless
	err            error
	waits, patient bool
}

func (s *stubborn) CanRetry(err error) bool { return errors.Is(err, jobtype.ErrBusy) }

func (s *stubborn) Insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	if in.Claim == nil {
		return nil, errors.New("the job has no claim")
	}
	if !s.waits {
		return nil, s.err
	}
	if s.patient {
		<-ctx.Done()
		return nil, s.err
	}
	select {
	case <-ctx.Done():
		return nil, s.err
	case <-time.After(in.Claim.Patience):
		return nil, errors.Join(engine.ErrDeclined, s.err)
	}
}

// A job whose handover fails is inserted normally. An error that the normal insert would return too is returned without a second
// insert.
func TestHandoverThatFails(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		store stubborn
		limit time.Duration // the caller's time limit
		again bool          // the caller inserts the job normally
	}{
		"its own fault":                      {store: stubborn{err: no}, again: true},
		"a queue that declines":              {store: stubborn{err: engine.ErrDeclined}, again: true},
		"a passing state":                    {store: stubborn{err: jobtype.ErrBusy}},
		"an outcome that is not known":       {store: stubborn{err: jobtype.ErrUnknownOutcome}},
		"too late":                           {store: stubborn{err: no, waits: true}, again: true},
		"too late, a passing state":          {store: stubborn{err: jobtype.ErrBusy, waits: true}, again: true},
		"too late, a queue that declines":    {store: stubborn{err: engine.ErrDeclined, waits: true}, again: true},
		"the caller's end":                   {store: stubborn{err: no, waits: true}, limit: handoverMost / 2},
		"the caller's end where others wait": {store: stubborn{err: no, waits: true, patient: true}, limit: 2 * handoverMost},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &test.store
			r := restingRun(t)
			r.env.store = store
			var g Registry
			g.addReceiver(r.receiver)
			ctx, cancel := context.WithTimeout(t.Context(), max(test.limit, time.Nanosecond))
			if test.limit == 0 {
				ctx = t.Context()
			}
			defer cancel()
			_, final, err := g.HandOver(ctx, engine.Insert{Job: db.EnqueueKeylessJobParams{Kind: "k", Queue: "q"}})
			if final == test.again || !errors.Is(err, store.err) {
				t.Errorf("%s: it is final: %t, %v", name, final, err)
			}
			if r.slots.handingOver || r.slots.queues["q"].reserved != 0 || len(r.ledger.cycles.open) > 0 || r.slots.queues["q"].active > 0 {
				t.Errorf("%s: the handover goes on", name)
			}
		})
	}
}
