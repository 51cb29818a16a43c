package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqluice/sqluice/db"
)

// splitting is a store whose transactions end after some time, with jobs without end.
type splitting struct {
	Store
	alone             bool
	recording, claims time.Duration
}

func (s *splitting) WritesAlone() bool   { return s.alone }
func (s *splitting) Now() time.Time      { return time.Now() }
func (s *splitting) Announce(Signal)     {}
func (s *splitting) Observer() *Observer { return nil }

func (s *splitting) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	q := &splittingQuerier{}
	err := fn(ctx, q)
	if q.recorded > 0 {
		time.Sleep(s.recording)
	}
	if q.claimed > 0 {
		time.Sleep(s.claims)
	}
	return err
}

func (s *splitting) WriteOne(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.Write(ctx, fn)
}

type splittingQuerier struct {
	db.Querier
	recorded, claimed int64
}

func (q *splittingQuerier) CompleteJobs(_ context.Context, arg db.CompleteJobsParams) (int64, error) {
	q.recorded = int64(strings.Count(arg.Ids, ",") + 1)
	return q.recorded, nil
}

func (q *splittingQuerier) AddJobChanges(context.Context, db.AddJobChangesParams) error { return nil }

func (q *splittingQuerier) GetNextRunAfter(context.Context) (int64, error) { return 0, nil }

func (q *splittingQuerier) ClaimJobs(_ context.Context, arg db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	rows := make([]db.ClaimJobsRow, arg.N)
	for i := range rows {
		rows[i] = db.ClaimJobsRow{ID: 1000 + int64(i), Kind: "k", Payload: "0", Attempt: 1, MaxAttempts: 2, RunAfter: arg.Now}
	}
	q.claimed = arg.N
	return rows, nil
}

// splitPump is a pump with so many ends to record.
func splitPump(t *testing.T, store *splitting, ends int, handle func()) *pump {
	t.Helper()
	config := Config{Queues: map[string]int{DefaultQueue: 1000}, Lease: time.Minute, MaxCrashes: 3}
	s := &session{
		store: store, config: config, log: slog.New(slog.DiscardHandler), running: map[fence]*attempt{}, lanes: newLanes(config),
		spans: map[span]int64{}, settled: make(chan struct{}, 1), next: make(chan *attempt), finished: make(chan struct{}),
		values:   context.Background(),
		handlers: map[string]handler{"k": {kind: "k", run: func(context.Context, *Job) error { handle(); return nil }}},
	}
	for i := range ends {
		a := &attempt{session: s, job: Job{ID: int64(i + 1), Kind: "k", Queue: DefaultQueue, Attempt: 1, WorkerID: 1}}
		s.running[a.fence()] = a
		s.outcomes = append(s.outcomes, outcome{attempt: a})
	}
	return &pump{session: s, hungry: map[string]bool{}, alarm: newAlarm(store.Now), trouble: newOutage(s.log)}
}

func (p *pump) turnOf(wants int64) *turn {
	return &turn{
		session: p.session, outcomes: p.outcomes, worth: len(p.outcomes) > 0,
		wants: map[string]int64{DefaultQueue: wants}, slots: map[string]int64{DefaultQueue: wants},
	}
}

func TestTurnsThatAreSplit(t *testing.T) {
	for _, test := range []struct {
		alone bool
		crowd int64
		ends  int
		wants int64
		split bool
	}{
		{false, 1, splitLeast, splitLeast, true},
		{false, splitMost, 3 * splitLeast, 2 * splitLeast, true},
		{false, splitMost + 1, splitLeast, splitLeast, false},
		{true, 1, splitLeast, splitLeast, false},
		{false, 1, splitLeast - 1, splitLeast, false},
		{false, 1, splitLeast, splitLeast - 1, false},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			p := splitPump(t, &splitting{alone: test.alone}, test.ends, nil)
			p.crowd.Store(test.crowd)
			turn := p.turnOf(test.wants)
			recording := turn.split()
			if split := recording != nil; split != test.split {
				t.Fatalf("split: %t", split)
			}
			if recording != nil && (len(recording.outcomes) != test.ends || len(recording.wants) > 0 || len(turn.outcomes) > 0 || !turn.worth) {
				t.Errorf("one records %d and claims from %d queues, the other records %d", len(recording.outcomes), len(recording.wants), len(turn.outcomes))
			}
		})
	}
}

// Handlers of claimed jobs begin when what ended before them is recorded, or when that takes too long.
func TestHandlersWaitForTheEndsBesideThem(t *testing.T) {
	for name, test := range map[string]struct{ recording, claims, begin time.Duration }{
		"recorded first":      {10 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond},
		"claimed first":       {30 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond},
		"an end that is held": {5 * time.Second, 10 * time.Millisecond, 10*time.Millisecond + splitWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				var begun []time.Duration
				p := splitPump(t, &splitting{recording: test.recording, claims: test.claims}, splitLeast, func() {
					mu.Lock()
					defer mu.Unlock()
					begun = append(begun, time.Since(began))
				})
				if err := p.do(t.Context(), p.turnOf(splitLeast), false); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(begun) != splitLeast {
					t.Fatalf("%d handlers have begun", len(begun))
				}
				for _, at := range begun {
					if at != test.begin {
						t.Fatalf("a handler began after %s, not %s", at, test.begin)
					}
				}
				close(p.finished)
			})
		})
	}
}

// While the end of a job on its last chance is not recorded, another such job does not begin.
func TestLastChanceWaitsForTheEndOfAnother(t *testing.T) {
	p := splitPump(t, &splitting{}, 1, nil)
	ended := p.outcomes[0].attempt
	ended.over, ended.job.Crashes = true, 2
	for _, recorded := range []bool{true, false} {
		turn := p.turnOf(1)
		if !recorded {
			turn.outcomes = nil
		}
		snoozed := &snoozing{}
		other := &attempt{session: p.session, job: Job{ID: 2, Kind: "k", Queue: DefaultQueue, Attempt: 3, Crashes: 2, Payload: json.RawMessage("0")}}
		kept, err := turn.putOff(t.Context(), snoozed, []*attempt{other}, changes{})
		if err != nil {
			t.Fatal(err)
		}
		if begins := len(kept) == 1; begins != recorded || snoozed.jobs != 1-len(kept) {
			t.Errorf("with the end recorded in the same turn: %t; the other begins: %t, put off: %d", recorded, begins, snoozed.jobs)
		}
	}
}

type snoozing struct {
	db.Querier
	jobs int
}

func (*snoozing) CancelRequestedJob(context.Context, db.CancelRequestedJobParams) (int64, error) {
	return 0, nil
}

func (q *snoozing) SnoozeJob(context.Context, db.SnoozeJobParams) (int64, error) {
	q.jobs++
	return 1, nil
}
