package model

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/inspect"
	"pgregory.net/rapid"
)

// leases are the lengths of leases of workers and claims.
var leases = []time.Duration{time.Minute, time.Second, 24 * time.Hour}

// startWorker adds the row and the lock of a worker that the test plays.
func (m *machine) startWorker(t *rapid.T) {
	info := inspect.WorkerInfo{
		Name: pick(t, "name", workers), Host: "host", PID: 42, Version: pick(t, "version", []string{"", "v1"}),
		Queues: map[string]int{}, Kinds: some(t, "kinds", kinds, 1, 3),
	}
	for _, name := range some(t, "queues", queues, 1, 2) {
		info.Queues[name] = rapid.IntRange(1, 9).Draw(t, "slots")
	}
	lease := pick(t, "lease", leases)
	w := m.model.register(info, lease)
	var want int64
	var wantErr error = sql.ErrNoRows
	if w != nil {
		want, wantErr = w.id, nil
	}
	t.Logf("start worker %d: %+v, %v", want, info, wantErr)
	each(m, "start a worker", want, wantErr, func(e *engine) (int64, error) {
		key, release, err := e.store.WorkerLocks().HoldWorkerLock(m.ctx)
		if err != nil {
			return 0, err
		}
		var id int64
		err = e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
			id, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
				Name: info.Name, LockKey: key, Host: info.Host, Pid: int64(info.PID), Version: info.Version,
				Queues: string(encoded(info.Queues)), Kinds: string(encoded(info.Kinds)),
				Now: micro(m.model.now), LeaseUntil: micro(m.model.now.Add(lease)),
			})
			return err
		})
		if err != nil || w == nil {
			return 0, errors.Join(err, release(true))
		}
		e.locks[want] = workerLock{key, release}
		if !e.workers.learn(want, id) {
			m.fault(e, "start a worker", "the id is not above all before it")
		}
		return want, nil
	})
}

func micro(t time.Time) int64 { return t.UnixMicro() }

// anyWorker draws the id of a worker, which may not exist, live ones more often.
func (m *machine) anyWorker(t *rapid.T) int64 {
	var all []int64
	for _, w := range m.model.live() {
		all = append(all, w.id, w.id)
	}
	for _, w := range m.model.workers {
		if !w.endedAt.IsZero() {
			all = append(all, w.id)
		}
	}
	if len(all) == 0 || seldom(t, "a worker that may be gone", 10) {
		return rapid.Int64Range(1, m.model.lastWorker+1).Draw(t, "worker")
	}
	return pick(t, "worker", all)
}

// stopWorker ends the row of a worker, as a stopping worker does, whether it has released its jobs or not.
func (m *machine) stopWorker(t *rapid.T) {
	id := m.anyWorker(t)
	want := m.model.endWorker(id, "stopped")
	t.Logf("stop worker %d: %d", id, want)
	each(m, "stop a worker", want, nil, func(e *engine) (n int64, err error) {
		err = e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
			n, err = q.EndWorker(ctx, db.EndWorkerParams{Now: micro(m.model.now), EndReason: "stopped", ID: e.workers.to(id)})
			return err
		})
		return n, errors.Join(err, e.releaseLock(m.ctx, id, true))
	})
}

// killWorker leaves the traces of a worker whose process was killed: others find its lock free.
func (m *machine) killWorker(t *rapid.T) {
	var locked []int64
	for _, w := range m.model.live() {
		if w.locked {
			locked = append(locked, w.id)
		}
	}
	id := pick(t, "worker", locked)
	m.model.worker(id).locked = false
	t.Logf("kill worker %d", id)
	each(m, "kill a worker", struct{}{}, nil, func(e *engine) (struct{}, error) {
		return struct{}{}, e.releaseLock(m.ctx, id, false)
	})
}

// heartbeat renews the lease of a worker and those of the jobs that it believes to hold.
func (m *machine) heartbeat(t *rapid.T) {
	id := m.anyWorker(t)
	fences := m.fences(t, id)
	lease := pick(t, "lease", leases)
	want := []int64{m.model.heartbeat(id, lease), m.model.extend(fences, lease)}
	t.Logf("renew the lease of worker %d and of %v: %v", id, fences, want)
	each(m, "renew leases", want, nil, func(e *engine) ([]int64, error) {
		var worker, extended int64
		err := e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
			until := micro(m.model.now.Add(lease))
			worker, err = q.HeartbeatWorker(ctx, db.HeartbeatWorkerParams{Now: micro(m.model.now), LeaseUntil: until, ID: e.workers.to(id)})
			if err != nil {
				return err
			}
			extended, err = q.ExtendLeases(ctx, db.ExtendLeasesParams{
				LeaseUntil: until, WorkerID: e.workers.to(id), Items: e.items(fences),
			})
			return err
		})
		return []int64{worker, extended}, err
	})
}

// rescue rescues stuck jobs, as a runner's heartbeat does.
func (m *machine) rescue(t *rapid.T) {
	r := rescue{
		judgeLeases: rapid.Bool().Draw(t, "judge leases"), maxCrashes: rapid.IntRange(1, 3).Draw(t, "max crashes"),
		failAll: seldom(t, "fail all", 5),
	}
	if rapid.Bool().Draw(t, "end a worker") {
		r.worker, r.reason = m.anyWorker(t), pick(t, "reason", []string{"crash", "lost"})
	}
	m.model.rescue(r)
	t.Logf("rescue %+v", r)
	each(m, "rescue", struct{}{}, nil, func(e *engine) (struct{}, error) {
		return struct{}{}, e.rescue(m.ctx, m.model.now, r)
	})
}

func (e *engine) rescue(ctx context.Context, at time.Time, r rescue) error {
	var before int64
	if r.judgeLeases {
		before = micro(at)
	}
	var end *db.EndWorkerParams
	if r.worker != 0 {
		end = &db.EndWorkerParams{EndReason: r.reason, ID: e.workers.to(r.worker)}
	}
	rescuer := maintenance.Rescuer{Store: e.store, Log: slog.New(slog.DiscardHandler), MaxCrashes: r.maxCrashes, Notes: &refusal.Notes{}}
	return rescuer.Reset(ctx, r.failAll, before, end, "")
}

// forgetWorkers removes the rows of ended workers.
func (m *machine) forgetWorkers(t *rapid.T) {
	m.forget(pick(t, "age", ages))
}

func (m *machine) forget(age time.Duration) {
	want := m.model.forget(age)
	m.lookAnew() // errors no longer show the names of those workers
	each(m, "forget workers", want, nil, func(e *engine) (n int64, err error) {
		err = e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
			n, err = q.DeleteEndedWorkers(ctx, micro(m.model.now.Add(-age)))
			return err
		})
		return n, err
	})
}
