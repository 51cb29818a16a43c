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

	// ErrDeclined is returned by Store.Insert with a Claim when the worker is gone, or the queue is paused, closed or has other
	// pending jobs, when the insert would have to wait for long, and when a trigger of the application makes the job one that the
	// worker must not run now.
	ErrDeclined = errors.New("the queue gives the job to no worker at once")
)

// Refused reports whether an error of Store.Insert is an answer of the database and not a fault of it.
func Refused(err error) bool {
	return errors.Is(err, ErrNotAdded) || errors.Is(err, ErrDeclined)
}

// Insert describes one job without a unique key and a request id, or many such jobs that differ in their payloads only.
type Insert struct {
	Job db.EnqueueKeylessJobParams

	// Payloads, unless nil, are those of many jobs, and Job.Payload is not used. An engine may go through them several times.
	Payloads iter.Seq2[Payloads, error]
	Count    int // of all payloads

	// Claim, unless nil, inserts a single job as claimed by a worker.
	Claim *Claim

	// Ran, unless nil, is told of each statement of the transaction when it has run. A statement that inserts the jobs of several
	// callers is told to one of them.
	Ran func(statement string, took time.Duration, err error)
}

// The most payloads, and about the most bytes of them, that one statement inserts.
const (
	PayloadsMost     = 1000
	PayloadsMostSize = 4 << 20
)

// Payloads are the payloads of jobs that one statement inserts.
type Payloads struct {
	List  string // a JSON list of strings
	Count int
}

// Claim is what the row of a job says that a worker has claimed. The times are in microseconds.
type Claim struct {
	WorkerID, StartedAt, LeaseUntil int64
	Kinds                           string // a JSON list of the kinds that the worker runs

	// Row is set by the engine: the job that was inserted, as a claim returns it.
	Row db.ClaimJobsRow

	// Patience is how long the insert may wait where others can write meanwhile; it is then declined. 0 means no limit.
	Patience time.Duration
}

// Timed runs a statement for an insert, and tells Ran of it.
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
