package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// lastTime is the run_after of the row of a successor.
var lastTime = time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)

// peeked is the data that runners read beyond the public API.
type peeked struct {
	Claimable, Unfinished int64 // the number of such jobs in a queue by kind
	NextRunAfter          time.Time
	Work                  housework
	Held                  []heldJob
	Status                jobs.Status // of one job; empty when it does not exist
	Attempt, Holder       int64       // of the same
	Leases                map[int64]time.Time
	Pauses                map[paused]pause
}

// housework counts the maintenance work of a worker.
type housework struct{ Held, Stuck, Self, Live, Newest int64 }

// heldJob is a running job of one worker.
type heldJob struct {
	ID, Attempt     int64
	CancelRequested time.Time
}

// glance selects the data that a runner reads.
type glance struct {
	queue       string
	kinds       []string
	worker      int64
	job         int64
	judgeLeases bool
}

func (q *queue) peek(g glance) peeked {
	p := peeked{NextRunAfter: q.stats().NextDue, Leases: map[int64]time.Time{}, Pauses: q.pauses}
	if p.NextRunAfter.IsZero() && slices.ContainsFunc(q.jobs, func(j *job) bool { return j.Successor }) {
		p.NextRunAfter = lastTime
	}
	for _, kind := range g.kinds {
		paused := q.isPaused(g.queue, kind)
		has := func(condition func(*job) bool) bool {
			return slices.ContainsFunc(q.jobs, func(j *job) bool { return j.Queue == g.queue && j.Kind == kind && condition(j) })
		}
		if !paused && has(func(j *job) bool { return j.Status == jobs.StatusPending }) {
			p.Claimable++
		}
		if !paused && has(func(j *job) bool { return q.waits(j) && !j.RunAfter.After(q.now) }) ||
			has(func(j *job) bool { return j.Status == jobs.StatusRunning }) {
			p.Unfinished++
		}
	}
	for _, j := range q.jobs {
		if q.isStuck(j, g.judgeLeases) {
			p.Work.Stuck++
		}
		if j.Status == jobs.StatusRunning && j.WorkerID == g.worker {
			p.Work.Held++
			p.Held = append(p.Held, heldJob{j.ID, int64(j.Attempt), j.CancelRequested})
		}
	}
	slices.SortFunc(p.Held, func(a, b heldJob) int { return cmp.Compare(a.ID, b.ID) })
	if j := q.job(g.job); j != nil {
		p.Status, p.Attempt, p.Holder = j.Status, int64(j.Attempt), j.WorkerID
	}
	for _, w := range q.workers {
		p.Work.Newest = max(p.Work.Newest, w.id)
	}
	for _, w := range q.live() {
		p.Leases[w.id] = w.lease
		p.Work.Live++
		if w.id == g.worker {
			p.Work.Self++
		}
	}
	return p
}
