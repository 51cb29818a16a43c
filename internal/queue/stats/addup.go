package stats

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// AddUp moves up to most rows of sqluice_job_changes into the sums, and adds the durations to them, in the caller's transaction. more
// reports whether further rows may be left. names bounds the rows of the history.
func AddUp(ctx context.Context, q db.Querier, after, most int64, durations Durations, names *Names) (more bool, err error) {
	rows, err := q.TakeJobChanges(ctx, db.TakeJobChangesParams{After: after, N: most})
	if err != nil {
		return false, err
	}
	counts, history := Changes{}, map[cell]int64(maps.Clone(durations))
	if history == nil {
		history = map[cell]int64{}
	}
	for _, r := range rows {
		if r.Jobs != 0 {
			counts.Add(r.Queue, r.Kind, r.Event, 0, r.Jobs)
		}
		if r.Times != 0 {
			history[cell{core.Time(r.At).Truncate(FineStep), series{r.Queue, r.Kind, r.Event}, 0}] += r.Times
		}
	}
	if err := addCounts(ctx, q, counts); err != nil {
		return false, err
	}
	return int64(len(rows)) == most, addHistory(ctx, q, history, names)
}

func addCounts(ctx context.Context, q db.Querier, counts Changes) error {
	var items [][]any
	for _, key := range slices.SortedFunc(maps.Keys(counts), series.compare) {
		if n := counts[key].jobs; n != 0 {
			items = append(items, []any{key.queue, key.kind, key.event, n})
		}
	}
	if len(items) == 0 {
		return nil
	}
	list, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return q.AddJobCounts(ctx, string(list))
}

func addHistory(ctx context.Context, q db.Querier, fine map[cell]int64, names *Names) error {
	if len(fine) == 0 {
		return nil
	}
	fine, err := names.bound(ctx, q, withTotals(fine))
	if err != nil {
		return err
	}
	coarse := map[cell]int64{}
	for key, n := range fine {
		key.start = key.start.Truncate(CoarseStep)
		coarse[key] += n
	}
	var items [][]any
	for _, sums := range []struct {
		step  time.Duration
		times map[cell]int64
	}{{FineStep, fine}, {CoarseStep, coarse}} {
		for _, key := range slices.SortedFunc(maps.Keys(sums.times), cell.compare) {
			items = append(items, []any{
				sums.step.Microseconds(), core.Micros(key.start), key.queue, key.kind, key.event, key.bucket, sums.times[key],
			})
		}
	}
	list, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return q.AddJobHistory(ctx, string(list))
}
