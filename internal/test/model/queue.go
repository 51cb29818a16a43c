package model

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// errInvalid stands for every [jobs.InvalidError]: the test that drew the input knows which part is bad.
var errInvalid = errors.New("invalid input")

// queue is the content of the database. It numbers ids 1, 2, 3 ... in the order in which rows were added.
type queue struct {
	now        time.Time
	jobs       []*job           // by id
	workers    []*worker        // by id; those that ended stay until they are pruned
	pauses     map[paused]pause // also of queues that were resumed
	periods    map[keyOf]period // the unique keys that were taken for a time
	schedules  map[string]*schedule
	rules      map[place]rule
	settings   map[string]settings // the settings of kinds, by name
	key        string              // the id of the key that programs encrypt with; empty for none
	lastJob    int64               // the largest id that was ever given
	lastWorker int64
}

// job is a row as people see it, with its attempts that have ended otherwise than well, in order.
type job struct {
	jobs.Job
	keys       valueKeys
	attempts   []attemptEnd
	prefetched int // the attempt whose claim was of more jobs than free slots; 0 for none
}

// attemptEnd is separate from the public view, because that shows the worker's name while its row is kept.
type attemptEnd struct {
	inspect.AttemptEnd
	worker int64
	key    string // that its texts are encrypted with; empty for none
}

func newQueue(now time.Time) *queue {
	return &queue{
		now: now, pauses: map[paused]pause{}, periods: map[keyOf]period{}, schedules: map[string]*schedule{}, rules: map[place]rule{},
		settings: map[string]settings{},
	}
}

// clone copies the state for a rollback.
func (q *queue) clone() *queue {
	c := *q
	c.pauses, c.periods, c.rules = maps.Clone(q.pauses), maps.Clone(q.periods), maps.Clone(q.rules)
	c.settings = maps.Clone(q.settings)
	c.schedules = map[string]*schedule{}
	for name, s := range q.schedules {
		copied := *s
		copied.ticks = slices.Clone(s.ticks)
		c.schedules[name] = &copied
	}
	c.jobs = make([]*job, len(q.jobs))
	for i, j := range q.jobs {
		copied := *j
		copied.attempts = slices.Clone(j.attempts)
		c.jobs[i] = &copied
	}
	c.workers = make([]*worker, len(q.workers))
	for i, w := range q.workers {
		copied := *w
		c.workers[i] = &copied
	}
	return &c
}

// job returns the job with an id, or nil.
func (q *queue) job(id int64) *job {
	for _, j := range q.jobs {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// having returns the jobs for which a condition holds, by id.
func (q *queue) having(holds func(*job) bool) []*job {
	var list []*job
	for _, j := range q.jobs {
		if holds(j) {
			list = append(list, j)
		}
	}
	return list
}

func (j *job) live() bool { return !j.Status.Final() }

// drop removes a job with its errors.
func (q *queue) drop(j *job) {
	q.remove(func(other *job) bool { return other == j })
}

// remove deletes jobs with their errors and returns how many there were.
func (q *queue) remove(gone func(*job) bool) int64 {
	before := len(q.jobs)
	q.jobs = slices.DeleteFunc(q.jobs, gone)
	return int64(before - len(q.jobs))
}
