package model

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/jobs"
)

// commitBetween lets another transaction commit before the second lock of ready lanes.
type commitBetween struct {
	db.Querier
	commit func()
	locks  int
}

func (q *commitBetween) LockReadyLanes(ctx context.Context, arg db.LockReadyLanesParams) ([]db.LockReadyLanesRow, error) {
	if q.locks++; q.locks == 2 {
		q.commit()
	}
	return q.Querier.LockReadyLanes(ctx, arg)
}

// A claim that locks ready lanes twice, as it has found a kind without room, does not take the limits of keys as it read them before: another
// claim may have started jobs of these keys meanwhile.
func TestLimitsAreReadAfterTheSecondLock(t *testing.T) {
	c := &clock{}
	c.set(start)
	e := openPostgres(t, c)
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		if err := e.reset(ctx); err != nil {
			t.Fatal(err)
		}
		l := &limitedMachine{ctx: ctx, engine: e, model: newLimitedQueue(start)}
		l.startWorker(t)
		defer func() { l.must(t, e.releaseLock(ctx, l.worker, true)) }()
		const room = 2 + 16 // a quick claim of 16 jobs leaves the lane ready
		l.must(t, e.client.SetLimit(ctx, limitedKind, "a", jobs.LimitValues{Running: room}))
		for range 2 * room {
			_, err := e.client.Enqueue(ctx, limitedKind, []byte("{}"), jobs.LimitKey("a"))
			l.must(t, err)
		}
		_, err := e.client.Enqueue(ctx, "full", []byte("{}"), jobs.LimitKey("b"))
		l.must(t, err)
		l.hasReady(t, jobs.DefaultQueue) // promotes them
		var source, other limits.Source
		claim := func(s *limits.Source, q db.Querier, kinds string, n int64) (int, error) {
			by := port.Claimer{WorkerID: l.worker, Lease: time.Hour, Kinds: kinds}
			list, err := s.Claim(ctx, q, by, port.QueueClaim{Queue: jobs.DefaultQueue, N: n, Quick: map[string]bool{limitedKind: true}}, l.model.now)
			return len(list), err
		}
		claimed := func(kinds string, want int) {
			l.must(t, e.store.Write(ctx, func(_ context.Context, q db.Querier) error {
				n, err := claim(&source, q, kinds, 1)
				if err == nil && n != want {
					err = fmt.Errorf("%d jobs of %s start, not %d", n, kinds, want)
				}
				return err
			}))
		}
		const both = `["k","full"]`
		claimed(`["full"]`, 1)
		claimed(both, 1)
		claimed(both, 1)
		l.must(t, e.client.SetTotalLimit(ctx, "full", jobs.LimitValues{Running: 1}))

		begun, commit, committed := make(chan error, 1), make(chan struct{}), make(chan error, 1)
		go func() {
			committed <- e.writeElsewhere(ctx, func(_ context.Context, q db.Querier) error {
				n, err := claim(&other, q, limitedKinds, 16)
				if err == nil && n != 16 {
					err = fmt.Errorf("%d jobs start, not 16", n)
				}
				begun <- err
				select {
				case <-commit:
				case <-ctx.Done():
				}
				return err
			})
		}()
		l.must(t, <-begun)
		l.must(t, e.store.Write(ctx, func(_ context.Context, q db.Querier) error {
			between := &commitBetween{Querier: q, commit: func() {
				close(commit)
				l.must(t, <-committed)
			}}
			n, err := claim(&source, between, both, 16)
			if err == nil && (n != 0 || between.locks < 2) {
				err = fmt.Errorf("%d jobs start beside %d, after %d locks of lanes", n, room, between.locks)
			}
			return err
		}))
	})
}
