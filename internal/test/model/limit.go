package model

import (
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// limitedQueue is a queue of jobs of one kind with limit keys. Which of several possible jobs a claim starts is the engine's choice: the
// model checks that it may.
type limitedQueue struct {
	now    time.Time
	jobs   map[int64]*limitedJob
	limits map[string]jobs.LimitValues // that were set, by key; the empty key is for all others
	wholes map[whole]jobs.LimitValues  // of all jobs, and of those of queues
	spent  map[any]time.Time           // until when earlier starts have used up the rates of keys, strings, and of wholes
	closed map[string]time.Time        // until when keys are closed
	passed map[string]int64            // the last failed job that no longer holds its key
}

// whole names what a limit of many keys bounds: the jobs of a queue, or all of the kind when it is empty.
type whole struct{ queue string }

// limitedJob is a job with a limit key.
type limitedJob struct {
	id         int64
	key, queue string
	priority   int
	due        time.Time
	status     jobs.Status
	attempt    int
}

func newLimitedQueue(now time.Time) *limitedQueue {
	return &limitedQueue{
		now: now, jobs: map[int64]*limitedJob{}, limits: map[string]jobs.LimitValues{}, wholes: map[whole]jobs.LimitValues{},
		spent: map[any]time.Time{}, closed: map[string]time.Time{}, passed: map[string]int64{},
	}
}

// having returns the jobs with a status, by id.
func (q *limitedQueue) having(status jobs.Status) (list []*limitedJob) {
	for _, j := range q.jobs {
		if j.status == status {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *limitedJob) int { return int(a.id - b.id) })
	return list
}

// count returns the number of jobs of a key with a status, of one queue or, when it is empty, of all.
func (q *limitedQueue) count(status jobs.Status, key, queue string) (n int) {
	for _, j := range q.having(status) {
		if j.key == key && (queue == "" || j.queue == queue) {
			n++
		}
	}
	return n
}

// limit returns the limit of a key.
func (q *limitedQueue) limit(key string) jobs.LimitValues {
	v, set := q.limits[key]
	if !set {
		v = q.limits[""]
	}
	if v.Ordered {
		v.Running = 1
	}
	return v
}

// first returns the job of a key that comes first where they run in order; nil: none waits or is scheduled.
func (q *limitedQueue) first(key string) *limitedJob {
	for _, j := range slices.SortedFunc(maps.Values(q.jobs), func(a, b *limitedJob) int { return int(a.id - b.id) }) {
		if j.key == key && (j.status == jobs.StatusScheduled || j.status == jobs.StatusWaiting) {
			return j
		}
	}
	return nil
}

// heldBy returns the last failed job of a key if the first one holds it; 0: none does. A failed job holds those behind it.
func (q *limitedQueue) heldBy(key string) (last int64) {
	if v := q.limit(key); !v.Ordered || v.OnFail == jobs.OnFailSkip || v.OnFail == jobs.OnFailCancel {
		return 0
	}
	first := q.first(key)
	for _, j := range q.having(jobs.StatusFailed) {
		if j.key != key || j.id <= q.passed[key] {
			continue
		}
		if last == 0 && first != nil && first.id < j.id {
			return 0
		}
		last = j.id
	}
	return last
}

// isBehind reports whether no job of a key may start from a queue, because the one that comes first cannot.
func (q *limitedQueue) isBehind(key, queue string) bool {
	if !q.limit(key).Ordered {
		return false
	}
	first := q.first(key)
	return q.heldBy(key) != 0 || first == nil || first.status != jobs.StatusWaiting || first.queue != queue
}

// cancelBehind cancels the jobs of a key that have not started, after one has failed, if its limit says so.
func (q *limitedQueue) cancelBehind(key string) {
	if v := q.limit(key); !v.Ordered || v.OnFail != jobs.OnFailCancel {
		return
	}
	for j := q.first(key); j != nil; j = q.first(key) {
		j.status = jobs.StatusCancelled
	}
}

// every returns the time of one start of a limit's rate, and that of a full burst; 0 without a rate.
func every(v jobs.LimitValues) (one, burst time.Duration) {
	if v.Rate.Starts == 0 {
		return 0, 0
	}
	micros := (v.Rate.Period.Microseconds() + int64(v.Rate.Starts) - 1) / int64(v.Rate.Starts)
	one = time.Duration(micros) * time.Microsecond
	return one, one * time.Duration(max(1, v.Burst))
}

// used returns until when starts have used up the rate of a key or a whole: no longer than a full burst does.
func (q *limitedQueue) used(of any, v jobs.LimitValues) time.Time {
	_, burst := every(v)
	used, last := q.spent[of], q.now.Add(burst)
	switch {
	case used.Before(q.now):
		return q.now
	case used.After(last):
		return last
	}
	return used
}

// unbounded stands for any number of starts.
const unbounded = 1 << 30

// tokens returns the number of starts that the rate of a key or a whole allows now.
func (q *limitedQueue) tokens(of any, v jobs.LimitValues) int {
	one, burst := every(v)
	if one == 0 {
		return unbounded
	}
	return int(q.now.Add(burst).Sub(q.used(of, v)) / one)
}

// spend notes a start of a key or a whole.
func (q *limitedQueue) spend(of any, v jobs.LimitValues) {
	if one, _ := every(v); one > 0 {
		q.spent[of] = q.used(of, v).Add(one)
	}
}

// isFull reports whether as many jobs of a key run as its limit allows.
func (q *limitedQueue) isFull(key string) bool {
	running := q.limit(key).Running
	return running > 0 && q.count(jobs.StatusRunning, key, "") >= running
}

// room returns the number of jobs of a key that its limit allows to start now.
func (q *limitedQueue) room(key string) int {
	if q.closed[key].After(q.now) {
		return 0
	}
	v := q.limit(key)
	n := q.tokens(key, v)
	if v.Running > 0 {
		n = min(n, max(0, v.Running-q.count(jobs.StatusRunning, key, "")))
	}
	return n
}

// wholeRoom returns the number of jobs of a queue that the limits of wholes allow to start now.
func (q *limitedQueue) wholeRoom(queue string) int {
	n := unbounded
	for _, of := range []whole{{}, {queue}} {
		v, set := q.wholes[of]
		if !set {
			continue
		}
		n = min(n, q.tokens(of, v))
		if v.Running > 0 {
			running := len(slices.DeleteFunc(q.having(jobs.StatusRunning), func(j *limitedJob) bool { return of.queue != "" && j.queue != of.queue }))
			n = min(n, max(0, v.Running-running))
		}
	}
	return n
}

// opens returns when a key that is not full has room again.
func (q *limitedQueue) opens(key string) time.Time {
	at := q.now
	if q.closed[key].After(at) {
		at = q.closed[key]
	}
	v := q.limit(key)
	if one, burst := every(v); one > 0 && q.tokens(key, v) == 0 {
		if next := q.used(key, v).Add(one - burst); next.After(at) {
			at = next
		}
	}
	return at
}

// promote makes the due jobs waiting.
func (q *limitedQueue) promote() {
	for _, j := range q.having(jobs.StatusScheduled) {
		if !j.due.After(q.now) {
			j.status = jobs.StatusWaiting
		}
	}
}

// startable returns the number of jobs that a claim of n jobs of a queue starts.
func (q *limitedQueue) startable(queue string, n int) int {
	possible := 0
	seen := map[string]bool{}
	for _, j := range q.having(jobs.StatusWaiting) {
		if j.queue == queue && !seen[j.key] && !q.isBehind(j.key, queue) {
			seen[j.key] = true
			possible += min(q.room(j.key), q.count(jobs.StatusWaiting, j.key, queue))
		}
	}
	return min(n, possible, q.wholeRoom(queue))
}

// start starts a job. It returns the reason for which it must not start; empty for none.
func (q *limitedQueue) start(id int64, queue string) string {
	j := q.jobs[id]
	switch {
	case j == nil || j.status != jobs.StatusWaiting || j.queue != queue:
		return "it does not wait in the queue"
	case q.room(j.key) == 0:
		return "its key has no room"
	case q.wholeRoom(queue) == 0:
		return "its kind or its queue has no room"
	case q.isBehind(j.key, queue) || q.limit(j.key).Ordered && q.first(j.key) != j:
		return "it does not come first"
	}
	for _, other := range q.having(jobs.StatusWaiting) {
		if other.key == j.key && other.queue == queue && !q.limit(j.key).Ordered && limitedBefore(other, j) {
			return "a better job of the key waits"
		}
	}
	j.status, j.attempt = jobs.StatusRunning, j.attempt+1
	q.spend(j.key, q.limit(j.key))
	for _, of := range []whole{{}, {queue}} {
		q.spend(of, q.wholes[of])
	}
	return ""
}

// limitedBefore reports whether a job is claimed before another one of its key and queue.
func limitedBefore(a, b *limitedJob) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if !a.due.Equal(b.due) {
		return a.due.Before(b.due)
	}
	return a.id < b.id
}

// again makes a running job wait for a time.
func (q *limitedQueue) again(j *limitedJob, due time.Time) {
	j.status, j.due = jobs.StatusScheduled, due
}
