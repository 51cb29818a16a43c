package waits

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// waitedStore is a store whose jobs end when a test says so. It records the times of looks.
type waitedStore struct {
	announces bool
	takes     time.Duration // the duration of a look
	begun     time.Time
	signal    chan struct{}

	mu    sync.Mutex
	looks []time.Duration // the times of looks since begun
	ended []int64
	fault error // the error of looks
}

func newWaitedStore(announces bool) *waitedStore {
	return &waitedStore{announces: announces, begun: time.Now(), signal: make(chan struct{}, 1)}
}

func (s *waitedStore) AnnouncesEnds() bool { return s.announces }

func (s *waitedStore) Listen(core.Signal, []string) (<-chan struct{}, func()) {
	return s.signal, func() {}
}

func (s *waitedStore) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	time.Sleep(s.takes)
	return fn(ctx, waitedQuerier{store: s})
}

// end ends a job without a signal.
func (s *waitedStore) end(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, id)
}

// since returns the times of the looks since the last call, in milliseconds after the beginning of the store.
func (s *waitedStore) since() []int64 {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []int64
	for _, at := range s.looks {
		list = append(list, at.Milliseconds())
	}
	s.looks = nil
	return list
}

type waitedQuerier struct {
	db.Querier
	store *waitedStore
}

func (q waitedQuerier) ListEndedAmong(context.Context, string) ([]int64, error) {
	q.store.mu.Lock()
	defer q.store.mu.Unlock()
	q.store.looks = append(q.store.looks, time.Since(q.store.begun))
	return q.store.ended, q.store.fault
}

// woken reports whether a waiter was woken.
func woken(wake <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-wake:
		return true
	default:
		return false
	}
}

func wantLooks(t *testing.T, s *waitedStore, want ...int64) {
	t.Helper()
	if got := s.since(); !slices.Equal(got, want) {
		t.Errorf("the list looked after %v ms, not %v", got, want)
	}
}

// The list looks soon after a caller has joined and after a job has ended, and then at growing intervals. Where signals announce
// all ends it finally looks once a second.
func TestWaitListLooksLessAndLessOften(t *testing.T) {
	for name, c := range map[string]struct {
		announces bool
		looks     []int64 // within a second and a half
	}{
		"ends are announced":     {true, []int64{2, 6, 14, 30, 62, 126, 254, 510, 1022}},
		"ends are not announced": {false, []int64{2, 6, 14, 30, 62, 126, 226, 326, 426, 526, 626, 726, 826, 926, 1026, 1126, 1226, 1326, 1426}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l := newWaitedStore(c.announces), &List{}
				first, leave := l.Join(s, 1)
				time.Sleep(1500 * time.Millisecond)
				wantLooks(t, s, c.looks...)

				second, leaveSecond := l.Join(s, 2)
				time.Sleep(20 * time.Millisecond)
				wantLooks(t, s, 1502, 1506, 1514)
				s.end(1)
				time.Sleep(20 * time.Millisecond)
				wantLooks(t, s, 1530, 1532, 1534, 1536, 1538, 1540) // the first waiter has not left yet
				if !woken(first) || woken(second) {
					t.Error("the waiter for the job that ended was not woken alone")
				}
				leave()
				leaveSecond()
				time.Sleep(time.Minute)
				wantLooks(t, s)
			})
		})
	}
}

// A signal causes a look at once.
func TestWaitListLooksAfterASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newWaitedStore(true), &List{}
		wake, leave := l.Join(s, 1)
		defer leave()
		time.Sleep(600 * time.Millisecond)
		s.since()
		s.end(1)
		s.signal <- struct{}{}
		if wantLooks(t, s, 600); !woken(wake) {
			t.Error("the waiter was not woken")
		}
	})
}

// Callers that join one after another neither postpone the looks nor make them more frequent.
func TestWaitListLooksWhileCallersJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newWaitedStore(false), &List{}
		for id := range int64(1000) {
			_, leave := l.Join(s, id)
			defer leave()
			time.Sleep(100 * time.Microsecond)
		}
		if n := len(s.since()); n < 40 || n > 50 {
			t.Errorf("%d looks in 100 ms, in which callers joined all the time", n)
		}
	})
}

// Looks take at most a tenth of one processor, whatever the number of signals. After a very long look the next one comes
// after a second.
func TestWaitListRests(t *testing.T) {
	for _, c := range []struct{ takes, every time.Duration }{
		{time.Millisecond, 10 * time.Millisecond},
		{50 * time.Millisecond, 500 * time.Millisecond},
		{time.Minute, time.Minute + time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, l := newWaitedStore(false), &List{}
			s.takes = c.takes
			_, leave := l.Join(s, 1)
			for end := time.Now().Add(20 * c.every); time.Now().Before(end); time.Sleep(c.takes) {
				signal(s.signal)
			}
			if n := len(s.since()); n < 15 || n > 20 {
				t.Errorf("%d looks that took %s each in 20 times %s", n, c.takes, c.every)
			}
			leave()
			time.Sleep(c.every)
		})
	}
}

// A server that is away wakes no waiter, which would meet the same error; another error wakes all, and Wait returns it. In
// both cases the next look comes after a second.
func TestWaitListMeetsErrors(t *testing.T) {
	for err, wakes := range map[error]bool{jobtype.ErrUnavailable: false, errors.New("broken"): true} {
		synctest.Test(t, func(t *testing.T) {
			s, l := newWaitedStore(false), &List{}
			s.fault = err
			wake, leave := l.Join(s, 1)
			defer leave()
			time.Sleep(2500 * time.Millisecond)
			wantLooks(t, s, 2, 1002, 2002)
			if woken(wake) != wakes {
				t.Errorf("the waiter was woken: %t after %v", !wakes, err)
			}
		})
	}
}
