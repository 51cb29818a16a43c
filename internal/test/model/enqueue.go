package model

import (
	"cmp"
	"encoding/json"
	"slices"
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
	unique   unique
	bad      bool // one of the options must be refused
}

// enqueue adds a job, or returns the one that is in its way.
func (q *queue) enqueue(o order, payload []byte, bad bool) (jobs.Receipt, error) {
	if o.bad || bad {
		return jobs.Receipt{}, errInvalid
	}
	return q.enqueueUnique(o, payload), nil
}

// enqueueMany adds a job for each payload, or none when one of them is bad.
func (q *queue) enqueueMany(o order, payloads []json.RawMessage, bad bool) ([]int64, error) {
	if o.bad || bad || o.UniqueKey != "" || o.RequestID != "" {
		return nil, errInvalid
	}
	var ids []int64
	for _, payload := range payloads {
		ids = append(ids, q.add(o, payload).ID)
	}
	return ids, nil
}

// item is a job of an enqueue of several kinds.
type item struct {
	order
	payload []byte
}

// enqueueItems adds jobs of several kinds and options, or none when one of them is bad. Those with keys come first, by kind and unique
// key, so that two callers with the same keys never wait for each other in a circle.
func (q *queue) enqueueItems(items []item) ([]jobs.Receipt, error) {
	var places []int
	for i, it := range items {
		if it.bad {
			return nil, errInvalid
		}
		places = append(places, i)
	}
	slices.SortStableFunc(places, func(a, b int) int { return bySort(items[a], items[b]) })
	receipts := make([]jobs.Receipt, len(items))
	for _, i := range places {
		receipts[i] = q.enqueueUnique(items[i].order, items[i].payload)
	}
	return receipts, nil
}

// bySort compares items by the order in which they are added.
func bySort(a, b item) int {
	rank := func(it item) (rank int, kind, key, id string) {
		switch {
		case it.UniqueKey != "":
			return 0, it.Kind, it.UniqueKey, ""
		case it.RequestID != "":
			return 0, it.Kind, "", it.RequestID
		}
		return 1, "", "", ""
	}
	rankA, kindA, keyA, idA := rank(a)
	rankB, kindB, keyB, idB := rank(b)
	return cmp.Or(cmp.Compare(rankA, rankB), cmp.Compare(kindA, kindB), cmp.Compare(keyA, keyB), cmp.Compare(idA, idB))
}

// byRequestID returns the job of a kind that was enqueued with a request id and whose row is kept. Such an id takes precedence over a
// unique key.
func (q *queue) byRequestID(kind, id string) *job {
	for _, j := range q.jobs {
		if id != "" && j.Kind == kind && j.RequestID == id {
			return j
		}
	}
	return nil
}

func (q *queue) add(o order, payload []byte) *job {
	q.lastJob++
	j := &job{Job: o.Job}
	q.resolve(&j.Job)
	j.ID, j.Payload, j.keys.Payload = q.lastJob, payload, q.key
	j.CreatedAt, j.UpdatedAt = q.now, q.now
	j.RunAfter = q.now.Add(o.in + o.unique.quiet) // of which at most one is given
	if !o.at.IsZero() {
		j.RunAfter = o.at
	}
	j.RunAfter = micros(j.RunAfter)
	j.Status = jobs.StatusPending
	if j.RunAfter.After(q.now) {
		j.Status = jobs.StatusScheduled
	}
	j.StartBy = q.startBy(j.RunAfter, o.within)
	q.jobs = append(q.jobs, j)
	return j
}

// startBy returns the time by which a job must start that is due at a time; zero for none.
func (q *queue) startBy(due time.Time, within time.Duration) time.Time {
	if within == 0 {
		return time.Time{}
	}
	return micros(latest(due, q.now).Add(within))
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settleOverdue does a worker's work of each look, and a drain's when it begins.
func (q *queue) settleOverdue() {
	q.mendAhead()
	q.expire()
	q.releaseFree()
	q.resumeDue()
}

// expire ends the jobs that had to start by now and have not begun, and returns how many.
func (q *queue) expire() int {
	list := q.having(q.isOverdue)
	for _, j := range list {
		j.LastError = "not started by " + j.StartBy.Format("2006-01-02T15:04:05Z")
		j.keys.LastError = ""
		q.end(j, jobs.StatusCancelled)
		j.attempts = append(j.attempts, attemptEnd{AttemptEnd: inspect.AttemptEnd{
			Attempt: j.Attempt, Cause: jobs.CauseExpired, Message: j.LastError, EndedAt: q.now,
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
