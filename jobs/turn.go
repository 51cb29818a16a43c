package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/stats"
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
	slots    map[string]int64 // how many of those begin at once
	worth    bool             // there was something to record, so that the turn did not check first whether there is something to claim
	behind   bool             // the turn before promoted as many jobs as it might: promote more, also when none can be claimed
	lone     bool             // it claims by one statement, and a look for due jobs follows

	lost     []outcome
	promote  int64 // how many jobs it might promote
	promoted int64
	claimed  []*attempt
	more     map[string]bool // queues in which another claim may find something
	short    map[string]bool // queues that gave some, but less than was wanted
	returned map[string]bool // queues from which jobs were claimed that must not wait for a slot
	next     time.Time       // when the next scheduled job falls due, if it has looked
	took     time.Duration   // the time of its transaction
	held     time.Duration   // how long its statements took, which is most of the time that it held SQLite's write lock
}

func (t *turn) promotes() bool { return t.behind || len(t.wants) > 0 }

func (t *turn) write(ctx context.Context, q db.Querier) error {
	s := t.session
	began := time.Now()
	defer func() { t.held = time.Since(began) }()
	t.begin()
	var err error
	done := stats.Changes{}
	if len(t.outcomes) > 0 {
		if t.lost, err = s.record(ctx, q, t.outcomes, done); err != nil {
			return fmt.Errorf("record outcomes: %w", err)
		}
	}
	if t.promotes() {
		if err := t.claim(ctx, q, done); err != nil {
			return err
		}
	}
	if err := done.Write(ctx, q, core.Micros(s.store.Now())); err != nil {
		return fmt.Errorf("note what was recorded: %w", err)
	}
	return nil
}

// commit runs the turn as one transaction.
func (t *turn) commit(ctx context.Context) error {
	began := time.Now()
	var err error
	if t.lone {
		err = t.claimAlone(ctx)
	} else {
		err = t.session.store.Write(ctx, t.write)
	}
	t.took = time.Since(began)
	return err
}

// begin forgets what an earlier run did.
func (t *turn) begin() {
	t.lost, t.claimed, t.next = nil, nil, time.Time{}
	t.more, t.short, t.returned = map[string]bool{}, map[string]bool{}, map[string]bool{}
	t.promote, t.promoted = 0, 0
}

// claim makes due jobs claimable and claims for each queue what it wants.
func (t *turn) claim(ctx context.Context, q db.Querier, done stats.Changes) error {
	s := t.session
	now := s.store.Now()
	if err := t.promoteDue(ctx, q, core.Micros(now)); err != nil {
		return err
	}
	for queue, n := range t.wants {
		claimed, err := t.claimFrom(ctx, q, queue, n, now, 0)
		if err != nil {
			return err
		}
		if claimed, err = t.putOff(ctx, q, claimed, done); err != nil {
			return err
		}
		if claimed, err = t.returnRisky(ctx, q, queue, claimed, done); err != nil {
			return err
		}
		t.claimed = append(t.claimed, claimed...)
	}
	return nil
}

// claimFrom claims up to n jobs of a queue: none while a scheduled job is due before noneDueBefore, unless that is 0.
func (t *turn) claimFrom(ctx context.Context, q db.Querier, queue string, n int64, now time.Time, noneDueBefore int64) ([]*attempt, error) {
	s := t.session
	worker, lease := s.workerID(), now.Add(s.config.Lease)
	rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
		WorkerID: worker, LeaseUntil: core.Micros(lease), Now: core.Micros(now), Kinds: s.kinds, Queue: queue, N: n,
		NoneDueBefore: noneDueBefore,
	})
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	t.more[queue] = int64(len(rows)) == n
	t.short[queue] = len(rows) > 0 || t.worth
	claimed := make([]*attempt, len(rows))
	for i, row := range rows {
		claimed[i] = s.attempt(row, queue, worker, now, lease)
	}
	return claimed, nil
}

// attempt is that of a job which was claimed.
func (s *session) attempt(row db.ClaimJobsRow, queue string, worker int64, now, lease time.Time) *attempt {
	a := &attempt{session: s, job: jobFromClaim(row, queue, worker, now, lease), handler: s.handlers[row.Kind]}
	a.job.held = a
	return a
}

// returnRisky gives back those of a queue's claimed jobs that would have to wait for a slot and had better not: should the
// process die, a crash is charged to all that it holds. A job on its last attempt would fail without having run; and beside
// one that was running when a process died before, the others would be charged again and again.
func (t *turn) returnRisky(ctx context.Context, q db.Querier, queue string, claimed []*attempt, done stats.Changes) ([]*attempt, error) {
	slots := int(t.slots[queue])
	if len(claimed) <= slots {
		return claimed, nil
	}
	slices.SortFunc(claimed, better)
	suspect := slices.ContainsFunc(claimed, func(a *attempt) bool { return a.job.Crashes > 0 })
	kept, back := claimed[:slots:slots], map[holder][]outcome{}
	for i, a := range claimed[slots:] {
		if suspect || a.job.AttemptsLeft() == 0 {
			addByHolder(back, outcome{attempt: a}, len(claimed)-slots-i)
		} else {
			kept = append(kept, a)
		}
	}
	if len(back) > 0 {
		t.returned[queue] = true
	}
	for h, group := range back {
		if err := t.session.recordReturned(ctx, q, h, group, core.Micros(t.session.store.Now()), done); err != nil {
			return nil, fmt.Errorf("give claimed jobs back: %w", err)
		}
	}
	return kept, nil
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
	t.next = core.Time(next)
	return nil
}

// signals is what others want to know of the turn.
func (t *turn) signals() Signal {
	var signals Signal
	if len(t.returned) > 0 {
		signals |= WorkReady
	}
	for _, o := range t.outcomes {
		switch o.fate {
		case fateDone, fateCancel:
			signals |= JobEnded
		default:
			signals |= WorkReady | JobEnded // which of them depends on whether the job had a cancel request
		}
	}
	return signals
}
