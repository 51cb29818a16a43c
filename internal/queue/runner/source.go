package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Source is a place that claimable jobs come from, beside the pending jobs. The best jobs of all of them come first, by priority. After
// recorded ends the loop looks at its queues again; for other workers, a reaction of package lifecycle must announce the freed jobs. One
// goroutine uses it.
type Source interface {
	// MayHave reports, by what the last look of the loop has read, whether the source may have jobs. While it returns false no other
	// method is called. It runs no statement.
	MayHave(next engine.Next) bool

	// Queues returns the queues of a list in which the source has jobs to claim, and maybe some others, and the time at which it has further
	// ones; the zero time: none by itself.
	Queues(ctx context.Context, q db.Querier, look engine.Look, queues []string) (found []string, next time.Time, err error)

	// Peek returns the priorities of up to n jobs of a queue that can be claimed, the highest first. It locks none.
	Peek(ctx context.Context, q db.Querier, look engine.Look, queue string, n int64) ([]int64, error)

	// Claim claims up to n of these jobs, best first, in the transaction of a cycle. They begin at once: the runner asks for no more than it
	// has free slots. It leaves out jobs that are set aside. The error of a claim of one job, which the database may refuse, has a [ClaimError].
	Claim(ctx context.Context, q db.Querier, by engine.Claimer, claim engine.QueueClaim, now time.Time) ([]Claimed, error)

	// HasUnfinished reports whether the source has jobs for which a drain waits.
	HasUnfinished(ctx context.Context, q db.Querier, look engine.Look, queues []string) (bool, error)
}

// Claimed is a job that a source has claimed.
type Claimed struct {
	Row      db.ClaimJobsRow
	LimitKey *string // the job's limit key; nil: it has none
}

// ClaimError is the error of the claim of one job.
type ClaimError struct {
	JobID int64
	Err   error
}

func (e *ClaimError) Error() string { return fmt.Sprintf("job %d: %v", e.JobID, e.Err) }

// Unwrap returns the error of the database.
func (e *ClaimError) Unwrap() error { return e.Err }

// sourceClaim is a claim from a further source.
type sourceClaim struct {
	source Source
	engine.QueueClaim
}

// shares returns the number of jobs that each offer has among the n best. An offer is a list of priorities, the highest first. Equal
// priorities alternate.
func shares(offers [][]int64, n int64) []int64 {
	taken := make([]int64, len(offers))
	for range n {
		best := -1
		for i, offer := range offers {
			if taken[i] == int64(len(offer)) {
				continue
			}
			if best < 0 || offer[taken[i]] > offers[best][taken[best]] || offer[taken[i]] == offers[best][taken[best]] && taken[i] < taken[best] {
				best = i
			}
		}
		if best < 0 {
			break
		}
		taken[best]++
	}
	return taken
}
