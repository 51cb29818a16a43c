package engine

import (
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// batchWithin is the largest difference between the times of jobs of one batch. Callers that share a transaction come within
// much less, unless the clock is set.
const batchWithin = 100 * time.Millisecond

// Batch collects single jobs of several callers that one statement can insert: they are due at once, and only their payloads and,
// slightly, their times differ. The zero value is empty.
type Batch struct {
	MaxPayload int // in bytes; a job with a larger payload is inserted by itself

	jobs []*Insert
}

// Add adds a job if it is like the jobs of the batch, and reports whether it did. The caller must not change the job until Reset.
func (b *Batch) Add(in *Insert) bool {
	if in.Claim != nil || in.Payloads != nil || in.Job.Status != string(jobtype.StatusPending) || in.Job.RunAfter != in.Job.Now ||
		len(in.Job.Payload) > b.MaxPayload || len(b.jobs) > 0 && !alike(&b.jobs[0].Job, &in.Job) {
		return false
	}
	b.jobs = append(b.jobs, in)
	return true
}

// Jobs returns the jobs in the order in which they were added.
func (b *Batch) Jobs() []*Insert { return b.jobs }

// Reset empties the batch and drops its payloads.
func (b *Batch) Reset() {
	clear(b.jobs)
	b.jobs = b.jobs[:0]
}

// Params returns the parameters of the statement that inserts all jobs. Every job gets the latest of their times, so that no job
// has a time before its caller's; jobs of one time are ordered by id.
func (b *Batch) Params() db.EnqueueJobsParams {
	size := 2
	for _, in := range b.jobs {
		size += len(in.Job.Payload)*5/4 + 3
	}
	list := append(make([]byte, 0, size), '[')
	arg := b.jobs[0].Many("")
	for i, in := range b.jobs {
		if i > 0 {
			list = append(list, ',')
		}
		list = core.AppendString(list, in.Job.Payload)
		arg.Now = max(arg.Now, in.Job.Now)
	}
	arg.Payloads, arg.RunAfter = string(append(list, ']')), arg.Now
	return arg
}

// alike reports whether two jobs differ only in their payloads and, slightly, in their times. It compares all fields that it does
// not name, so that a new column makes jobs different until its values are compared here.
func alike(a, b *db.EnqueueKeylessJobParams) bool {
	if max(a.Now, b.Now)-min(a.Now, b.Now) >= batchWithin.Microseconds() {
		return false
	}
	x := *b
	x.Payload, x.Now, x.RunAfter, x.Status = a.Payload, a.Now, a.RunAfter, a.Status // Add compares these itself
	if same(a.UserID, b.UserID) && same(a.Tags, b.Tags) && same(a.Metadata, b.Metadata) && same(a.StartBy, b.StartBy) {
		x.UserID, x.Tags, x.Metadata, x.StartBy = a.UserID, a.Tags, a.Metadata, a.StartBy
	}
	return *a == x
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
