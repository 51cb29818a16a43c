package engine

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Plan is one cycle of a runner as data. An engine carries it out in one transaction, in the order of the fields, in as few round trips as
// it can: where nothing comes between Before and a look, the look may go with the commit. The transaction may run more than once, and each run
// begins with Before.
type Plan struct {
	// Clock returns the time of each run of the transaction; nil: the store's clock.
	Clock func() time.Time

	// Before records what has no place in Done; nil: nothing. It sets its results anew at each run.
	Before func(ctx context.Context, q db.Querier, now time.Time) error

	// Returns is true when Before may make jobs pending again. The claims find them: a job of a high priority that is retried at once
	// comes before the others.
	Returns bool

	Done    []Completion // attempts that ended well
	Promote Promote      // scheduled jobs to make pending
	Claims  []QueueClaim // jobs to claim; none while a scheduled job is due that was not promoted
	Claimer Claimer      // the worker that claims

	// Look is true if the engine reads the due time of the next scheduled job after the promotion.
	Look bool

	// After decides about the claimed jobs, and sets the outcome's Changes; nil: nothing.
	After func(ctx context.Context, q db.Querier, out *Outcome) error

	// Simple is true for a plan with one claim, without Before, Done and After. An engine may leave out Promote and Look, and send the claim
	// and its commit in one round trip: the caller looks again afterwards.
	Simple bool

	// Ran, unless nil, is called after each statement of the transaction.
	Ran func(statement string, took time.Duration, err error)
}

// Now returns the time for a run of the transaction. own is the store's clock.
func (p *Plan) Now(own func() time.Time) time.Time {
	if p.Clock != nil {
		return p.Clock()
	}
	return own()
}

// Promote says which scheduled jobs become pending: up to N due ones, or those due ones with IDs. The zero value: none.
type Promote struct {
	N   int64
	IDs []int64
	Due int64 // the due time of the first scheduled job that the caller knows, in microseconds; 0: none is scheduled
}

// IsDue reports whether a scheduled job is due at a time.
func (p Promote) IsDue(now time.Time) bool { return IsDue(p.Due, now) }

// IsDue reports whether a time, in microseconds, has come; 0 is no time.
func IsDue(at int64, now time.Time) bool { return at != 0 && at <= core.Micros(now) }

// Params returns the parameters of the statement for due jobs.
func (p Promote) Params(now time.Time) db.PromoteDueJobsParams {
	return db.PromoteDueJobsParams{Now: core.Micros(now), N: p.N}
}

// Listed returns the parameters of the statement for listed jobs.
func (p Promote) Listed(now time.Time) db.PromoteListedJobsParams {
	return db.PromoteListedJobsParams{Now: core.Micros(now), Ids: core.JSONIDs(p.IDs)}
}

// QueueClaim is a claim of up to N jobs of a queue, or of the ones with IDs.
type QueueClaim struct {
	Queue string
	N     int64
	IDs   []int64
	Ahead bool              // the claim may be of more jobs than there are free slots
	Quick map[string]bool   // the kinds whose recent attempts took less time than a cycle
	Rows  []db.ClaimJobsRow // a buffer that the outcome gets for its rows; nil: the engine makes one

	Queues []string // the queues from which the transaction claims in this way: their limits are locked in one order; nil: Queue alone
}

// prefetch returns Ahead as a statement takes it.
func (c QueueClaim) prefetch() int64 {
	if c.Ahead {
		return 1
	}
	return 0
}

// Claimer identifies the worker that claims.
type Claimer struct {
	WorkerID int64
	Lease    time.Duration
	Kinds    string // a JSON list of the kinds that it runs
}

// Completion holds the common columns of attempts that ended well, and the ids of their jobs. The receiver may sort the ids.
type Completion struct {
	WorkerID, Attempt int64
	IDs               []int64
	Results           string // the results, as [db.CompleteJobsWithResultsParams] takes them; empty: the attempts have none
	Drop              bool   // the jobs are removed
}

// WithResults returns the parameters of the statement for attempts with results. now is in microseconds.
func (c Completion) WithResults(now int64) db.CompleteJobsWithResultsParams {
	return db.CompleteJobsWithResultsParams{Now: now, WorkerID: c.WorkerID, Items: c.Results}
}

// Plain returns the parameters of the statement for attempts without results. now is in microseconds.
func (c Completion) Plain(now int64) db.CompleteJobsParams {
	return db.CompleteJobsParams{Now: now, WorkerID: c.WorkerID, Attempt: c.Attempt, Ids: core.JSONIDs(c.IDs)}
}

// Dropped returns the parameters of the statement that removes the jobs.
func (c Completion) Dropped() db.DropCompletedJobsParams {
	return db.DropCompletedJobsParams{WorkerID: c.WorkerID, Attempt: c.Attempt, Ids: core.JSONIDs(c.IDs)}
}

// Outcome holds the results of a plan.
type Outcome struct {
	Now      time.Time           // the time of the run, by the store's clock
	Done     []Completed         // the result of each element of the plan's Done
	Promoted int64               // the number of promoted jobs
	Due      bool                // a job was due: the promotion ran
	Claimed  [][]db.ClaimJobsRow // the claimed jobs of each element of the plan's Claims
	Looked   bool                // Next is set
	Next     Next
	Changes  string        // set by After: the items of [db.AddJobChangesParams]; empty: none
	Held     time.Duration // the time for which other writers waited for the transaction; 0 where they do not
}

// Next says when the next scheduled job falls due, in microseconds; 0: none is scheduled. Limited is the same for jobs with a limit key.
// Lanes is 0 while no job waits for a limit, and Whole while no limit of a whole kind or queue is set.
type Next = db.GetNextRunAfterRow

// Look holds what a worker looks for in a further source of jobs.
type Look struct {
	Kinds string // a JSON list of the kinds that it runs
	Now   time.Time

	// Until, unless zero, is the time after which a job may fall due without a drain that waits for it: the clock stands still.
	Until time.Time
}

// Completed is the result of a Completion.
type Completed struct {
	N       int64   // the number of attempts whose end was recorded
	Removed []int64 // the removed jobs, with Drop
}

// Params returns the parameters of the statement for a claim that is not of listed jobs.
func (c Claimer) Params(claim QueueClaim, now time.Time, noneDueBefore int64) db.ClaimJobsParams {
	return db.ClaimJobsParams{
		WorkerID: c.WorkerID, LeaseUntil: core.Micros(now.Add(c.Lease)), Now: core.Micros(now), Kinds: c.Kinds, Queue: claim.Queue, N: claim.N,
		NoneDueBefore: noneDueBefore, Prefetch: claim.prefetch(),
	}
}

// Listed returns the parameters of the statement for a claim of listed jobs.
func (c Claimer) Listed(claim QueueClaim, now time.Time) db.ClaimListedJobsParams {
	return db.ClaimListedJobsParams{
		WorkerID: c.WorkerID, LeaseUntil: core.Micros(now.Add(c.Lease)), Now: core.Micros(now), Queue: claim.Queue, Ids: core.JSONIDs(claim.IDs),
		Prefetch: claim.prefetch(),
	}
}

// ClaimListed claims listed jobs by the Querier of a cycle's transaction.
func (c Claimer) ClaimListed(ctx context.Context, q db.Querier, claim QueueClaim, now time.Time) ([]db.ClaimJobsRow, error) {
	listed, err := q.ClaimListedJobs(ctx, c.Listed(claim, now))
	return core.Map(listed, func(row db.ClaimListedJobsRow) db.ClaimJobsRow { return db.ClaimJobsRow(row) }), err
}
