package model

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// place says which jobs a rule of retention is for; an empty queue or kind means all.
type place struct {
	queue, kind string
	status      jobs.Status
	code        bool // a program brings the rule along
}

// rule holds the time for which jobs are kept after their end, and the time since which that holds.
type rule struct {
	keep time.Duration // whole microseconds, or jobs.Forever
	at   time.Time
}

// keeping holds the times for which a pruner keeps jobs without a rule.
type keeping map[jobs.Status]time.Duration

// setRule sets the time for which jobs are kept, and reports whether that changed anything.
func (q *queue) setRule(at place, keep time.Duration, bad bool) (bool, error) {
	if bad {
		return false, errInvalid
	}
	return q.putRule(at, keep), nil
}

func (q *queue) putRule(at place, keep time.Duration) bool {
	if keep != jobs.Forever {
		keep = keep.Truncate(time.Microsecond)
	}
	if r, found := q.rules[at]; found && r.keep == keep {
		return false
	}
	q.rules[at] = rule{keep, q.now}
	return true
}

// removeRule removes a rule, before one that a program brought along one that was set. It reports whether there was one.
func (q *queue) removeRule(at place, bad bool) (bool, error) {
	if bad {
		return false, errInvalid
	}
	for _, at.code = range []bool{false, true} {
		if _, found := q.rules[at]; found {
			delete(q.rules, at)
			return true, nil
		}
	}
	return false, nil
}

// declare writes the rules of a program. It returns the former time of each that it changed: 0 where there was none.
func (q *queue) declare(keeps map[string]time.Duration) map[string]time.Duration {
	changed := map[string]time.Duration{}
	for kind, keep := range keeps {
		at := place{kind: kind, status: jobs.StatusDone, code: true}
		before := q.rules[at].keep
		if q.putRule(at, keep) {
			changed[kind] = before
		}
	}
	return changed
}

// undeclare removes the rules that programs declared before of kinds for which the newest program declares none.
func (q *queue) undeclare(kinds []string) {
	for _, kind := range kinds {
		delete(q.rules, place{kind: kind, status: jobs.StatusDone, code: true})
	}
}

// retentions returns the rules by queue, kind and status.
func (q *queue) retentions() []inspect.RetentionRule {
	var list []inspect.RetentionRule
	for at, r := range q.rules {
		_, set := q.rules[place{at.queue, at.kind, at.status, false}]
		list = append(list, inspect.RetentionRule{
			Queue: at.queue, Kind: at.kind, Status: at.status, Keep: r.keep, Code: at.code, At: r.at, Hidden: at.code && set,
		})
	}
	slices.SortFunc(list, func(a, b inspect.RetentionRule) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Status, b.Status), compareBools(a.Code, b.Code))
	})
	return list
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// keptFor returns how long a job that ended is kept: the closest rule says it, and of two the one that people set.
func (q *queue) keptFor(j *job, otherwise keeping) time.Duration {
	for _, at := range []place{{queue: j.Queue, kind: j.Kind}, {kind: j.Kind}, {queue: j.Queue}, {}} {
		for _, code := range []bool{false, true} {
			at.status, at.code = j.Status, code
			if r, found := q.rules[at]; found {
				return r.keep
			}
		}
	}
	return otherwise[j.Status]
}

// isOver reports whether a job has been kept for long enough.
func (q *queue) isOver(j *job, otherwise keeping) bool {
	keep := q.keptFor(j, otherwise)
	return !j.live() && keep != jobs.Forever && j.FinishedAt.Before(q.now.Add(-keep))
}

// soonest returns the shortest time for which any job may be kept.
func (q *queue) soonest(otherwise keeping) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	note := func(keep time.Duration) {
		if keep != jobs.Forever {
			shortest = min(shortest, keep)
		}
	}
	for _, keep := range otherwise {
		note(keep)
	}
	for _, r := range q.rules {
		note(r.keep)
	}
	return shortest
}

// lookAgain is the longest time for which a pruner may miss the changes of a job that it has read.
const lookAgain = 2 * time.Hour

// pruner holds a pruner's memory. Only the latest time is known at which it reads a job again.
type pruner struct {
	keep           keeping
	clock, process time.Time // the queue's clock and the process's when it began to remember; zero before
	rules          []inspect.RetentionRule
	last           int64               // of all jobs up to this id it remembers something
	latest         map[int64]time.Time // by the process's clock
}

// pass returns the jobs that a pass at a time of the process's clock must remove, and the jobs that it may remove: it need not know for
// each that its time is over. All others must stay. The newest job is emptied in place of being removed.
func (p *pruner) pass(q *queue, process time.Time) (must, may []*job) {
	if q.soonest(p.keep) == math.MaxInt64 {
		return nil, nil
	}
	if jump := q.now.Sub(p.clock) - process.Sub(p.process); p.process.IsZero() || jump.Abs() > time.Minute || differences(q.retentions(), p.rules) != nil {
		p.clock, p.process, p.rules, p.last, p.latest = q.now, process, q.retentions(), 0, map[int64]time.Time{}
	}
	further := q.having(func(j *job) bool { return j.ID > p.last })
	young := q.young(further, p.keep)
	for _, j := range q.jobs {
		again := process.Add(q.wait(j, p.keep))
		until, known := p.latest[j.ID]
		switch reads := !known || !until.After(process); {
		case j.ID > p.last && young: // it ends before them
		case q.isOver(j, p.keep):
			may = append(may, j)
			if reads {
				must = append(must, j)
			}
		case reads || again.After(until): // it may have read others of its range now
			p.latest[j.ID] = again
		}
	}
	if len(further) > 0 && !young {
		p.last = further[len(further)-1].ID
	}
	if newest := q.newest(); slices.Contains(must, newest) {
		p.last = newest.ID - 1 // it is read again by each pass
	}
	return must, may
}

// newest returns the newest job; nil when there is none.
func (q *queue) newest() *job {
	if len(q.jobs) == 0 {
		return nil
	}
	return q.jobs[len(q.jobs)-1]
}

// empty erases the values of a job, with its keys and its errors.
func (j *job) empty() {
	j.erase()
	j.UniqueKey, j.RequestID, j.UserID, j.attempts = "", "", "", nil
}

// isEmpty reports whether empty would change nothing of the job's row.
func (j *job) isEmpty() bool {
	same := *j
	same.attempts = nil
	return !same.erase() && j.UniqueKey == "" && j.RequestID == "" && j.UserID == ""
}

// young reports whether all jobs of a list are too young to go. One that was created in the future is not: some clock was wrong.
func (q *queue) young(list []*job, otherwise keeping) bool {
	var first time.Time
	for _, j := range list {
		first = earliest(first, j.CreatedAt)
	}
	return !first.Before(q.now.Add(-q.soonest(otherwise))) && !first.After(q.now)
}

// wait returns after how long, at the latest, a pruner reads a job again that it has read.
func (q *queue) wait(j *job, otherwise keeping) time.Duration {
	keep, from := q.keptFor(j, otherwise), j.FinishedAt
	if j.live() { // it may end as soon as it can run
		keep, from = q.soonest(otherwise), q.now
		if j.Status == jobs.StatusScheduled {
			from = latest(j.RunAfter, q.now)
		}
		if j.Successor {
			from = lastTime
		}
	}
	if keep == jobs.Forever {
		return lookAgain
	}
	return min(lookAgain, min(lookAgain, from.Sub(q.now))+keep)
}
