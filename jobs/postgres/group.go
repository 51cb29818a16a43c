package postgres

import (
	"context"
	"errors"
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

type member = groupcommit.Member[*insert]

func newInserts(s *backend) *groupcommit.Committer[*insert] {
	return &groupcommit.Committer[*insert]{Run: inserter{s}.writeGroup, Groups: groupsAtOnce, Members: groupMembers, Stuck: groupStuck}
}

// inserter writes the inserts of a backend.
type inserter struct{ store *backend }

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
	err = s.store.writer.write(ctx, len(group), s.store.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) error {
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
