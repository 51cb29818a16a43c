package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

// workStore is a store that only knows the due work.
type workStore struct {
	engine.Store
	db.Querier
	now   time.Time
	work  db.GetScheduleWorkRow
	looks int
}

func (s *workStore) Now() time.Time { return s.now }

func (s *workStore) Read(ctx context.Context, fn engine.Func) error { return fn(ctx, s) }

func (s *workStore) GetScheduleWork(context.Context, string) (db.GetScheduleWorkRow, error) {
	s.looks++
	return s.work, nil
}

// toy is a duty whose work is the end of a pause.
type toy struct {
	ran  func() error
	runs int
}

func (*toy) name() string                                    { return "toy" }
func (*toy) due(work db.GetScheduleWorkRow, now int64) bool  { return work.PauseEnd <= now }
func (*toy) next(work db.GetScheduleWorkRow) []int64         { return []int64{work.PauseEnd, 0, -1} }
func (t *toy) run(_ context.Context, _ schedule.Watch) error { t.runs++; return t.ran() }

// patient is a toy whose failures leave the others their turn.
type patient struct{ duty }

func (patient) settle(error, time.Time) error { return nil }

// One look serves all duties: each runs when its time has come, and then the work is read again.
func TestDuties(t *testing.T) {
	fault := errors.New("a fault")
	for name, c := range map[string]struct {
		ends   int64 // the pause's end before the first duty runs
		first  func(s *workStore) error
		wrap   func(duty) duty
		runs   []int
		looks  int
		next   int64
		failed error
	}{
		"nothing is due":           {ends: 500, runs: []int{0, 0}, looks: 1, next: 500},
		"both are due":             {ends: 50, runs: []int{1, 1}, looks: 3},
		"the first does it all":    {ends: 50, first: func(s *workStore) error { s.work.PauseEnd = 200; return nil }, runs: []int{1, 0}, looks: 2, next: 200},
		"more falls due meanwhile": {ends: 50, first: func(s *workStore) error { s.work.PauseEnd, s.now = 200, time.UnixMicro(300); return nil }, runs: []int{1, 0}, looks: 2, next: 200},
		"a failure ends the look":  {ends: 50, first: func(*workStore) error { return fault }, runs: []int{1, 0}, looks: 1, failed: fault},
		"a failure is tolerated":   {ends: 50, first: func(*workStore) error { return fault }, wrap: func(d duty) duty { return patient{d} }, runs: []int{1, 1}, looks: 3},
	} {
		t.Run(name, func(t *testing.T) {
			store := &workStore{now: time.UnixMicro(100), work: db.GetScheduleWorkRow{PauseEnd: c.ends}}
			one := &toy{ran: func() error {
				if c.first == nil {
					return nil
				}
				return c.first(store)
			}}
			two := &toy{ran: func() error { return nil }}
			u := &Upkeep{Store: store, Log: slog.New(slog.DiscardHandler)}
			u.begin()
			u.mender = &clockMender{store: store, looked: time.Now(), clock: store.now, refused: outage.New(u.Log)}
			if u.duties = []duty{one, two}; c.wrap != nil {
				u.duties[0] = c.wrap(one)
			}
			next, err := u.look(t.Context(), schedule.Watch{Now: store.now})
			if !errors.Is(err, c.failed) {
				t.Errorf("the error is %v, not %v", err, c.failed)
			}
			if runs := []int{one.runs, two.runs}; !slices.Equal(runs, c.runs) || store.looks != c.looks {
				t.Errorf("the duties ran %v times and read the work %d times, not %v and %d", runs, store.looks, c.runs, c.looks)
			}
			if have := next; c.next == 0 && !have.IsZero() || c.next != 0 && have.UnixMicro() != c.next {
				t.Errorf("the next work is at %v, not %d", have, c.next)
			}
		})
	}
}

// The failures to release successors have ended when no key is free, also when this process has released none.
func TestFailedReleasesEnd(t *testing.T) {
	r := &successorReleaser{failed: outage.New(slog.New(slog.DiscardHandler))}
	for free, failures := range []int{0, 1} {
		if err := r.settle(errors.New("a fault"), time.Now()); err != nil {
			t.Fatal(err)
		}
		if due := r.due(db.GetScheduleWorkRow{Free: int64(free)}, 0); due != (free > 0) || r.failed.Failures() != failures {
			t.Errorf("with %d free keys: due is %t after %d failures", free, due, r.failed.Failures())
		}
	}
}
