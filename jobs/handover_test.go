package jobs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// resting returns a session whose pump waits for a notification, with two slots.
func resting(t *testing.T) *session {
	return &session{
		store: &splitting{}, values: t.Context(), settled: make(chan struct{}, 1), next: make(chan *attempt), finished: make(chan struct{}),
		running: map[fence]*attempt{}, lanes: map[string]*lane{"q": {slots: 2}}, worker: worker{id: 7}, resting: true,
		handlers: map[string]handler{"k": {run: func(context.Context, *Job) error { return nil }}},
	}
}

func TestSessionsThatTakeAJob(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*session)
		kind   string
		queue  string
		taken  bool
	}{
		"idle":              {taken: true},
		"one slot left":     {change: func(s *session) { s.lanes["q"].active = 1 }, taken: true},
		"no slot left":      {change: func(s *session) { s.lanes["q"].active = 2 }},
		"slots kept":        {change: func(s *session) { s.lanes["q"].active, s.lanes["q"].kept = 1, 1 }},
		"pump at work":      {change: func(s *session) { s.resting = false }},
		"another job":       {change: func(s *session) { s.engage("k", "q") }},
		"outcomes":          {change: func(s *session) { s.outcomes = make([]outcome, 1) }},
		"stopping":          {change: func(s *session) { s.closing = true }},
		"handlers ended":    {change: func(s *session) { s.ending = ErrStopping }},
		"fault":             {change: func(s *session) { s.fatal = errors.New("no") }},
		"declared dead":     {change: func(s *session) { s.worker = worker{} }},
		"declined":          {change: func(s *session) { s.lanes["q"].handNext = time.Now().Add(time.Hour) }},
		"declined long ago": {change: func(s *session) { s.lanes["q"].handNext = time.Now().Add(-time.Hour) }, taken: true},
		"another kind":      {kind: "other"},
		"another queue":     {queue: "other"},
	} {
		s := resting(t)
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
		var d desk
		if d.engage(kind, queue) != nil {
			t.Errorf("%s: there is a handover without a session that takes it", name)
		}
		d.open(s)
		kept := s.lanes["q"].kept
		if h := d.engage(kind, queue); (h != nil) != test.taken {
			t.Errorf("%s: a job is taken: %t", name, h != nil)
		} else if test.taken && (s.lanes["q"].kept != kept+1 || s.idle() || h.worker != 7) {
			t.Errorf("%s: %d slots are kept, idle: %t, by the worker %d", name, s.lanes["q"].kept, s.idle(), h.worker)
		}
		d.close(s)
		left := resting(t)
		d.close(left) // is not there
		d.open(left)
		d.close(left)
		if d.engage("k", "q") != nil {
			t.Errorf("%s: a session that has left takes a job", name)
		}
	}
}

// A queue that declines jobs is asked less and less often, until it takes one.
func TestQueueThatDeclines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := resting(t)
		l := s.lanes["q"]
		for n, wait := range []time.Duration{handFirst, 2 * handFirst, 4 * handFirst, 8 * handFirst, 16 * handFirst, 32 * handFirst, 64 * handFirst, handLast, handLast} {
			h := s.engage("k", "q")
			if h == nil {
				t.Fatalf("no session takes job %d", n)
			}
			if h.end(); s.engaged || l.kept != 0 || !s.idle() || len(s.settled) != 1 {
				t.Fatalf("after job %d: engaged %t, %d slots kept, idle %t, %d signals", n, s.engaged, l.kept, s.idle(), len(s.settled))
			}
			<-s.settled
			time.Sleep(wait - 1)
			if s.engage("k", "q") != nil {
				t.Fatalf("job %d came too soon", n+1)
			}
			time.Sleep(time.Nanosecond)
		}
		h := s.engage("k", "q")
		h.start(s.attempt(db.ClaimJobsRow{ID: 1, Kind: "k", Attempt: 1}, "q", 7, time.Now(), time.Now()))
		if h.end(); l.declined != 0 {
			t.Errorf("it has declined %d jobs in a row", l.declined)
		}
		synctest.Wait() // the handler has returned
		close(s.finished)
		if s.engaged || l.kept != 0 || l.active != 0 || len(s.outcomes) != 1 || s.idle() {
			t.Errorf("engaged %t, %d slots kept, %d active, %d outcomes", s.engaged, l.kept, l.active, len(s.outcomes))
		}
	})
}

// stubborn is a store that inserts no job as claimed: it returns an error, with waits only after the context has ended. It inserts
// others.
type stubborn struct {
	splitting
	err   error
	waits bool
	plain int // inserts of others
}

func (s *stubborn) CanRetry(err error) bool { return errors.Is(err, ErrBusy) }

func (s *stubborn) Insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	if in.Claim == nil {
		s.plain++
		return []int64{2}, nil
	}
	if s.waits {
		<-ctx.Done()
	}
	return nil, s.err
}

// A job whose handover fails is inserted normally. An error that the normal insert would return too is returned without a second
// insert.
func TestHandoverThatFails(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		store stubborn
		limit time.Duration // of the caller
		plain int
	}{
		"its own fault":                      {store: stubborn{err: no}, plain: 1},
		"a queue that declines":              {store: stubborn{err: engine.ErrDeclined}, plain: 1},
		"a trigger that changes the job":     {store: stubborn{err: engine.ErrChanged}, plain: 1},
		"a passing state":                    {store: stubborn{err: ErrBusy}},
		"an outcome that is not known":       {store: stubborn{err: ErrUnknownOutcome}},
		"too late":                           {store: stubborn{err: no, waits: true}, plain: 1},
		"too late, a passing state":          {store: stubborn{err: ErrBusy, waits: true}, plain: 1},
		"too late, a queue that declines":    {store: stubborn{err: engine.ErrDeclined, waits: true}, plain: 1},
		"the caller's end":                   {store: stubborn{err: no, waits: true}, limit: handMost / 2},
		"the caller's end where others wait": {store: stubborn{err: no, waits: true, splitting: splitting{alone: true}}, limit: 2 * handMost},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &test.store
			s := resting(t)
			s.store = store
			c := (&Client{store: store, desk: &desk{}}).with(engine.Scope{Store: store, Identity: store})
			c.desk.open(s)
			ctx, cancel := context.WithTimeout(t.Context(), max(test.limit, time.Nanosecond))
			if test.limit == 0 {
				ctx = t.Context()
			}
			defer cancel()
			receipt, err := c.insertOne(ctx, engine.Insert{Job: db.EnqueueKeylessJobParams{Kind: "k", Queue: "q", Status: string(StatusPending)}})
			if store.plain != test.plain || test.plain > 0 && (err != nil || receipt.ID != 2) || test.plain == 0 && !errors.Is(err, store.err) {
				t.Errorf("%s: it is added once more %d times: %v, %v", name, store.plain, receipt, err)
			}
			if s.engaged || s.lanes["q"].kept != 0 || len(s.open) > 0 || s.lanes["q"].active > 0 {
				t.Errorf("%s: the handover goes on", name)
			}
		})
	}
}

// A stopping or draining session is signalled when a handover ends, also when the handed-over job itself has ended before.
func TestEndOfAHandoverIsTold(t *testing.T) {
	for name, wait := range map[string]func(*session){
		"stop": func(s *session) { s.closing = true }, "drain": func(s *session) { s.drain = true }, "neither": func(*session) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := resting(t)
			h := s.engage("k", "q")
			h.start(s.attempt(db.ClaimJobsRow{ID: 1, Kind: "k", Attempt: 1}, "q", 7, time.Now(), time.Now()))
			synctest.Wait() // the handler has returned
			close(s.finished)
			<-s.settled
			wait(s)
			if h.end(); len(s.settled) == 1 != (name != "neither") {
				t.Errorf("%s: %d signals", name, len(s.settled))
			}
		})
	}
}

// While a slot is kept, nothing else gets it; a job that waits for one neither.
func TestKeptSlot(t *testing.T) {
	l := &lane{slots: 2, most: 10, room: 10}
	l.kept = 1
	if l.free() != 1 || l.wants(0, true, false) != 1 {
		t.Errorf("%d slots are free, and %d jobs are wanted", l.free(), l.wants(0, true, false))
	}
	if l.pace = time.Millisecond; l.wants(time.Second, true, false) != 1 {
		t.Error("jobs are wanted that would wait")
	}
	first, second, handed := &attempt{}, &attempt{}, &attempt{kept: true}
	if !l.add(first) || l.add(second) {
		t.Error("a slot that is kept is given away")
	}
	if l.take(time.Now()) != nil {
		t.Error("a job that waits takes a slot that is kept")
	}
	if !l.add(handed) || l.kept != 0 || l.active != 2 {
		t.Errorf("%d slots are kept, %d active", l.kept, l.active)
	}
}

// A held job that this session does not know is no stray while a turn goes on that may have claimed it.
func TestStrays(t *testing.T) {
	held := map[fence]db.ListHeldJobsRow{{1, 1}: {}}
	s := resting(t)
	h := &housekeeper{session: s}
	find := func(when string, want int) {
		t.Helper()
		if n := len(h.findStrays(held)); n != want {
			t.Errorf("%s: %d strays", when, n)
		}
	}
	first := s.begin()
	find("at the first look", 0)
	find("at the second, in the same turn", 0)
	second := s.begin()
	find("in two turns", 0)
	s.end(second)
	find("after the second", 0)
	third := s.begin()
	find("in the third", 0)
	s.end(first)
	find("after the first, in one that came later", 1)
	s.end(third)
	find("anew", 0)
	find("with no turn", 1)
	find("anew", 0)
	s.running[fence{1, 1}] = &attempt{}
	find("when it is known", 0)
}
