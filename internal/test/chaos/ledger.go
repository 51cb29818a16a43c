//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

// label is the payload of a job: the enqueuer's name for it.
type label struct {
	Key string `json:"key"`
	Pad string `json:"pad,omitempty"` // so that it fills pages
}

// ledger holds a process's knowledge of its enqueues and attempts, without asking the database.
type ledger struct {
	mu       sync.Mutex
	added    map[string]int64 // acknowledged, with the job's id
	refused  map[string]error
	unknown  map[string]error
	starts   map[attempt]int
	highest  map[int64]int
	finished map[int64]int // the number of handlers that returned nil
}

// attempt names an attempt of a job.
type attempt struct {
	job    int64
	number int
}

func newLedger() *ledger {
	return &ledger{
		added: map[string]int64{}, refused: map[string]error{}, unknown: map[string]error{},
		starts: map[attempt]int{}, highest: map[int64]int{}, finished: map[int64]int{},
	}
}

// enqueue adds jobs in one call, one for each key, and records the outcomes.
func (l *ledger) enqueue(ctx context.Context, client *jobs.Client, pad string, keys ...string) error {
	payloads := make([]json.RawMessage, len(keys))
	for i, key := range keys {
		var err error
		if payloads[i], err = json.Marshal(label{key, pad}); err != nil {
			return err
		}
	}
	var ids []int64
	var err error
	if len(keys) == 1 {
		var receipt jobs.Receipt
		receipt, err = client.Enqueue(ctx, kind, payloads[0])
		ids = []int64{receipt.ID}
	} else {
		ids, err = receipts.IDs(client.EnqueueMany(ctx, kind, payloads))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, key := range keys {
		switch {
		case err == nil:
			l.added[key] = ids[i]
		case errors.Is(err, jobs.ErrUnknownOutcome):
			l.unknown[key] = err
		default:
			l.refused[key] = err
		}
	}
	return err
}

// start records that a handler was called.
func (l *ledger) start(job jobs.Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts[attempt{job.ID, job.Attempt}]++
	l.highest[job.ID] = max(l.highest[job.ID], job.Attempt)
}

// end records that a handler returned nil.
func (l *ledger) end(job jobs.Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished[job.ID]++
}

// ran reports whether a handler of the job has returned nil.
func (l *ledger) ran(job jobs.Job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finished[job.ID] > 0
}

// compare compares the jobs of a database with the ledger. charged says that attempts may have been charged to the
// jobs, as after a crash.
func (l *ledger) compare(list []jobs.Job, charged bool) (t tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there, ids := map[string]int{}, map[string]int64{}
	for _, job := range list {
		var p label
		if err := json.Unmarshal(job.Payload, &p); err != nil {
			t.other = append(t.other, fmt.Sprintf("job %d has the payload %.40q", job.ID, job.Payload))
			continue
		}
		there[p.Key]++
		ids[p.Key] = job.ID
		if job.Attempt < l.highest[job.ID] {
			t.doubled = append(t.doubled, fmt.Sprintf("attempt %d of job %d was started, and the database knows of %d", l.highest[job.ID], job.ID, job.Attempt))
		}
		if !charged && job.Attempt-job.Uncounted > 1 {
			t.other = append(t.other, fmt.Sprintf("job %d, which never failed, is %s after %d attempts", job.ID, job.Status, job.Attempt-job.Uncounted))
		}
	}
	for key, id := range l.added {
		switch is, known := ids[key]; {
		case !known:
			t.lost = append(t.lost, fmt.Sprintf("job %d (%s) was acknowledged and is not there", id, key))
		case is != id && there[key] == 1:
			t.other = append(t.other, fmt.Sprintf("job %d (%s) was acknowledged, and is job %d", id, key, is))
		}
	}
	for key, err := range l.refused {
		if there[key] > 0 {
			t.other = append(t.other, fmt.Sprintf("job %s was refused (%v), and is there", key, err))
		}
	}
	for key, n := range there {
		if n > 1 {
			t.doubled = append(t.doubled, fmt.Sprintf("job %s is there %d times", key, n))
		}
	}
	for r, n := range l.starts {
		if n > 1 {
			t.doubled = append(t.doubled, fmt.Sprintf("attempt %d of job %d was started %d times", r.number, r.job, n))
		}
	}
	return t
}

// tally holds the differences that a comparison found.
type tally struct{ lost, doubled, stale, other []string }

func (t *tally) add(o tally) {
	t.lost = append(t.lost, o.lost...)
	t.doubled = append(t.doubled, o.doubled...)
	t.stale = append(t.stale, o.stale...)
	t.other = append(t.other, o.other...)
}

func (t tally) named(name string) tally {
	for _, list := range [][]string{t.lost, t.doubled, t.stale, t.other} {
		for i := range list {
			list[i] = name + ": " + list[i]
		}
	}
	return t
}
