package engine

import (
	"errors"
	"iter"
	"time"

	"github.com/sqluice/sqluice/db"
)

var (
	// ErrNotAdded is returned by Store.Insert when the database accepted the statement and added no job: the queue is closed by a
	// move, or a trigger of the application prevents it.
	ErrNotAdded = errors.New("the database added no job")

	// ErrDeclined is returned by Store.Insert with a Claim when the worker is gone, when the queue is paused, closed or has other
	// pending jobs, when the insert would have to wait for long, and when a trigger of the application changes the job so that
	// the worker must not run it now.
	ErrDeclined = errors.New("hand the job over: no idle worker accepts it now")
)

// Refused reports whether an error of Store.Insert is an answer of the database and not a failure.
func Refused(err error) bool {
	return errors.Is(err, ErrNotAdded) || errors.Is(err, ErrDeclined)
}

// Insert describes one job without a unique key and a request id, or many such jobs that differ only in their payloads.
type Insert struct {
	Job db.EnqueueKeylessJobParams

	// Payloads, unless nil, yields the payloads of many jobs, and Job.Payload is not used. An engine may iterate over them several times.
	Payloads iter.Seq2[Payloads, error]
	Count    int // the number of all payloads

	// Claim, unless nil, inserts a single job as claimed by a worker.
	Claim *Claim

	// Ran, unless nil, is called after each statement of the transaction. For a statement that inserts the jobs of several
	// callers, the Ran of one of them is called.
	Ran func(statement string, took time.Duration, err error)
}

// The largest number of payloads, and about the largest number of their bytes, that one statement inserts.
const (
	PayloadsMost     = 1000
	PayloadsMostSize = 4 << 20
)

// Payloads are the payloads of jobs that one statement inserts.
type Payloads struct {
	List  string // a JSON list of strings
	Count int
}

// Claim holds the columns of the worker that claims an inserted job. The times are in microseconds.
type Claim struct {
	WorkerID, StartedAt, LeaseUntil int64
	Kinds                           string // a JSON list of the kinds that the worker runs

	// Row is set by the engine: the inserted job, as a claim returns it.
	Row db.ClaimJobsRow

	// Patience is the longest wait of the insert where others can write meanwhile; after it the insert is declined. 0: no limit.
	Patience time.Duration
}

// Timed runs a statement for an insert, and reports it to Ran.
func Timed[R any](in *Insert, statement string, run func() (R, error)) (R, error) {
	if in.Ran == nil {
		return run()
	}
	began := time.Now()
	result, err := run()
	in.Ran(statement, time.Since(began), err)
	return result, err
}

// Many returns the parameters of the statement that inserts many jobs with these payloads.
func (in *Insert) Many(payloads string) db.EnqueueJobsParams {
	p := db.EnqueueJobsParamsOf(in.Job)
	p.Payloads = payloads
	return p
}

// Claimed returns the parameters of the statement that inserts the job as claimed.
func (in *Insert) Claimed() db.EnqueueClaimedJobParams {
	p := db.EnqueueClaimedJobParamsOf(in.Job)
	p.WorkerID, p.StartedAt, p.LeaseUntil, p.Kinds = in.Claim.WorkerID, in.Claim.StartedAt, in.Claim.LeaseUntil, in.Claim.Kinds
	return p
}
