package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// lane names the waiting jobs of one limit key, kind and queue, with the priority of the best new one.
type lane struct {
	kind, key, queue string
	priority         int64
}

// PromoteLimited makes up to n due jobs with limit keys waiting, and returns their number. Their lanes are opened by the next call of
// ReactEarly, in the same transaction.
func PromoteLimited(ctx context.Context, q db.Querier, now time.Time, n int64, made *Transitions) (int64, error) {
	rows, err := q.PromoteLimitedJobs(ctx, db.PromoteLimitedJobsParams{Now: core.Micros(now), N: n})
	if err != nil {
		return 0, fmt.Errorf("promote due jobs with limit keys: %w", err)
	}
	return made.open(rows), nil
}

// open records jobs that have become waiting, and returns their number.
func (t *Transitions) open(rows []db.PromoteLimitedJobsRow) int64 {
	for _, r := range rows {
		t.opened = append(t.opened, lane{r.Kind, r.LimitKey, r.Queue, r.Priority})
	}
	return int64(len(rows))
}

// PromoteListedLimited is PromoteLimited for those jobs of a list that are due.
func PromoteListedLimited(ctx context.Context, q db.Querier, now time.Time, ids []int64, made *Transitions) (int64, error) {
	rows, err := q.PromoteListedLimitedJobs(ctx, db.PromoteListedLimitedJobsParams{Now: core.Micros(now), Ids: core.JSONIDs(ids)})
	if err != nil {
		return 0, fmt.Errorf("promote listed jobs with limit keys: %w", err)
	}
	return made.open(core.Map(rows, func(r db.PromoteListedLimitedJobsRow) db.PromoteLimitedJobsRow { return db.PromoteLimitedJobsRow(r) })), nil
}

// Adopt makes up to n pending jobs of queues and kinds waiting, as JSON lists, that the limit of a whole kind or queue concerns. It returns
// their number. Their lanes are opened by the next call of ReactEarly, in the same transaction.
func Adopt(ctx context.Context, q db.Querier, now time.Time, queues, kinds string, n int64, made *Transitions) (int64, error) {
	rows, err := q.AdoptPendingJobs(ctx, db.AdoptPendingJobsParams{Now: core.Micros(now), Queues: queues, Kinds: kinds, N: n})
	if err != nil {
		return 0, fmt.Errorf("give pending jobs a limit key: %w", err)
	}
	return made.open(core.Map(rows, func(r db.AdoptPendingJobsRow) db.PromoteLimitedJobsRow { return db.PromoteLimitedJobsRow(r) })), nil
}

// openLanes is the reaction that makes lanes ready: of jobs that have become waiting, and of the keys of attempts that ended. It locks all
// of these keys in one order: two transactions that did so one after another would wait for each other. Without the lock a claim that
// finds no room at the same time would leave its lane waiting for an end that has been.
func openLanes(ctx context.Context, q db.Querier, now int64, t *Transitions, made []repeated) error {
	opened := t.opened
	t.opened = nil
	ended := endedKeys(made)
	if len(opened) == 0 && len(ended) == 0 {
		return nil
	}
	keys := slices.Clone(ended)
	for _, l := range opened {
		keys = append(keys, [2]string{l.kind, l.key})
	}
	var held []db.HoldLimitKeysRow
	var woken, room int64
	calls := append(t.first, db.HoldLimitKeysCall{Arg: jsonKeys(keys), Into: &held})
	t.first = nil
	if len(ended) > 0 {
		keys := jsonKeys(ended)
		calls = append(calls, db.WakeLanesCall{Arg: db.WakeLanesParams{Now: now, Keys: keys}, Into: &woken}, countRoom(now, keys, made, &room))
	}
	calls = append(calls, closeKeys(t)...)
	if len(opened) > 0 {
		calls = append(calls, db.OpenLanesCall{Arg: db.OpenLanesParams{Now: now, Items: jsonLanes(opened)}})
	}
	if err := db.Together(ctx, q, calls...); err != nil {
		return fmt.Errorf("make lanes ready: %w", err)
	}
	t.released += woken + room + int64(len(opened))
	return nil
}

