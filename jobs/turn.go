package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
)

const (
	// The bounds of how many scheduled jobs become pending in one transaction: a few more than it claims, and when
	// that was not enough the most, so that a million that fall due at once do not hold up other writes for long.
	promoteLeast = 100
	promoteMost  = 1000
)

// turn is one transaction of the pump. write may run more than once.
type turn struct {
	session  *session
	outcomes []outcome
	wants    map[string]int64
	behind   bool // the turn before promoted as many jobs as it might: promote more, also when none can be claimed

	lost     []outcome
	promote  int64 // how many jobs it might promote
	promoted int64
	claimed  []*attempt
	more     map[string]bool // queues in which another claim may find something
	short    map[string]bool // queues that gave some, but less than was wanted
	next     time.Time       // when the next scheduled job falls due
}

func (t *turn) promotes() bool { return t.behind || len(t.wants) > 0 }

func (t *turn) write(ctx context.Context, q db.Querier) error {
	s := t.session
	t.lost, t.claimed, t.next = nil, nil, time.Time{}
	t.more, t.short = map[string]bool{}, map[string]bool{}
	t.promote, t.promoted = 0, 0
	var err error
	if len(t.outcomes) > 0 {
		if t.lost, err = s.record(ctx, q, t.outcomes); err != nil {
			return fmt.Errorf("record outcomes: %w", err)
		}
	}
	if !t.promotes() {
		return nil
	}
	worker := s.workerID()
	now := s.store.Now()
	if err := t.promoteDue(ctx, q, toMicros(now)); err != nil {
		return err
	}
	lease := now.Add(s.config.Lease)
	for queue, n := range t.wants {
		rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
			WorkerID: worker, LeaseUntil: toMicros(lease), Now: toMicros(now), Kinds: s.kinds, Queue: queue, N: n,
		})
		if err != nil {
			return fmt.Errorf("claim jobs: %w", err)
		}
		t.more[queue] = int64(len(rows)) == n
		t.short[queue] = len(rows) > 0 || len(t.outcomes) > 0
		t.claimed = slices.Grow(t.claimed, len(rows))
		for _, row := range rows {
			a := &attempt{session: s, job: jobFromClaim(row, queue, worker, now, lease), handler: s.handlers[row.Kind]}
			a.job.held = a
			t.claimed = append(t.claimed, a)
		}
	}
	return nil
}

// promoteDue makes due jobs claimable, so that the claim chooses among them by priority.
func (t *turn) promoteDue(ctx context.Context, q db.Querier, now int64) error {
	next, err := q.GetNextRunAfter(ctx)
	if err != nil {
		return fmt.Errorf("find the next due job: %w", err)
	}
	if next != 0 && next <= now {
		t.promote = promoteMost
		if !t.behind {
			t.promote = promoteLeast
			for _, n := range t.wants {
				t.promote = min(t.promote+2*n, promoteMost)
			}
		}
		if t.promoted, err = q.PromoteDueJobs(ctx, db.PromoteDueJobsParams{Now: now, N: t.promote}); err != nil {
			return fmt.Errorf("promote due jobs: %w", err)
		}
		if next, err = q.GetNextRunAfter(ctx); err != nil {
			return fmt.Errorf("find the next due job: %w", err)
		}
	}
	t.next = fromMicros(next)
	return nil
}

// signals is what others want to know of the turn.
func (t *turn) signals() Signal {
	var signals Signal
	for _, o := range t.outcomes {
		switch o.fate {
		case fateDone, fateCancel:
			signals |= JobEnded
		case fateReturn:
			signals |= WorkReady
		default:
			signals |= WorkReady | JobEnded // which of them depends on whether the job was to be cancelled
		}
	}
	return signals
}
