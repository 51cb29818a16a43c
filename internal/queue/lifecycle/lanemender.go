package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// LaneName names a lane. The zero value is before the first lane.
type LaneName struct{ Kind, Key, Queue string }

// LaneMender mends lanes, in pages: each method looks at up to n of them after one, and returns the last of the page, or the zero value
// after the last page. The library leaves lanes wrong in three cases. CompleteTx makes none ready: its end lies in a caller's transaction,
// which may last. A lane that opens while its limit is changed may wait by the limit of before. And a goodbye takes no locks of keys, since
// a deadlock would lose it: a claim beside it may let a lane wait for the end of a job that is released. The other reasons are SQL of other
// programs, and limits that a new program declares. Any number of LaneMender values may work on one queue.
type LaneMender struct {
	Read, Write func(context.Context, engine.Func) error
	Now         func() time.Time
}

// lastOf returns the last lane of a page of up to n rows; the zero value after the last page.
func lastOf[R any](rows []R, n int64, name func(R) LaneName) LaneName {
	if int64(len(rows)) < n {
		return LaneName{}
	}
	return name(rows[n-1])
}

// Open makes parked lanes ready whose keys have room, and returns their number.
func (m LaneMender) Open(ctx context.Context, after LaneName, n int64) (last LaneName, opened int64, err error) {
	page := db.ListParkedLanesParams{AfterKind: after.Kind, AfterKey: after.Key, AfterQueue: after.Queue, N: n}
	var candidates []LaneName
	err = m.Read(ctx, func(ctx context.Context, q db.Querier) error {
		parked, err := parkedLanes(ctx, q, page)
		if err != nil {
			return err
		}
		last = lastOf(parked, n, func(l LaneName) LaneName { return l })
		candidates, err = lanesWithRoom(ctx, q, parked)
		return err
	})
	if err != nil || len(candidates) == 0 {
		return last, 0, core.Wrap(err, "look at lanes that wait for the end of a job")
	}
	err = m.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		opened = 0
		if _, err := q.LockLanes(ctx, jsonKeys(keysOf(candidates))); err != nil {
			return fmt.Errorf("lock lanes: %w", err)
		}
		// With the locks, an end has either made its lanes ready or still counts as running. Most have: the statements of the read saw states
		// before and after it.
		parked, err := parkedLanes(ctx, q, page)
		if err != nil {
			return err
		}
		has, err := lanesWithRoom(ctx, q, slices.DeleteFunc(parked, func(l LaneName) bool { return !slices.Contains(candidates, l) }))
		if err != nil || len(has) == 0 {
			return err
		}
		opened, err = q.WakeLanes(ctx, db.WakeLanesParams{Now: core.Micros(m.Now()), Keys: jsonKeys(keysOf(has))})
		return err
	})
	return last, opened, core.Wrap(err, "make lanes ready whose keys have room")
}

// parkedLanes lists a page of lanes that wait for the end of a job.
func parkedLanes(ctx context.Context, q db.Querier, page db.ListParkedLanesParams) ([]LaneName, error) {
	rows, err := q.ListParkedLanes(ctx, page)
	return core.Map(rows, func(row db.ListParkedLanesRow) LaneName { return LaneName{row.Kind, row.LimitKey, row.Queue} }), err
}

