package jobs

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/stats"
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
		spans: stats.Durations{}, settled: make(chan struct{}, 1), next: make(chan *attempt), finished: make(chan struct{}),
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
		kept, err := turn.putOff(t.Context(), snoozed, []*attempt{other}, stats.Changes{})
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