// OpenLanesOf makes the lanes ready of rows that were inserted to wait. list has the result for each. now is in microseconds. hold locks the
// keys first, as the write of an end does: without that, the two could lock lanes in different orders.
func OpenLanesOf(ctx context.Context, q db.Querier, now int64, rows []Row, list []Inserted, hold bool) error {
	var opened []lane
	var keys [][2]string
	for i, row := range rows {
		if row.Waiting && !list[i].Existed && !list[i].Dropped {
			opened = append(opened, lane{row.Kind, *row.LimitKey, row.Queue, row.Priority})
			keys = append(keys, [2]string{row.Kind, *row.LimitKey})
		}
	}
	if len(opened) == 0 {
		return nil
	}
	calls := []db.Call{db.OpenLanesCall{Arg: db.OpenLanesParams{Now: now, Items: jsonLanes(opened)}}}
	if hold {
		calls = slices.Insert(calls, 0, db.Call(db.HoldLimitKeysCall{Arg: jsonKeys(keys), Into: new([]db.HoldLimitKeysRow)}))
	}
	return core.Wrap(db.Together(ctx, q, calls...), "open lanes")
}

// claimsBegunLater is more than the time for which an end waits for a claim that has begun later, and leaves a lane ready from then on.
const claimsBegunLater = int64(time.Minute / time.Microsecond)

// countRoom returns the call by which a write learns whether jobs may start where attempts have ended, for which other workers then look. keys
// are those of the attempts, as the statement takes them.
func countRoom(now int64, keys string, made []repeated, room *int64) db.Call {
	var kinds, queues []string
	for _, m := range made {
		if m.ended() {
			kinds, queues = append(kinds, m.Job.Kind), append(queues, m.Job.Queue)
		}
	}
	slices.Sort(kinds)
	slices.Sort(queues)
	return db.CountRoomCall{Into: room, Arg: db.CountRoomParams{
		Kinds: core.JSONNames(slices.Compact(kinds)), Queues: core.JSONNames(slices.Compact(queues)), Keys: keys, Now: now + claimsBegunLater,
	}}
}

// closeKey records that no job of a kind and a limit key starts before a time, in microseconds.
func (t *Transitions) closeKey(kind, key string, until int64) {
	if t.closed == nil {
		t.closed = map[[2]string]int64{}
	}
	of := [2]string{kind, key}
	t.closed[of] = max(t.closed[of], until)
}

// closeKeys returns the calls that write until when keys are closed, in the order of the keys, which are locked.
func closeKeys(t *Transitions) (calls []db.Call) {
	for _, of := range slices.SortedFunc(maps.Keys(t.closed), compareKeys) {
		calls = append(calls, db.CloseLimitKeyCall{Arg: db.CloseLimitKeyParams{Kind: of[0], LimitKey: of[1], Until: t.closed[of]}})
	}
	t.closed = nil
	return calls
}

func compareKeys(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }

// endedKeys returns the kinds and limit keys of which another job may start: see ended. CompleteTx records no such transition: the one of
// an end that was recorded before follows.
func endedKeys(made []repeated) (keys [][2]string) {
	for _, m := range made {
		if m.ended() {
			keys = append(keys, [2]string{m.Job.Kind, m.Job.Limit.key})
		}
	}
	return keys
}

// ended reports whether the transition may let another job of its limit key start: an attempt has ended, or a job that came first in a
// sequence has, or a failed one that held it is gone.
func (m *repeated) ended() bool {
	return m.Job.Limit.has && (!m.From.Final() || m.From == jobtype.StatusFailed || m.From == m.To)
}

// jsonKeys returns a list of kinds and keys, each once and in one order, as the statements take it.
func jsonKeys(keys [][2]string) string {
	slices.SortFunc(keys, compareKeys)
	return core.JSONKeys(slices.Compact(keys))
}

// jsonLanes returns the lanes, each once, as OpenLanes takes them.
func jsonLanes(lanes []lane) string {
	best := map[lane]int64{}
	for _, l := range lanes {
		of := lane{kind: l.kind, key: l.key, queue: l.queue}
		if priority, has := best[of]; !has || l.priority > priority {
			best[of] = l.priority
		}
	}
	items := make([][4]any, 0, len(best))
	for l, priority := range best {
		items = append(items, [4]any{l.kind, l.key, l.queue, priority})
	}
	// In one order: two transactions that add the same lanes in different orders would wait for each other.
	slices.SortFunc(items, func(a, b [4]any) int {
		return cmp.Or(cmp.Compare(a[0].(string), b[0].(string)), cmp.Compare(a[1].(string), b[1].(string)), cmp.Compare(a[2].(string), b[2].(string)))
	})
	return core.JSONList(items)
}
