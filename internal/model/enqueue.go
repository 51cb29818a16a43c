package model

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// order describes an enqueue: the options, without the payload.
type order struct {
	jobs.Job               // kind, queue, priority, attempts, timeout, keys, user, tags and metadata as the row has them
	at       time.Time     // when given
	in       time.Duration // otherwise
	within   time.Duration // after its due time it must start; 0 for no such bound
	bad      bool          // one of the options must be refused
}

// enqueue adds a job, unless one with the request id is kept, or a live one has the unique key.
func (q *queue) enqueue(o order, payload []byte, bad bool) (jobs.Receipt, error) {
	if o.bad || bad {
		return jobs.Receipt{}, errInvalid
	}
	if id := q.inTheWay(o); id != 0 {
		return jobs.Receipt{ID: id, Existed: true}, nil
	}
	return jobs.Receipt{ID: q.add(o, payload)}, nil
}

// enqueueMany adds a job for each payload, or none when one of them is bad.
func (q *queue) enqueueMany(o order, payloads []json.RawMessage, bad bool) ([]int64, error) {
	if o.bad || bad || o.UniqueKey != "" || o.RequestID != "" {
		return nil, errInvalid
	}
	var ids []int64
	for _, payload := range payloads {
		ids = append(ids, q.add(o, payload))
	}
	return ids, nil
}

// inTheWay returns the job that prevents an enqueue, or 0. A request id counts while the job's row is kept, and takes
// precedence over a unique key, which counts until the job ends. Both count among the jobs of one kind.
func (q *queue) inTheWay(o order) int64 {
	for _, j := range q.jobs {
		if j.Kind == o.Kind && o.RequestID != "" && j.RequestID == o.RequestID {
			return j.ID
		}
	}
	for _, j := range q.jobs {
		if j.Kind == o.Kind && o.UniqueKey != "" && j.UniqueKey == o.UniqueKey && j.live() {
			return j.ID
		}
	}
	return 0
}

func (q *queue) add(o order, payload []byte) int64 {
	q.lastJob++
	j := &job{Job: o.Job}
	j.ID, j.Payload = q.lastJob, payload
	j.CreatedAt, j.UpdatedAt = q.now, q.now
	j.RunAfter = q.now.Add(o.in)
	if !o.at.IsZero() {
		j.RunAfter = o.at
	}
	j.RunAfter = micros(j.RunAfter)
	j.Status = jobs.StatusPending
	if j.RunAfter.After(q.now) {
		j.Status = jobs.StatusScheduled
	}
	if o.within != 0 {
		j.StartBy = micros(latest(j.RunAfter, q.now).Add(o.within))
	}
	q.jobs = append(q.jobs, j)
	return j.ID
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// expire ends the jobs that had to start by now and have not begun, and returns how many.
func (q *queue) expire() int {
	list := q.having(q.isOverdue)
	for _, j := range list {
		j.LastError = "not started by " + j.StartBy.Format("2006-01-02T15:04:05Z")
		q.end(j, jobs.StatusCancelled)
		j.errors = append(j.errors, attemptError{AttemptError: inspect.AttemptError{
			Cause: jobs.CauseExpired, Message: j.LastError, EndedAt: q.now,
		}})
	}
	return len(list)
}

// isOverdue reports whether a job had to start by now and has not begun.
func (q *queue) isOverdue(j *job) bool {
	return (j.Status == jobs.StatusScheduled || j.Status == jobs.StatusPending) && !j.StartBy.IsZero() && !j.StartBy.After(q.now)
}

// micros returns a time as a row keeps it.
func micros(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }
