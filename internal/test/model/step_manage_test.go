package model

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"pgregory.net/rapid"
)

// ages are the ages of pruned jobs.
var ages = []time.Duration{0, 1, time.Microsecond, time.Second, time.Hour, 24 * time.Hour}

// anyJob draws the id of a job, which may not exist.
func (m *machine) anyJob(t *rapid.T) int64 {
	if len(m.model.jobs) == 0 || seldom(t, "a job that may be gone", 10) {
		return rapid.Int64Range(1, m.model.lastJob+1).Draw(t, "job")
	}
	return pick(t, "job", idsOf(m.model.jobs))
}

func idsOf(list []*job) []int64 {
	var all []int64
	for _, j := range list {
		all = append(all, j.ID)
	}
	return all
}

// jobWith draws the id of a job for which a condition holds, if there is one, and now and then of any job.
func (m *machine) jobWith(t *rapid.T, holds func(*job) bool) int64 {
	list := m.model.having(holds)
	if len(list) == 0 || seldom(t, "any job", 3) {
		return m.anyJob(t)
	}
	return pick(t, "job", idsOf(list))
}

// cancel cancels any job, running ones more often.
func (m *machine) cancel(t *rapid.T) {
	id := m.jobWith(t, func(j *job) bool { return j.Status == jobs.StatusRunning })
	want, wantErr := m.model.cancel(id)
	t.Logf("cancel job %d: %s, %v", id, want, wantErr)
	each(m, "cancel", want, wantErr, func(e *engine) (jobs.Status, error) { return e.client.Cancel(m.ctx, e.jobs.to(id)) })
}

// retry retries any job. Failed and cancelled jobs, and jobs that wait for another attempt, are drawn more often.
func (m *machine) retry(t *rapid.T) {
	id := m.jobWith(t, func(j *job) bool {
		return j.Status == jobs.StatusFailed || j.Status == jobs.StatusCancelled || j.Status == jobs.StatusScheduled && j.Attempt > 0
	})
	wantErr := m.model.retry(id)
	t.Logf("retry job %d: %v", id, wantErr)
	each(m, "retry", struct{}{}, wantErr, func(e *engine) (struct{}, error) {
		return struct{}{}, e.client.Retry(m.ctx, e.jobs.to(id))
	})
}

// retryFailed retries all failed jobs of a filter.
func (m *machine) retryFailed(t *rapid.T) {
	f := m.failedFilter(t)
	want := m.model.retryFailed(f)
	t.Logf("retry failed jobs of %+v: %d", f, want)
	each(m, "retry failed", want, nil, func(e *engine) (int64, error) { return inspect.New(e.client).RetryFailed(m.ctx, f) })
}

func (m *machine) failedFilter(t *rapid.T) inspect.FailedFilter {
	var f inspect.FailedFilter
	if rapid.Bool().Draw(t, "filter by kind") {
		f.Kind = pick(t, "kind", kinds)
	}
	if rapid.Bool().Draw(t, "filter by time") {
		f.Since = m.model.now.Add(-pick(t, "age", ages))
	}
	return f
}

// remove deletes any job.
func (m *machine) remove(t *rapid.T) {
	id := m.anyJob(t)
	wantErr := m.model.delete(id)
	t.Logf("delete job %d: %v", id, wantErr)
	each(m, "delete", struct{}{}, wantErr, func(e *engine) (struct{}, error) {
		return struct{}{}, e.client.Delete(m.ctx, e.jobs.to(id))
	})
}

// prune deletes jobs that have ended: most often the jobs that ended before, or up to, the end of one of them.
func (m *machine) prune(t *rapid.T) {
	status, age := jobs.StatusPending, time.Duration(-1)
	ended := m.model.having(func(j *job) bool { return !j.live() })
	if len(ended) == 0 || seldom(t, "any status and age", 5) {
		status, age = pick(t, "status", jobs.Statuses()), pick(t, "age", append([]time.Duration{-1}, ages...))
	} else {
		j := m.model.job(pick(t, "job that has ended", idsOf(ended)))
		status = j.Status
		age = pick(t, "age", []time.Duration{0, m.model.now.Sub(j.FinishedAt), max(0, m.model.now.Sub(j.FinishedAt)-time.Microsecond)})
	}
	want, wantErr := m.model.prune(status, age)
	t.Logf("prune %s jobs older than %s: %d, %v", status, age, want, wantErr)
	each(m, "prune", want, wantErr, func(e *engine) (int64, error) { return inspect.New(e.client).Prune(m.ctx, status, age) })
}

// expire does the work of a runner's service on jobs that were not started in time.
func (m *machine) expire(t *rapid.T) {
	want := m.model.expire()
	t.Logf("expire: %d", want)
	each(m, "expire", want, nil, func(e *engine) (int, error) {
		expiry := maintenance.Expirer{Store: e.store, Notes: &refusal.Notes{}}
		return expiry.Once(m.ctx)
	})
}

// settleOverdue does the work of a drain when it begins, and of a scheduler each second.
func (m *machine) settleOverdue(t *rapid.T) {
	m.model.settleOverdue()
	t.Log("settle what is overdue")
	each(m, "settle what is overdue", struct{}{}, nil, func(e *engine) (struct{}, error) {
		upkeep := maintenance.Upkeep{Store: e.store, Notes: &refusal.Notes{}, Log: slog.New(slog.DiscardHandler), Declared: "[]"}
		return struct{}{}, upkeep.SettleOverdue(m.ctx)
	})
}

// advance sets the clock forward: by some time, or to the time of a change.
func (m *machine) advance(t *rapid.T) {
	steps := []time.Duration{time.Microsecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 10 * 24 * time.Hour}
	for _, j := range m.model.jobs {
		for _, at := range []time.Time{j.RunAfter, j.LeaseUntil, j.StartBy, m.keptUntil(j)} {
			if at.After(m.model.now) {
				steps = append(steps, at.Sub(m.model.now), at.Sub(m.model.now)+time.Microsecond)
			}
		}
	}
	var ends []time.Duration // read from maps, so in no order
	for _, taken := range m.model.periods {
		ends = append(ends, taken.until.Sub(m.model.now))
	}
	for _, row := range m.model.pauses {
		ends = append(ends, row.Until.Sub(m.model.now))
	}
	for _, s := range m.model.schedules {
		ends = append(ends, s.Next.Sub(m.model.now))
	}
	slices.Sort(ends)
	steps = append(steps, slices.DeleteFunc(ends, func(d time.Duration) bool { return d <= 0 })...)
	step := pick(t, "time", steps)
	m.pass(step)
	t.Logf("%s later it is %s", step, m.model.now)
}

// prunePeriods removes the unique keys that are free again, as a runner's pruner does at its own time.
func (m *machine) prunePeriods(t *rapid.T) {
	want := m.model.prunePeriods()
	t.Logf("prune %d unique keys", want)
	each(m, "prune unique keys", want, nil, func(e *engine) (n int64, err error) {
		err = e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
			n, err = q.DeletePastUniqueKeys(ctx, db.DeletePastUniqueKeysParams{Now: micro(m.model.now), N: 1000})
			return err
		})
		return n, err
	})
}

// keptUntil returns when the time of a job is over; zero for never.
func (m *machine) keptUntil(j *job) time.Time {
	otherwise := keeping{jobs.StatusDone: jobs.Forever, jobs.StatusFailed: jobs.Forever, jobs.StatusCancelled: jobs.Forever}
	if m.pruner != nil {
		otherwise = m.pruner.keep
	}
	keep := m.model.keptFor(j, otherwise)
	if j.live() || keep == jobs.Forever {
		return time.Time{}
	}
	return j.FinishedAt.Add(keep)
}

// setAhead sets the clock ahead, while the processes' own clocks go on as before.
func (m *machine) setAhead(t *rapid.T) {
	step := pick(t, "time", []time.Duration{time.Second, time.Microsecond, 45 * time.Second, time.Hour})
	m.setClock(m.model.now.Add(step))
	t.Logf("the clock is set ahead by %s", step)
	if len(m.model.jobs) > 0 && rapid.Bool().Draw(t, "and a pass") {
		m.pruneByRules(t)
	}
}

// setBack sets the clock back, as people and time servers do.
func (m *machine) setBack(t *rapid.T) {
	step := pick(t, "time", []time.Duration{time.Microsecond, time.Second, time.Hour, 25 * time.Hour})
	m.setClock(m.model.now.Add(-step))
	t.Logf("%s earlier it is %s", step, m.model.now)
}

// pass lets time pass.
func (m *machine) pass(step time.Duration) {
	m.setClock(m.model.now.Add(step))
	m.clock.process.Add(int64(step))
}

func (m *machine) setClock(now time.Time) {
	m.model.now = now
	m.clock.set(now)
}