// lanesWithRoom returns those of the lanes whose jobs can start: fewer jobs of the key run than its limit allows, and where they run in order,
// the first one is in the lane.
func lanesWithRoom(ctx context.Context, q db.Querier, lanes []LaneName) (has []LaneName, err error) {
	if len(lanes) == 0 {
		return nil, nil
	}
	rows, err := q.ReadLimits(ctx, jsonKeys(keysOf(lanes)))
	if err != nil {
		return nil, fmt.Errorf("read limits: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(row db.ReadLimitsRow) bool { return row.Running > 0 && row.Active+row.Keyless >= row.Running })
	sequences, err := ReadSequences(ctx, q, rows)
	room := make(map[[2]string]bool, len(rows))
	for _, row := range rows {
		room[[2]string{row.Kind, row.LimitKey}] = true
	}
	for _, l := range lanes {
		of := [2]string{l.Kind, l.Key}
		if sequence, ordered := sequences[of]; room[of] && (!ordered || sequence.StartsFrom(l.Queue) != 0) {
			has = append(has, l)
		}
	}
	return has, err
}

// keysOf returns the keys of lanes.
func keysOf(lanes []LaneName) [][2]string {
	return core.Map(lanes, func(l LaneName) [2]string { return [2]string{l.Kind, l.Key} })
}

// Add adds the lanes that waiting jobs lack, and returns their number.
func (m LaneMender) Add(ctx context.Context, after LaneName, n int64) (last LaneName, added int64, err error) {
	var missing []lane
	err = m.Read(ctx, func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListWaitingLanes(ctx, db.ListWaitingLanesParams{AfterKind: after.Kind, AfterKey: after.Key, AfterQueue: after.Queue, N: n})
		missing = nil
		for _, row := range rows {
			if row.HasLane == 0 {
				missing = append(missing, lane{row.Kind, row.LimitKey, row.Queue, row.Priority})
			}
		}
		last = lastOf(rows, n, func(row db.ListWaitingLanesRow) LaneName { return LaneName{row.Kind, row.LimitKey, row.Queue} })
		return err
	})
	if err != nil || len(missing) == 0 {
		return last, 0, core.Wrap(err, "look for waiting jobs without a lane")
	}
	err = m.Write(ctx, func(ctx context.Context, q db.Querier) error {
		t := NewTransitions()
		t.opened = missing
		return openLanes(ctx, q, core.Micros(m.Now()), t, nil)
	})
	return last, int64(len(missing)), core.Wrap(err, "add lanes of waiting jobs")
}

// Hasten makes up to n lanes ready that would be so only after a time, so that a claim computes their times anew. It returns their number.
func (m LaneMender) Hasten(ctx context.Context, late time.Time, n int64) (hastened int64, err error) {
	var keys [][2]string
	err = m.Read(ctx, func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListLateLanes(ctx, db.ListLateLanesParams{Late: core.Micros(late), N: n})
		keys = core.Map(rows, func(row db.ListLateLanesRow) [2]string { return [2]string{row.Kind, row.LimitKey} })
		return err
	})
	if err != nil || len(keys) == 0 {
		return 0, core.Wrap(err, "look for lanes that are ready late")
	}
	err = m.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if _, err = q.LockLanes(ctx, jsonKeys(keys)); err == nil {
			hastened, err = q.WakeLateLanes(ctx, db.WakeLateLanesParams{Now: core.Micros(m.Now()), Keys: jsonKeys(keys), Late: core.Micros(late)})
		}
		return err
	})
	return hastened, core.Wrap(err, "make lanes ready that are so late")
}

// Remove removes lanes without a waiting job, and returns their number. Claims do the same for the lanes that they look at.
func (m LaneMender) Remove(ctx context.Context, after LaneName, n int64) (last LaneName, removed int64, err error) {
	var empty []LaneName
	err = m.Read(ctx, func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListLanes(ctx, db.ListLanesParams{AfterKind: after.Kind, AfterKey: after.Key, AfterQueue: after.Queue, N: n})
		empty = nil
		for _, row := range rows {
			if row.Empty != 0 {
				empty = append(empty, LaneName{row.Kind, row.LimitKey, row.Queue})
			}
		}
		last = lastOf(rows, n, func(row db.ListLanesRow) LaneName { return LaneName{row.Kind, row.LimitKey, row.Queue} })
		return err
	})
	if err != nil || len(empty) == 0 {
		return last, 0, core.Wrap(err, "look for lanes without a waiting job")
	}
	err = m.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		removed, err = removeEmpty(ctx, q, empty)
		return err
	})
	return last, removed, core.Wrap(err, "remove lanes without a waiting job")
}

// WakeKeys makes the lanes of keys, each a kind and a limit key, ready that wait for the end of a job. now is in microseconds.
func WakeKeys(ctx context.Context, q db.Querier, now int64, keys [][2]string) error {
	if _, err := q.LockLanes(ctx, jsonKeys(keys)); err != nil {
		return fmt.Errorf("lock lanes: %w", err)
	}
	_, err := q.WakeLanes(ctx, db.WakeLanesParams{Now: now, Keys: jsonKeys(keys)})
	return err
}

// removeEmpty removes those of the lanes that have no waiting job.
func removeEmpty(ctx context.Context, q db.Querier, lanes []LaneName) (removed int64, err error) {
	byQueue, keys := map[string][][2]string{}, make([][2]string, len(lanes))
	for i, l := range lanes {
		keys[i] = [2]string{l.Kind, l.Key}
		byQueue[l.Queue] = append(byQueue[l.Queue], keys[i])
	}
	if _, err := q.LockLanes(ctx, jsonKeys(keys)); err != nil {
		return 0, fmt.Errorf("lock lanes: %w", err)
	}
	for queue, keys := range byQueue { // all are locked: the order does not matter
		n, err := q.DeleteEmptyLanes(ctx, db.DeleteEmptyLanesParams{Queue: queue, Keys: jsonKeys(keys)})
		if err != nil {
			return 0, err
		}
		removed += n
	}
	return removed, nil
}
