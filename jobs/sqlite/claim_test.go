package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/db/sqliteonly"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// claimer is a worker with its own store, whose statements a test runs itself.
type claimer struct {
	store  *backend
	client *jobs.Client
	id     int64
}

func newClaimer(t *testing.T) *claimer {
	t.Helper()
	c := &claimer{}
	c.store, c.client = queue(t)
	c.write(t, func(ctx context.Context, q db.Querier) (err error) {
		now := c.store.Now().UnixMicro()
		c.id, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: "claimer", Host: "here", Pid: 1, Queues: `{"default":10}`, Kinds: `["a","b"]`, Now: now, LeaseUntil: now + time.Hour.Microseconds(),
		})
		return err
	})
	return c
}

func (c *claimer) write(t *testing.T, fn func(context.Context, db.Querier) error) {
	t.Helper()
	must(t, c.store.Write(t.Context(), fn))
}

// add adds n jobs of a kind and priority.
func (c *claimer) add(t *testing.T, kind string, priority, n int) {
	t.Helper()
	payloads := make([]json.RawMessage, n)
	for i := range payloads {
		payloads[i] = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
	}
	_, err := c.client.EnqueueMany(t.Context(), kind, payloads, jobs.Priority(priority), jobs.Tags("x"))
	must(t, err)
}

// claim claims up to n jobs in two steps or in one.
func (c *claimer) claim(t *testing.T, n int64, steps bool) (rows []db.ClaimJobsRow) {
	t.Helper()
	c.write(t, func(ctx context.Context, q db.Querier) (err error) {
		now := c.store.Now().UnixMicro()
		c.store.writer.claimsMany = steps
		rows, err = claims{c.store.writer}.ClaimJobs(ctx, q, db.ClaimJobsParams{
			WorkerID: c.id, LeaseUntil: now + time.Hour.Microseconds(), Now: now, Kinds: `["a","b"]`, Queue: jobs.DefaultQueue, N: n,
		}, nil)
		return err
	})
	slices.SortFunc(rows, func(a, b db.ClaimJobsRow) int { return int(a.ID - b.ID) })
	return rows
}

func (c *claimer) complete(t *testing.T, ids ...int64) (done int64) {
	t.Helper()
	c.write(t, func(ctx context.Context, q db.Querier) (err error) {
		done, err = c.store.Claims().CompleteJobs(ctx, q, c.store.Now().UnixMicro(), engine.Completion{WorkerID: c.id, Attempt: 1, IDs: slices.Clone(ids)})
		return err
	})
	return done
}

func (c *claimer) job(t *testing.T, id int64) jobs.Job {
	t.Helper()
	job, err := c.client.Get(t.Context(), id)
	must(t, err)
	return job
}

// Two equal queues are claimed from in the two ways.
func TestClaimInStepsIsAClaim(t *testing.T) {
	var claimed [2][][]db.ClaimJobsRow
	for i, steps := range []bool{false, true} {
		c := newClaimer(t)
		c.add(t, "a", 0, 30)
		c.add(t, "b", 1, 5)
		c.add(t, "other", 9, 3)
		c.add(t, "a", 1, 2)
		c.add(t, "b", 0, 20)
		for _, n := range []int64{3, 20, 1000, 1000} {
			rows := c.claim(t, n, steps)
			for j, row := range rows {
				job := c.job(t, row.ID)
				if job.Status != jobs.StatusRunning || job.Attempt != 1 || row.Attempt != 1 || job.WorkerID != c.id ||
					job.StartedAt.IsZero() || !job.LeaseUntil.After(job.StartedAt) {
					t.Errorf("job %d was claimed and is %+v", row.ID, job)
				}
				rows[j].RunAfter, rows[j].CreatedAt = 0, 0
			}
			claimed[i] = append(claimed[i], rows)
		}
	}
	for i, rows := range claimed[0] {
		if !reflect.DeepEqual(rows, claimed[1][i]) {
			t.Errorf("claim %d gave in one step\n%+v\nand in two\n%+v", i+1, rows, claimed[1][i])
		}
	}
	if have := []int{len(claimed[1][0]), len(claimed[1][1]), len(claimed[1][2]), len(claimed[1][3])}; !slices.Equal(have, []int{3, 20, 34, 0}) {
		t.Errorf("claimed %v jobs", have)
	}
}

