package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// keeps are times that rules say.
var keeps = []time.Duration{
	time.Minute, time.Second + time.Microsecond, time.Second + 1500, time.Second, time.Hour, 3 * time.Hour, 24 * time.Hour, 100 * 365 * 24 * time.Hour, jobs.Forever,
}

// keepings are times of runners.
var keepings = []keeping{
	{jobs.StatusDone: 24 * time.Hour, jobs.StatusFailed: jobs.Forever, jobs.StatusCancelled: time.Hour},
	{jobs.StatusDone: jobs.Forever, jobs.StatusFailed: jobs.Forever, jobs.StatusCancelled: jobs.Forever},
	{jobs.StatusDone: time.Second, jobs.StatusFailed: 90 * time.Minute, jobs.StatusCancelled: time.Minute},
}

// setRules sets some rules of retention: several that fit one job, of which the closest counts.
func (m *machine) setRules(t *rapid.T) {
	fits := m.setFitting(t)
	if seldom(t, "and the program of the kind", 3) {
		m.declare(t, map[string]time.Duration{fits.kind: pick(t, "keep", keeps)})
	}
	if rapid.Bool().Draw(t, "and a pass") {
		m.pruneByRules(t)
	}
}

// setRulesInTx does so in a transaction of the application's, which no program's rule is part of.
func (m *machine) setRulesInTx(t *rapid.T) { m.setFitting(t) }

func (m *machine) setFitting(t *rapid.T) place {
	fits := m.fitting(t)
	places := []place{fits, {kind: fits.kind, status: fits.status}, {queue: fits.queue, status: fits.status}, {status: fits.status}}
	for _, at := range some(t, "places", places, 1, 3) {
		m.setRule(t, at)
	}
	return fits
}

// setRule sets a rule of retention.
func (m *machine) setRule(t *rapid.T, at place) {
	bad := m.spoil(t, &at)
	keep := pick(t, "keep", keeps)
	if seldom(t, "bad time", 20) {
		bad, keep = true, pick(t, "bad time", []time.Duration{0, jobs.Nothing, time.Second - 1, -time.Hour, 100*365*24*time.Hour + 1})
	}
	want, wantErr := m.model.setRule(at, keep, bad)
	t.Logf("keep %+v for %s: %v, %v", at, keep, want, wantErr)
	each(m, "set a rule", want, wantErr, func(e *engine) (bool, error) {
		return inspect.New(e.client).SetRetention(m.ctx, inspect.RetentionRule{Queue: at.queue, Kind: at.kind, Status: at.status, Keep: keep})
	})
}

// removeRule removes a rule, most often one that there is.
func (m *machine) removeRule(t *rapid.T) {
	at := m.fitting(t)
	bad := m.spoil(t, &at)
	if rules := m.model.retentions(); len(rules) > 0 && !seldom(t, "any rule", 3) {
		r := pick(t, "rule", rules)
		at, bad = place{queue: r.Queue, kind: r.Kind, status: r.Status}, false
	}
	want, wantErr := m.model.removeRule(at, bad)
	t.Logf("remove the rule for %+v: %v, %v", at, want, wantErr)
	each(m, "remove a rule", want, wantErr, func(e *engine) (bool, error) {
		return inspect.New(e.client).RemoveRetention(m.ctx, inspect.RetentionRule{Queue: at.queue, Kind: at.kind, Status: at.status})
	})
}

// fitting draws a queue, a kind and a status: most often those of a job that has ended.
func (m *machine) fitting(t *rapid.T) place {
	if ended := m.model.having(func(j *job) bool { return !j.live() }); len(ended) > 0 && !seldom(t, "any place", 4) {
		j := m.model.job(pick(t, "job that has ended", idsOf(ended)))
		return place{queue: j.Queue, kind: j.Kind, status: j.Status}
	}
	status := pick(t, "status", []jobs.Status{jobs.StatusDone, jobs.StatusFailed, jobs.StatusCancelled})
	return place{queue: pick(t, "queue", queues), kind: pick(t, "kind", kinds), status: status}
}

// spoil makes a place bad now and then.
func (m *machine) spoil(t *rapid.T, at *place) (bad bool) {
	if bad = seldom(t, "bad place", 20); bad {
		switch pick(t, "what is bad", []string{"status", "queue", "kind"}) {
		case "status":
			at.status = pick(t, "status", []jobs.Status{jobs.StatusPending, jobs.StatusRunning, "", "deleted"})
		case "queue":
			at.queue = strings.Repeat("q", 201)
		case "kind":
			at.kind = "a\nb"
		}
	}
	return bad
}

