package model

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// claim makes due jobs pending and gives some jobs of a queue to a worker, as a runner's cycle does.
func (m *machine) claim(t *rapid.T) {
	id := m.anyWorker(t)
	name := m.anyQueue(t)
	take := kinds
	if rapid.Bool().Draw(t, "not all kinds") {
		take = some(t, "kinds", kinds, 1, len(kinds))
	}
	n := rapid.IntRange(1, 4).Draw(t, "jobs")
	lease := pick(t, "lease", leases)
	prefetch := rapid.Int64Range(0, 1).Draw(t, "more jobs than free slots")
	promote := m.model.untied(rapid.Int64Range(0, 5).Draw(t, "due jobs"))

	promoted := m.model.promote(promote)
	var want []jobs.Job
	for _, j := range m.model.claim(m.model.worker(id), name, take, n, lease, prefetch == 1) {
		want = append(want, claimed(j.Job))
	}
	t.Logf("promote %d of %d, worker %d claims %d of queue %s: %v", promoted, promote, id, n, name, jobIDs(want))
	each(m, "claim", want, nil, func(e *engine) (list []jobs.Job, err error) {
		err = e.writeElsewhere(m.ctx, func(ctx context.Context, q db.Querier) error {
			have, err := q.PromoteDueJobs(ctx, db.PromoteDueJobsParams{Now: micro(m.model.now), N: promote})
			if err != nil {
				return err
			}
			m.fault(e, "promote", differences(have, promoted)...)
			rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
				WorkerID: e.workers.to(id), LeaseUntil: micro(m.model.now.Add(lease)), Now: micro(m.model.now),
				Kinds: string(encoded(take)), Queue: name, N: int64(n), Prefetch: prefetch,
			})
			list = list[:0]
			for _, row := range rows { // in any order
				list = append(list, e.claimedRow(row, name))
			}
			slices.SortFunc(list, func(a, b jobs.Job) int { return better(&job{Job: a}, &job{Job: b}) })
			return err
		})
		return list, err
	})
}

// writeElsewhere runs statements as another process does: a store's memory of its claims, and their duration, must not
// matter here.
func (e *engine) writeElsewhere(ctx context.Context, fn func(ctx context.Context, q db.Querier) error) error {
	return e.elsewhere(ctx, func(store port.Store) error { return store.Write(ctx, fn) })
}

// anyQueue draws a queue; those with waiting jobs more often.
func (m *machine) anyQueue(t *rapid.T) string {
	waiting := m.model.having(func(j *job) bool { return j.Status == jobs.StatusPending || m.model.isDue(j) })
	if len(waiting) == 0 || seldom(t, "any queue", 10) {
		return pick(t, "queue", queues)
	}
	return m.model.job(pick(t, "job that waits", idsOf(waiting))).Queue
}

func jobIDs(list []jobs.Job) []int64 {
	var ids []int64
	for _, j := range list {
		ids = append(ids, j.ID)
	}
	return ids
}

// claimed returns the part of a job that a claim returns, without the fields that the job leaves to its kind.
func claimed(j jobs.Job) jobs.Job {
	if j.MaxAttemptsFrom != jobs.SettingOfJob {
		j.MaxAttempts = 0
	}
	if j.TimeoutFrom != jobs.SettingOfJob {
		j.Timeout = 0
	}
	return jobs.Job{
		ID: j.ID, Kind: j.Kind, Queue: j.Queue, Payload: j.Payload, Priority: j.Priority, RunAfter: j.RunAfter,
		Attempt: j.Attempt, Uncounted: j.Uncounted, MaxAttempts: j.MaxAttempts, Crashes: j.Crashes, Timeout: j.Timeout,
		UniqueKey: j.UniqueKey, RequestID: j.RequestID, UserID: j.UserID, Tags: j.Tags, Metadata: j.Metadata,
		CreatedAt: j.CreatedAt,
	}
}

func (e *engine) claimedRow(r db.ClaimJobsRow, queue string) jobs.Job {
	j := jobs.Job{
		ID: e.jobs.from(r.ID), Kind: r.Kind, Queue: queue, Payload: e.keys.open(r.Kind, cipher.Payload, r.Payload), Priority: int(r.Priority),
		RunAfter: time.UnixMicro(r.RunAfter).UTC(), Attempt: int(r.Attempt), Uncounted: int(r.Uncounted),
		MaxAttempts: int(r.MaxAttempts), Crashes: int(r.Crashes), Timeout: time.Duration(r.Timeout) * time.Microsecond,
		UniqueKey: deref(r.UniqueKey), RequestID: deref(r.RequestID), UserID: deref(r.UserID),
		CreatedAt: time.UnixMicro(r.CreatedAt).UTC(),
	}
	if r.Tags != nil {
		if err := json.Unmarshal([]byte(*r.Tags), &j.Tags); err != nil {
			j.Tags = []string{err.Error()}
		}
	}
	if r.Metadata != nil {
		j.Metadata = json.RawMessage(*r.Metadata)
	}
	return j
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
