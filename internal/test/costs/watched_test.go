package costs

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	port "github.com/sqluice/sqluice/internal/queue/engine"
)

// byTheClock are the statements that a runner's maintenance runs by the clock, whatever jobs there are. How many fall
// into a measured time depends on its length. Transactions with only such statements are not counted.
var byTheClock = []string{
	"ListLiveWorkers", "ListHeldJobs", "CountHousework", "DeleteEndedWorkers", "DeleteOldAudit", "DeleteOldRefusals",
	"TakeJobChanges", "ListHistoryNames", "AddJobCounts", "AddJobHistory", "GetOldestJobHistory", "DeleteJobHistory", "DeleteEmptyJobCounts",
	"GetScheduleWork", "ListLateLanes", "ListParkedLanes", "ListWaitingLanes", "ListWorkerDeclarations", "ListRetentions", "ListKindSettings", "ListLimitedKinds", "ListBounded", "DeleteOldDeclarations",
	"CountAhead", "DeletePastUniqueKeys", "DeleteIdleLimitKeys",
}

func TestStatementsByTheClockExist(t *testing.T) {
	querier := reflect.TypeFor[db.Querier]()
	for _, name := range byTheClock {
		if _, ok := querier.MethodByName(name); !ok {
			t.Errorf("there is no statement %s: keep the list true", name)
		}
	}
}

// watched is a store that records the calls of a runner.
type watched struct {
	port.Store
	before func(statement string) // called before each statement of a transaction; may be nil
	after  func(asked)            // called after each transaction; may be nil
	trips  func() int64           // round trips to the server so far

	hears          bool // runners receive notifications
	withoutHistory bool // durations of jobs are not written: the amount depends on the durations

	mu    sync.Mutex
	asked []asked
}

// asked is a transaction, or a read outside of one.
type asked struct {
	write      bool
	statements []string
	trips      int64
}

func (a asked) has(statements ...string) bool {
	for _, s := range statements {
		if !slices.Contains(a.statements, s) {
			return false
		}
	}
	return true
}

func (s *watched) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.watch(ctx, true, s.Store.Write, fn)
}

func (s *watched) Insert(ctx context.Context, in port.Insert) (ids []int64, err error) {
	a := asked{write: true}
	tell := in.Ran
	in.Ran = func(name string, took time.Duration, err error) {
		a.statements = append(a.statements, name)
		if tell != nil {
			tell(name, took, err)
		}
	}
	err = s.record(&a, func() (err error) {
		ids, err = s.Store.Insert(ctx, in)
		return err
	})
	return ids, err
}

func (s *watched) InsertWith(ctx context.Context, queue string, fn port.InsertFunc) error {
	var inserted bool
	return s.watch(ctx, true, func(ctx context.Context, fn work) error {
		return s.Store.InsertWith(ctx, queue, func(ctx context.Context, q db.Querier) (bool, error) {
			err := fn(ctx, q)
			return inserted, err
		})
	}, func(ctx context.Context, q db.Querier) (err error) {
		inserted, err = fn(ctx, q)
		return err
	})
}

func (s *watched) Exchange(ctx context.Context, p port.Plan) (out port.Outcome, err error) {
	a := asked{write: true}
	tell, before, after := p.Ran, p.Before, p.After
	p.Ran = func(name string, took time.Duration, err error) {
		a.statements = append(a.statements, name)
		if tell != nil {
			tell(name, took, err)
		}
	}
	if before != nil {
		p.Before = func(ctx context.Context, q db.Querier, now time.Time) error {
			a.statements = a.statements[:0] // the store may run it again
			if s.before != nil && len(p.Done) > 0 {
				s.before("CompleteJobs")
			}
			return before(ctx, q, now)
		}
	}
	if after != nil && s.withoutHistory {
		p.After = func(ctx context.Context, q db.Querier, out *port.Outcome) error {
			return after(ctx, withoutHistory{q}, out)
		}
	}
	err = s.record(&a, func() (err error) {
		out, err = s.Store.Exchange(ctx, p)
		return err
	})
	return out, err
}

func (s *watched) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.watch(ctx, false, s.Store.Read, fn)
}

func (s *watched) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.watch(ctx, false, s.Store.Inspect, fn)
}

type work = func(context.Context, db.Querier) error

func (s *watched) watch(ctx context.Context, write bool, do func(context.Context, work) error, fn work) error {
	a := asked{write: write}
	fn = s.statements(&a, fn)
	return s.record(&a, func() error {
		return do(ctx, func(ctx context.Context, q db.Querier) error {
			a.statements = a.statements[:0] // the store may run it again
			return fn(ctx, q)
		})
	})
}

// statements returns fn with its statements noted in a.
func (s *watched) statements(a *asked, fn work) work {
	note := func(name string) {
		if a.write && s.before != nil {
			s.before(name)
		}
		a.statements = append(a.statements, name)
	}
	return func(ctx context.Context, q db.Querier) error {
		if s.withoutHistory {
			q = withoutHistory{q}
		}
		return fn(ctx, counted{q, note})
	}
}

// record makes a call, whose statements are in a when it returns.
func (s *watched) record(a *asked, call func() error) error {
	before := s.trips()
	err := call()
	a.trips = s.trips() - before
	if a.write && err == nil && s.after != nil {
		s.after(*a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, *a)
	return err
}

// withoutHistory are the statements of a store that keeps no history.
type withoutHistory struct{ db.Querier }

func (withoutHistory) AddJobHistory(context.Context, string) error { return nil }

// Listen returns a silent channel unless the runners should receive notifications: wake-ups come at random times, and a
// drain of jobs that are all there already needs none.
func (s *watched) Listen(signals core.Signal, queues []string) (<-chan struct{}, func()) {
	if s.hears {
		return s.Store.Listen(signals, queues)
	}
	return make(chan struct{}), func() {}
}

// take returns the calls since the last take, without those that run by the clock.
func (s *watched) take() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(s.asked, func(a asked) bool {
		return !slices.ContainsFunc(a.statements, func(name string) bool { return !slices.Contains(byTheClock, name) })
	})
	s.asked = nil
	return list
}
