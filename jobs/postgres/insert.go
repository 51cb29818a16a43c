package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/groupcommit"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// groupsAtOnce is the number of groups written at once: while one waits for the disk, or for another's commit
	// (transactions with notifications commit one by one), the next proceeds.
	groupsAtOnce = 2

	// groupMembers is the largest number of callers in a transaction.
	groupMembers = 64

	// groupStuck is the time without a finished group after which waiting callers write alone: a lock of the application then
	// delays only the insert that needs it.
	groupStuck = 250 * time.Millisecond

	// groupGrace is the time that a group continues after a member's context has ended.
	groupGrace = 100 * time.Millisecond

	// groupTries is the number of times that the rest of a group is written after failing members were left out.
	groupTries = 3

	// batchPayload is the largest payload in bytes that joins a list: a larger one takes longer in it than in its own
	// statement.
	batchPayload = 4096
)

// insert is the insert of one caller.
type insert struct {
	engine.Insert
	ids []int64
}

// writeInsert writes one insert in a transaction of its own.
func (s inserter) writeInsert(ctx context.Context, i *insert) error {
	return s.writer.write(ctx, 1, s.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) error { return i.add(ctx, t, q) })
}

// add inserts and announces the jobs of one caller.
func (i *insert) add(ctx context.Context, t *transaction, q db.Querier) error {
	i.ids = nil
	t.announce(i.Job.Queue)
	if i.Payloads != nil {
		return i.addMany(ctx, q)
	}
	id, err := engine.Timed(&i.Insert, "EnqueueKeylessJob", func() (int64, error) { return q.EnqueueKeylessJob(ctx, i.Job) })
	if errors.Is(err, sql.ErrNoRows) {
		return engine.ErrNotAdded
	}
	i.ids = []int64{id}
	return err
}

func (i *insert) addMany(ctx context.Context, q db.Querier) error {
	i.ids = make([]int64, 0, i.Count)
	for payloads, err := range i.Payloads {
		if err != nil {
			return err
		}
		ids, err := engine.Timed(&i.Insert, "EnqueueJobs", func() ([]int64, error) { return q.EnqueueJobs(ctx, i.Many(payloads.List)) })
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return engine.ErrNotAdded
		}
		i.ids = append(i.ids, ids...)
	}
	return nil
}

// insertClaimed inserts a job as claimed. An error undoes the insert, also when an application's trigger has made the job one
// that the worker would not get.
func (s inserter) insertClaimed(ctx context.Context, i *insert) ([]int64, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if i.Claim.Patience > 0 {
		limited, cancel = context.WithTimeout(ctx, i.Claim.Patience)
	}
	defer cancel()
	arg, committed := i.Claimed(), func() {}
	// A slow runner does not cancel a commit that has begun: its outcome would be unknown.
	transact := func(limited context.Context, fn statements) (bool, error) {
		return s.writer.transactUntil(limited, ctx, fn)
	}
	err := s.writer.write(limited, 1, transact, func(ctx context.Context, _ *transaction, q db.Querier) error {
		row, err := engine.Timed(&i.Insert, "EnqueueClaimedJob", func() (row db.EnqueueClaimedJobRow, err error) {
			row, committed, err = claims{s.cursors}.enqueueClaimed(ctx, q, arg)
			return row, err
		})
		if errors.Is(err, sql.ErrNoRows) || err == nil && row.ID == 0 {
			return engine.ErrDeclined
		}
		i.Claim.Row, i.ids = db.ClaimJobsRow(row), []int64{row.ID}
		return err
	})
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil && !errors.Is(err, jobs.ErrUnknownOutcome) {
			err = fmt.Errorf("%w: %w", engine.ErrDeclined, err)
		}
		return nil, err
	}
	committed()
	return i.ids, nil
}

type member = groupcommit.Member[*insert]

func newInserts(i inserter) *groupcommit.Committer[*insert] {
	return &groupcommit.Committer[*insert]{Run: i.writeGroup, Groups: groupsAtOnce, Members: groupMembers, Stuck: groupStuck}
}

// inserter writes the inserts of a backend.
type inserter struct {
	writer  *writer
	cursors *cursors
}

// writeGroup writes a group in one transaction. It leaves out, without a result, the members whose statement fails, and all
// members if failures continue.
func (s inserter) writeGroup(group []*member) {
	if len(group) == 1 {
		group[0].Resolve(s.writeInsert(group[0].Ctx, group[0].Work))
		return
	}
	left := slices.Clone(group)
	for range groupTries {
		left = slices.DeleteFunc(left, func(m *member) bool { return m.Ctx.Err() != nil })
		if len(left) < 2 {
			return
		}
		culprits, err := s.writeTogether(left)
		if err == nil || errors.Is(err, jobs.ErrUnknownOutcome) {
			for _, m := range left {
				m.Resolve(err)
			}
			return
		}
		left = slices.DeleteFunc(left, func(m *member) bool { return slices.Contains(culprits, m) })
	}
}

// writeTogether writes all inserts in one transaction. When a statement fails, it returns its members as the culprits. The end
// of a member's context ends the transaction soon, because its statement may be the one that waits.
func (s inserter) writeTogether(group []*member) (culprits []*member, err error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(group[0].Ctx))
	defer cancel(nil)
	for _, m := range group {
		stop := context.AfterFunc(m.Ctx, func() {
			timer := time.NewTimer(groupGrace)
			defer timer.Stop()
			select {
			case <-timer.C:
				cancel(context.Cause(m.Ctx))
			case <-ctx.Done():
			}
		})
		defer stop()
	}
	err = s.writer.write(ctx, len(group), s.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) error {
		culprits = nil
		for left := group; len(left) > 0; {
			n, err := addFirst(ctx, t, q, left)
			if err != nil {
				culprits = left[:n]
				return err
			}
			left = left[n:]
		}
		return nil
	})
	return culprits, err
}

// addFirst inserts the job of the first member, and in the same statement the similar jobs right behind it. It returns the number
// of members of that statement.
func addFirst(ctx context.Context, t *transaction, q db.Querier, group []*member) (n int, err error) {
	batch := engine.Batch{MaxPayload: batchPayload}
	for n < len(group) && batch.Add(&group[n].Work.Insert) {
		n++
	}
	first := group[0].Work
	if n < 2 {
		return 1, first.add(ctx, t, q)
	}
	t.announce(first.Job.Queue)
	ids, err := engine.Timed(&first.Insert, "EnqueueJobs", func() ([]int64, error) { return q.EnqueueJobs(ctx, batch.Params()) })
	if err == nil && len(ids) != n {
		err = engine.ErrNotAdded // single inserts show whose job it is
	}
	if err != nil {
		return n, err
	}
	for i, m := range group[:n] {
		m.Work.ids = ids[i : i+1 : i+1]
	}
	return n, nil
}
