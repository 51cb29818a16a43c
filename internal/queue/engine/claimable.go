package engine

import (
	"context"
	"encoding/json"

	"github.com/sqluice/sqluice/db"
)

// skipsLeast and skipsShare bound the number of queues with pending jobs that ClaimableQueues lists before it looks at each requested
// queue: skipsLeast, or the number of requested queues divided by skipsShare, if that is larger.
const (
	skipsLeast = 16
	skipsShare = 4
)

// ClaimableQueues returns the queues of a runner that may have claimable jobs of its kinds, a JSON list, and maybe some others. It goes
// from one queue with pending jobs to the next, also those of other runners: normally these are few. When they are many, it looks at each
// of the runner's queues.
func ClaimableQueues(ctx context.Context, q db.Querier, kinds string, queues []string) ([]string, error) {
	skips := max(skipsLeast, len(queues)/skipsShare)
	pending, err := q.ListPendingQueues(ctx, db.ListPendingQueuesParams{Kinds: kinds, N: int64(skips)})
	if err != nil {
		return nil, err
	}
	if len(pending) >= skips {
		return ListedQueues(ctx, q, kinds, queues, nil)
	}
	var claimable []string
	for _, row := range pending {
		if row.Claimable != 0 {
			claimable = append(claimable, row.Queue)
		}
	}
	return claimable, nil
}

// ListedQueues does the same by a look at each queue, which begins at the queue's cursors if it has some.
func ListedQueues(ctx context.Context, q db.Querier, kinds string, queues []string, cursors map[string]string) ([]string, error) {
	items := make([][2]string, len(queues))
	for i, queue := range queues {
		items[i] = [2]string{queue, cursors[queue]}
	}
	list, err := json.Marshal(items)
	if err != nil {
		return nil, err
	}
	return q.ListClaimableQueues(ctx, db.ListClaimableQueuesParams{Kinds: kinds, Queues: string(list)})
}