// A claim in steps returns every column that one statement returns.
func TestClaimInStepsGivesEveryColumn(t *testing.T) {
	crash := func(c *claimer) { exec(t, plain(t, c.store.path), "crash_jobs") }
	release := func(c *claimer) {
		for _, row := range c.claim(t, 3, false) {
			c.write(t, func(ctx context.Context, q db.Querier) error {
				_, err := q.ReturnJob(ctx, db.ReturnJobParams{Status: "pending", Uncounted: 1, Now: 0, ID: row.ID, Attempt: 1, WorkerID: c.id})
				return err
			})
		}
	}
	for name, test := range map[string]struct {
		option  jobs.EnqueueOption // of one of the jobs
		before  func(*claimer)
		another string // kind of one of them
	}{
		"plain": {option: jobs.Priority(3)}, "attempts": {option: jobs.MaxAttempts(7)},
		"another kind": {another: "b"}, "a foreign kind": {another: "c"},
		"timeout": {option: jobs.Timeout(time.Minute)}, "key": {option: jobs.Unique("u")},
		"request": {option: jobs.RequestID("r")}, "user": {option: jobs.UserID("u")},
		"tags": {option: jobs.Tags("t")}, "metadata": {option: jobs.Metadata(1)},
		"crashes": {before: crash}, "released": {before: release},
	} {
		t.Run(name, func(t *testing.T) {
			var claimed [2][][]db.ClaimJobsRow
			for i, steps := range []bool{false, true} {
				c := newClaimer(t)
				for n := range 40 {
					kind, opts := "a", []jobs.EnqueueOption(nil)
					if n == 20 && test.option != nil {
						opts = append(opts, test.option)
					}
					if n == 20 && test.another != "" {
						kind = test.another
					}
					_, err := c.client.Enqueue(t.Context(), kind, json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)), opts...)
					must(t, err)
				}
				if test.before != nil {
					test.before(c)
				}
				for _, n := range []int64{0, 10, 15, 100} {
					rows := c.claim(t, n, steps)
					for j := range rows {
						rows[j].RunAfter, rows[j].CreatedAt = min(rows[j].RunAfter, 1), min(rows[j].CreatedAt, 1) // the times differ
					}
					claimed[i] = append(claimed[i], rows)
				}
			}
			for i, rows := range claimed[0] {
				if len(rows) != len(claimed[1][i]) || len(rows) > 0 && !reflect.DeepEqual(rows, claimed[1][i]) {
					t.Errorf("claim %d gave in one step\n%+v\nand in two\n%+v", i+1, rows, claimed[1][i])
				}
			}
		})
	}
}

func TestClaimInStepsHeedsThePauseAndTheWorker(t *testing.T) {
	for name, stop := range map[string]func(context.Context, *claimer, db.Querier) error{
		"paused": func(ctx context.Context, _ *claimer, q db.Querier) error {
			_, err := q.Pause(ctx, db.PauseParams{Queue: jobs.DefaultQueue, Now: 0})
			return err
		},
		"ended": func(ctx context.Context, c *claimer, q db.Querier) error {
			_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: 0, EndReason: "lost", ID: c.id})
			return err
		},
	} {
		c := newClaimer(t)
		c.add(t, "a", 0, 20)
		c.write(t, func(ctx context.Context, q db.Querier) error { return stop(ctx, c, q) })
		if rows := c.claim(t, 10, true); len(rows) > 0 {
			t.Errorf("%s: %d jobs were claimed", name, len(rows))
		}
	}
}

func TestClaimInStepsLeavesWhatATriggerIgnores(t *testing.T) {
	for _, steps := range []bool{false, true} {
		c := newClaimer(t)
		exec(t, plain(t, c.store.path), "ignore_claims")
		c.add(t, "a", 0, 10)
		c.add(t, "a", 5, 1)
		c.add(t, "a", 0, 10)
		rows := c.claim(t, 100, steps)
		if len(rows) != 20 || slices.ContainsFunc(rows, func(r db.ClaimJobsRow) bool { return r.Priority == 5 }) {
			t.Errorf("in steps: %v: %d jobs were claimed: %+v", steps, len(rows), rows)
		}
	}
}

// The statements for ranges and for lists of ids apply the fence to each id.
func TestCompletionOfManyIsFenced(t *testing.T) {
	c := newClaimer(t)
	c.add(t, "a", 0, 40)
	var ids []int64
	for _, row := range c.claim(t, 30, true) {
		ids = append(ids, row.ID)
	}
	lost, again, gone := ids[3], ids[12], ids[25]
	c.write(t, func(ctx context.Context, q db.Querier) error {
		// One is released, one is claimed once more, by the same worker, and one has ended.
		for _, id := range []int64{lost, again} {
			if _, err := q.ReturnJob(ctx, db.ReturnJobParams{Status: "pending", Uncounted: 1, Now: 0, ID: id, Attempt: 1, WorkerID: c.id}); err != nil {
				return err
			}
		}
		if n, err := c.store.writer.writes.only.StartJobs(ctx, sqliteonly.StartJobsParams{WorkerID: c.id, LeaseUntil: 0, Now: 0, Ids: core.JSONIDs([]int64{again})}); err != nil || n != 1 {
			return fmt.Errorf("claimed %d jobs again: %w", n, err)
		}
		_, err := q.EndJob(ctx, db.EndJobParams{Status: "failed", Now: 0, ID: gone, Attempt: 1, WorkerID: c.id})
		return err
	})
	left := ids[20]
	ids = slices.DeleteFunc(ids, func(id int64) bool { return id == left }) // a gap
	if done := c.complete(t, ids...); done != 26 {
		t.Errorf("%d jobs were completed", done)
	}
	want := map[int64]jobs.Status{lost: jobs.StatusPending, again: jobs.StatusRunning, gone: jobs.StatusFailed, left: jobs.StatusRunning}
	for id := ids[0]; id < ids[0]+40; id++ {
		status := jobs.StatusDone
		if s, ok := want[id]; ok {
			status = s
		} else if id > ids[len(ids)-1] {
			status = jobs.StatusPending
		}
		if job := c.job(t, id); job.Status != status {
			t.Errorf("job %d is %s, want %s", id, job.Status, status)
		}
	}
	if done := c.complete(t, ids...); done != 0 {
		t.Errorf("%d jobs were completed twice", done)
	}

	// A list in another notation is completed as well.
	c.write(t, func(ctx context.Context, q db.Querier) error {
		n, err := q.CompleteJobs(ctx, db.CompleteJobsParams{Now: 0, WorkerID: c.id, Attempt: 1, Ids: fmt.Sprintf("[ %d ]", left)})
		if err == nil && n != 1 {
			err = fmt.Errorf("%d jobs were completed", n)
		}
		return err
	})
}
