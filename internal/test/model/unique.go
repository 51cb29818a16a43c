package model

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// uniqueMode says what an enqueue does whose unique key is taken.
type uniqueMode string

const (
	keep       uniqueMode = "Unique"
	replace    uniqueMode = "UniqueReplace"
	runAgain   uniqueMode = "UniqueAgain"
	supersede  uniqueMode = "UniqueReplaceRunning"
	debounce   uniqueMode = "Debounce"
	forAPeriod uniqueMode = "UniqueFor"
)

// unique says how an order is unique. The zero value is keep.
type unique struct {
	mode          uniqueMode
	quiet, atMost time.Duration // of debounce; 0 for no bound
	period        time.Duration // of forAPeriod
}

// keyOf is a unique key, which belongs to a kind.
type keyOf struct{ kind, key string }

// period is the time from and until which a key is taken, and the job that has taken it, whose row may be gone.
type period struct {
	since, until time.Time
	job          int64
}

// liveWith returns the live job that has a unique key, and its successor; nil for none.
func (q *queue) liveWith(k keyOf) (holder, successor *job) {
	if k.key == "" {
		return nil, nil
	}
	for _, j := range q.jobs {
		switch {
		case !j.live() || j.Kind != k.kind || j.UniqueKey != k.key:
		case j.Successor:
			successor = j
		default:
			holder = j
		}
	}
	return holder, successor
}

// enqueueUnique adds a job, unless one with the request id is kept, or one is in its way by the unique key.
func (q *queue) enqueueUnique(o order, payload []byte) jobs.Receipt {
	if j := q.byRequestID(o.Kind, o.RequestID); j != nil {
		return jobs.Receipt{ID: j.ID, Existed: true}
	}
	if o.unique.mode == forAPeriod {
		return q.enqueueFor(o, payload)
	}
	holder, successor := q.liveWith(keyOf{o.Kind, o.UniqueKey})
	last := successor
	if last == nil {
		last = holder
	}
	if o.unique.mode == supersede && holder != nil && holder.Status == jobs.StatusRunning && holder.CancelRequested.IsZero() {
		holder.CancelRequested, holder.UpdatedAt = q.now, q.now
	}
	switch {
	case last == nil:
		return jobs.Receipt{ID: q.add(o, payload).ID}
	case o.unique.mode == keep && holder != nil:
		return jobs.Receipt{ID: holder.ID, Existed: true}
	case o.unique.mode == keep, o.unique.mode == replace && last.Status == jobs.StatusRunning:
		return jobs.Receipt{ID: last.ID, Existed: true}
	case last.Status == jobs.StatusRunning:
		next := q.add(o, payload)
		next.Status, next.Successor = jobs.StatusScheduled, true
		return jobs.Receipt{ID: next.ID}
	default:
		q.replace(last, o, payload)
		return jobs.Receipt{ID: last.ID, Existed: true, Replaced: true}
	}
}

// replace gives a job that waits the payload and the options of an order, and all attempts. It keeps its time, unless it is debounced or
// has been attempted with the old payload. A job that was
// changed up to a minute after now may have been so by an enqueue that read the clock later and did not wait: then that one's time counts.
func (q *queue) replace(j *job, o order, payload []byte) {
	moved := j.Priority != o.Priority || j.Queue != o.Queue
	late := j.UpdatedAt.Sub(q.now)
	if late < 0 || late > time.Minute { // the clock was set back since
		late = 0
	}
	if at, moves := q.dueAgain(j, o); moves {
		j.RunAfter, moved = at.Add(min(late, q.room(j, at, o.unique))), true
	}
	j.keys.Payload = q.key
	j.Payload, j.Queue, j.Priority, j.MaxAttempts, j.Timeout = payload, o.Queue, o.Priority, o.MaxAttempts, o.Timeout
	j.Uncounted, j.Crashes, j.Progress = j.Attempt, 0, nil
	j.MaxAttemptsFrom, j.TimeoutFrom = o.MaxAttemptsFrom, o.TimeoutFrom
	q.resolve(&j.Job)
	j.UserID, j.Tags, j.Metadata, j.UpdatedAt = o.UserID, o.Tags, o.Metadata, q.now.Add(late)
	j.StartBy = q.startBy(j.RunAfter, o.within)
	if moved { // to another place in its queue, which the next promotion finds
		j.Status = jobs.StatusScheduled
	}
}