// declareRules puts the rules of a program, as the worker does that puts its declarations in force.
func (m *machine) declareRules(t *rapid.T) {
	theirs := map[string]time.Duration{}
	for _, kind := range some(t, "kinds", kinds, 1, 2) {
		theirs[kind] = pick(t, "keep", keeps)
	}
	m.declare(t, theirs)
}

func (m *machine) declare(t *rapid.T, theirs map[string]time.Duration) {
	want := m.model.declare(theirs)
	t.Logf("a program keeps %v: %v", theirs, want)
	each(m, "declare rules", want, nil, func(e *engine) (map[string]time.Duration, error) {
		changed := map[string]time.Duration{}
		return changed, e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) error {
			clear(changed)
			before, err := declaredRules(ctx, q)
			if err != nil {
				return err
			}
			for _, kind := range slices.Sorted(maps.Keys(theirs)) {
				keep := prune.KeepColumn(theirs[kind])
				if before[kind] == prune.KeepOf(keep) {
					continue
				}
				changed[kind] = before[kind]
				if err := q.DeclareRetention(ctx, db.DeclareRetentionParams{Kind: kind, Keep: keep, Now: core.Micros(e.store.Now())}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// declaredRules returns the times of the rules that programs declared, by kind.
func declaredRules(ctx context.Context, q db.Querier) (map[string]time.Duration, error) {
	rules, err := q.ListRetentions(ctx)
	keeps := map[string]time.Duration{}
	for _, r := range rules {
		if r.Origin == prune.OriginCode {
			keeps[r.Kind] = prune.KeepOf(r.Keep)
		}
	}
	return keeps, err
}

// retention returns the pruner of an engine.
func (m *machine) retention(store port.Store, keep keeping) *prune.JobPruner {
	return &prune.JobPruner{
		Scope: &port.Scope{Store: store}, Notes: &refusal.Notes{}, Process: m.clock.sinceStart,
		Keep: prune.Retention{Done: keep[jobs.StatusDone], Failed: keep[jobs.StatusFailed], Cancelled: keep[jobs.StatusCancelled]},
	}
}

// pruneByRules makes a pass of the pruner that lives as long as the processes, and remembers what it has read. It may miss that some jobs'
// time is over: when one engine removes such a job, the model and the other engines do too.
func (m *machine) pruneByRules(t *rapid.T) {
	if m.pruner == nil {
		m.pruner = &pruner{keep: pick(t, "times of the runner", keepings)}
		for _, e := range m.engines {
			e.retention = m.retention(e.store, m.pruner.keep)
		}
	}
	if len(m.model.jobs) > prune.Chunk { // then they are several ranges
		return
	}
	m.waitForPass(t)
	must, may := m.pruner.pass(m.model, m.clock.sinceStart())
	newest := m.model.newest()
	gone, emptied := map[int64]bool{}, false
	for _, e := range m.engines {
		ids, err := m.removedBy(e)
		if err != nil {
			m.fault(e, "prune by the rules", err.Error())
		}
		if !slices.Contains(may, newest) {
			// neither removed nor emptied
		} else if now, err := e.isEmpty(m.ctx, newest); err != nil {
			m.fault(e, "prune by the rules", err.Error())
		} else if emptied = emptied || now; !now && slices.Contains(must, newest) {
			m.fault(e, "prune by the rules", fmt.Sprintf("job %d is not emptied, which is the newest and whose time is over", newest.ID))
		}
		for _, j := range must {
			if j != newest && !slices.Contains(ids, j.ID) {
				m.fault(e, "prune by the rules", fmt.Sprintf("job %d is there, whose time is over", j.ID))
			}
		}
		for _, id := range ids {
			if gone[id] = true; id == newest.ID || !slices.Contains(idsOf(may), id) {
				m.fault(e, "prune by the rules", fmt.Sprintf("job %d is gone, which is kept", id))
			}
		}
	}
	t.Logf("prune by the rules: %v, at least %v, at most %v; the newest is emptied: %v", gone, idsOf(must), idsOf(may), emptied)
	if len(m.faults) > 0 {
		return
	}
	m.drop(func(j *job) bool { return gone[j.ID] })
	if emptied {
		m.empty(newest)
	}
}

// isEmpty reports whether a job is emptied.
func (e *engine) isEmpty(ctx context.Context, j *job) (bool, error) {
	now, err := e.client.Get(ctx, e.jobs.to(j.ID))
	return (&job{Job: now}).isEmpty(), err
}

// empty empties a job, where that is still to do.
func (m *machine) empty(j *job) {
	j.empty()
	for _, e := range m.engines {
		err := e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) error {
			if _, err := q.EmptyJob(ctx, db.EmptyJobParams{ID: e.jobs.to(j.ID), Before: micro(m.model.now), Now: micro(m.model.now)}); err != nil {
				return err
			}
			return q.DeleteJobErrors(ctx, e.jobs.to(j.ID))
		})
		if err != nil {
			m.fault(e, "empty a job", err.Error())
		}
	}
}

// waitForPass lets time pass before a pass: none, until jobs that are added now are not too young, or until the time of one is over.
func (m *machine) waitForPass(t *rapid.T) {
	waits := []time.Duration{0, 0}
	if soonest := m.model.soonest(m.pruner.keep); soonest <= 24*time.Hour {
		waits = append(waits, soonest, soonest+time.Microsecond)
	}
	for _, j := range m.model.jobs {
		if wait := m.keptUntil(j).Sub(m.model.now); wait >= 0 && wait <= 24*time.Hour {
			waits = append(waits, wait, wait+time.Microsecond)
		}
	}
	m.pass(pick(t, "time until the pass", waits))
	t.Logf("it is %s", m.model.now)
}

// removedBy makes a pass and returns the jobs that are gone by it.
func (m *machine) removedBy(e *engine) (gone []int64, err error) {
	sum, err := e.retention.Pass(m.ctx)
	if err != nil {
		return nil, err
	}
	list, err := e.allJobs(m.ctx)
	there := map[int64]bool{}
	for _, j := range list {
		there[e.jobs.from(j.ID)] = true
	}
	for _, j := range m.model.jobs {
		if !there[j.ID] {
			gone = append(gone, j.ID)
		}
	}
	m.fault(e, "the number of jobs that a pass removed", differences(sum.Deleted, int64(len(gone)))...)
	return gone, err
}

// drop deletes jobs for which a condition holds, where they still are.
func (m *machine) drop(gone func(*job) bool) {
	for _, id := range idsOf(m.model.having(gone)) {
		for _, e := range m.engines {
			if err := e.client.Delete(m.ctx, e.jobs.to(id)); err != nil && !isError(err, jobs.ErrNotFound) {
				m.fault(e, "delete a job", err.Error())
			}
		}
	}
	m.model.remove(gone)
}

// pruneAnew makes the first pass of another pruner, which remembers nothing.
func (m *machine) pruneAnew(t *rapid.T) {
	m.pruneOnce(t, pick(t, "times of the runner", keepings))
}

func (m *machine) pruneOnce(t *rapid.T, keep keeping) {
	if len(m.model.jobs) > prune.Chunk {
		return
	}
	must, _ := (&pruner{keep: keep}).pass(m.model, m.clock.sinceStart())
	newest := m.model.newest()
	want := m.model.remove(func(j *job) bool { return j != newest && slices.Contains(must, j) })
	if slices.Contains(must, newest) {
		newest.empty()
	}
	t.Logf("prune anew, with %v: %d, and of %v the newest", keep, want, idsOf(must))
	each(m, "prune anew", want, nil, func(e *engine) (n int64, err error) {
		err = e.elsewhere(m.ctx, func(store port.Store) error {
			sum, err := m.retention(store, keep).Pass(m.ctx)
			n = sum.Deleted
			return err
		})
		return n, err
	})
}

// pruneBeforeDrain removes the jobs that a runner's pruner may remove or empty at its own time.
func (m *machine) pruneBeforeDrain(t *rapid.T) {
	const forever = 1 // of keepings
	m.pruneOnce(t, keepings[forever])
	m.drop(func(j *job) bool { return m.model.isOver(j, keepings[forever]) }) // also those after which the pass ended
}

// lookAtRules reads the rules of retention.
func (e *engine) lookAtRules(ctx context.Context, v *view) (err error) {
	v.Retentions, err = inspect.New(e.client).Retentions(ctx)
	return err
}
