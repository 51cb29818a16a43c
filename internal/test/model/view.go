package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// view is the public API's view of a queue.
type view struct {
	Order   []int64 // of the jobs: newest first
	Jobs    map[int64]jobs.Job
	Errors  map[int64][]inspect.AttemptEnd // of each job
	Failed  []int64                        // ids, the latest first
	Report  []failedError
	Stats   inspect.Stats
	Queues  []inspect.QueueInfo
	Workers []inspect.WorkerInfo

	Schedules []jobs.ScheduleInfo
	Ticks     map[string][]jobs.ScheduleTick // by schedule, newest first

	Retentions []inspect.RetentionRule

	Keys         map[int64]valueKeys  // of each job
	ErrorKeys    map[int64][]textKeys // of each job, in the order of its attempts
	ScheduleKeys map[string]string    // by schedule
}

func (q *queue) view() view {
	v := view{
		Jobs: map[int64]jobs.Job{}, Errors: map[int64][]inspect.AttemptEnd{}, Report: q.report(inspect.FailedFilter{}), Stats: q.stats(),
		Queues: q.queues(), Workers: q.workerInfos(), Retentions: q.retentions(),
	}
	v.Schedules, v.Ticks = q.scheduleInfos()
	v.Keys, v.ErrorKeys, v.ScheduleKeys = q.keyView()
	for _, j := range slices.Backward(q.jobs) {
		v.Order = append(v.Order, j.ID)
		v.Jobs[j.ID] = j.Job
		v.Errors[j.ID] = q.errorsOf(j)
	}
	for _, j := range q.failed(inspect.FailedFilter{}) {
		v.Failed = append(v.Failed, j.ID)
	}
	return v
}

func (q *queue) errorsOf(j *job) []inspect.AttemptEnd {
	var list []inspect.AttemptEnd
	for _, e := range j.attempts {
		if w := q.worker(e.worker); w != nil {
			e.Worker, e.Host = w.Name, w.Host
		}
		list = append(list, e.AttemptEnd)
	}
	return list
}

// list returns the jobs of a filter, newest first.
func (q *queue) list(f inspect.Filter) []jobs.Job {
	var list []jobs.Job
	for _, j := range slices.Backward(q.jobs) {
		if len(list) == f.Limit && f.Limit != 0 {
			break
		}
		if (f.Status == "" || j.Status == f.Status) && (f.Kind == "" || j.Kind == f.Kind) &&
			(f.Queue == "" || j.Queue == f.Queue) && (f.UserID == "" || j.UserID == f.UserID) &&
			(f.Tag == "" || slices.Contains(j.Tags, f.Tag)) && (f.After == 0 || j.ID < f.After) {
			list = append(list, j.Job)
		}
	}
	return list
}

// failedError is an error of the report of failed jobs, with the kind and the cause of its group.
type failedError struct {
	Kind  string
	Cause jobs.Cause
	inspect.FailedText
}

// lastCause returns the cause of the last attempt that failed: empty without one.
func (j *job) lastCause() (cause jobs.Cause) {
	for _, e := range j.attempts {
		if e.Cause.Failed() {
			cause = e.Cause
		}
	}
	return cause
}

// report returns the errors of failed jobs by kind and cause.
func (q *queue) report(f inspect.FailedFilter) []failedError {
	type key struct {
		kind, message, key string
		cause              jobs.Cause
	}
	groups := map[key]*failedError{}
	for _, j := range q.failed(f) {
		k := key{j.Kind, j.LastError, j.keysOf().LastError, j.lastCause()}
		g := groups[k]
		if g == nil { // failed gives the latest first
			g = &failedError{Kind: j.Kind, Cause: k.cause, FailedText: inspect.FailedText{Error: j.LastError, LastSeen: j.FinishedAt}}
			groups[k] = g
		}
		g.Jobs, g.FirstSeen, g.ExampleID = g.Jobs+1, j.FinishedAt, max(g.ExampleID, j.ID)
	}
	var list []failedError
	for _, g := range groups {
		list = append(list, *g)
	}
	return merged(list)
}