// room returns how much later than at a debounced job may run.
func (q *queue) room(j *job, at time.Time, how unique) time.Duration {
	if how.atMost > 0 {
		return max(0, micros(j.CreatedAt.Add(how.atMost)).Sub(at))
	}
	return time.Minute
}

// dueAgain returns when a job runs after one more enqueue; false when it keeps its time, as one that is due and cannot be put off any more.
func (q *queue) dueAgain(j *job, o order) (time.Time, bool) {
	how := o.unique
	if how.mode != debounce && j.Attempt == 0 {
		return time.Time{}, false
	}
	at := micros(q.now.Add(o.in + how.quiet)) // of which at most one is given
	if !o.at.IsZero() {
		at = micros(o.at)
	}
	if bound := micros(j.CreatedAt.Add(how.atMost)); how.atMost > 0 && bound.Before(at) {
		at = bound
	}
	if !at.After(q.now) {
		at = earliest(j.RunAfter, q.now)
	}
	return at, !at.Equal(j.RunAfter) || at.After(q.now)
}

// enqueueFor adds a job unless its key is taken for a time that is not over. The key is none of the job's.
func (q *queue) enqueueFor(o order, payload []byte) jobs.Receipt {
	k := keyOf{o.Kind, o.UniqueKey}
	if taken := q.periods[k]; taken.until.After(q.now) {
		return jobs.Receipt{ID: taken.job, Existed: true}
	}
	o.UniqueKey = ""
	j := q.add(o, payload)
	q.periods[k] = period{q.now, micros(q.now.Add(o.unique.period)), j.ID}
	return jobs.Receipt{ID: j.ID}
}

// find returns the live job that has a unique key, or else the one that has taken it for a time.
func (q *queue) find(k keyOf) *job {
	holder, successor := q.liveWith(k)
	taken := q.periods[k]
	switch {
	case holder != nil:
		return holder
	case successor == nil && taken.until.After(q.now):
		return q.job(taken.job)
	}
	return successor
}

// release lets the successor with a key run, unless another live job has the key.
func (q *queue) release(k keyOf) {
	if holder, successor := q.liveWith(k); holder == nil && successor != nil {
		successor.Successor, successor.UpdatedAt = false, q.now
	}
}

// releaseFree releases all successors whose key is free: the jobs before them were deleted, or ended by plain SQL.
func (q *queue) releaseFree() {
	for _, j := range q.jobs {
		if j.Successor {
			q.release(keyOf{j.Kind, j.UniqueKey})
		}
	}
}

// prunePeriods forgets the keys that are free again.
func (q *queue) prunePeriods() int64 {
	var n int64
	for k, taken := range q.periods {
		if !taken.until.After(q.now) {
			delete(q.periods, k)
			n++
		}
	}
	return n
}

// noted is metadata in which is noted how a job is debounced; false when there is no place for that.
func (u unique) noted(metadata json.RawMessage) (json.RawMessage, bool) {
	fields := map[string]json.RawMessage{}
	if metadata != nil {
		if err := json.Unmarshal(metadata, &fields); err != nil {
			return nil, false
		}
	}
	fields[jobs.DebounceField] = encoded(struct {
		Quiet  time.Duration `json:"quiet_ns"`
		AtMost time.Duration `json:"at_most_ns,omitempty"`
	}{u.quiet, u.atMost})
	return encoded(fields), true
}