// merged returns errors in the order of the report, those of one kind and cause with one text as one.
func merged(list []failedError) []failedError {
	slices.SortFunc(list, frequent)
	var all []failedError
	for _, e := range list {
		i := slices.IndexFunc(all, func(m failedError) bool { return m.Kind == e.Kind && m.Cause == e.Cause && m.Error == e.Error })
		if i < 0 {
			all = append(all, e)
			continue
		}
		m := &all[i]
		m.Jobs, m.ExampleID = m.Jobs+e.Jobs, max(m.ExampleID, e.ExampleID)
		m.FirstSeen = earliest(m.FirstSeen, e.FirstSeen)
		if e.LastSeen.After(m.LastSeen) {
			m.LastSeen = e.LastSeen
		}
	}
	slices.SortFunc(all, frequent)
	return all
}

// frequent compares rows by the order of the report.
func frequent(a, b failedError) int {
	return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), b.LastSeen.Compare(a.LastSeen), cmp.Compare(b.ExampleID, a.ExampleID))
}

func (q *queue) stats() inspect.Stats {
	stats := inspect.Stats{Jobs: map[jobs.Status]int64{}, Workers: len(q.shown())}
	for _, status := range jobs.Statuses() {
		stats.Jobs[status] = int64(len(q.having(func(j *job) bool { return j.Status == status })))
	}
	unhandled := map[inspect.UnhandledWork]int64{}
	for _, j := range q.jobs {
		if j.Status == jobs.StatusScheduled && !j.Successor {
			stats.NextDue = earliest(stats.NextDue, j.RunAfter)
		}
		if q.waits(j) {
			if q.isHeld(j) {
				stats.OldestPaused = earliest(stats.OldestPaused, j.RunAfter)
			} else {
				stats.OldestPending = earliest(stats.OldestPending, j.RunAfter)
			}
			if !q.isTaken(j) {
				unhandled[inspect.UnhandledWork{Queue: j.Queue, Kind: j.Kind}]++
			}
		}
	}
	for work, n := range unhandled {
		work.Jobs = n
		stats.Unhandled = append(stats.Unhandled, work)
	}
	slices.SortFunc(stats.Unhandled, func(a, b inspect.UnhandledWork) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind))
	})
	return stats
}

// waits reports whether the job waits for a worker: it is pending, or due and not promoted yet.
func (q *queue) waits(j *job) bool { return j.Status == jobs.StatusPending || q.isDue(j) }

// isTaken reports whether a worker that is shown takes jobs of this queue and kind.
func (q *queue) isTaken(j *job) bool {
	return slices.ContainsFunc(q.shown(), func(w *worker) bool {
		return w.Queues[j.Queue] > 0 && slices.Contains(w.Kinds, j.Kind)
	})
}

// earliest returns the earlier of two times, of which the first may be zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func (q *queue) queues() []inspect.QueueInfo {
	infos := map[string]inspect.QueueInfo{}
	change := func(name string, change func(*inspect.QueueInfo)) {
		info := infos[name]
		info.Name = name
		change(&info)
		infos[name] = info
	}
	for _, j := range q.jobs {
		switch j.Status {
		case jobs.StatusScheduled:
			change(j.Queue, func(i *inspect.QueueInfo) { i.Scheduled++ })
		case jobs.StatusPending:
			change(j.Queue, func(i *inspect.QueueInfo) { i.Pending++ })
		case jobs.StatusRunning:
			change(j.Queue, func(i *inspect.QueueInfo) { i.Running++ })
		}
		if q.waits(j) {
			change(j.Queue, func(i *inspect.QueueInfo) { i.Oldest = earliest(i.Oldest, j.RunAfter) })
		}
	}
	q.showPauses(change)
	for _, w := range q.shown() {
		for name, slots := range w.Queues {
			change(name, func(i *inspect.QueueInfo) { i.Slots += slots })
		}
	}
	return slices.SortedFunc(maps.Values(infos), func(a, b inspect.QueueInfo) int { return strings.Compare(a.Name, b.Name) })
}

func (q *queue) workerInfos() []inspect.WorkerInfo {
	var list []inspect.WorkerInfo
	for _, w := range q.shown() {
		info := w.WorkerInfo
		info.Running = int64(len(q.having(func(j *job) bool { return j.Status == jobs.StatusRunning && j.WorkerID == w.id })))
		list = append(list, info)
	}
	return list
}
