package jobs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Count is how many jobs of a queue and kind have a status.
type Count struct {
	Queue  string    `json:"queue"`
	Kind   string    `json:"kind"`
	Status Status    `json:"status"`
	Jobs   int64     `json:"jobs"`
	Since  time.Time `json:"since,omitzero"` // of pending and scheduled ones: when the first of them was, or will be, due
}

// Counts counts the jobs of each queue, kind and status, by queue, kind and status; what there are none of is left out.
// It does not read jobs that ended, however many are kept: their counts are kept up to date with every write. Programs
// that change rows by SQL of their own may put them out: see [Client.Recount].
func (c *Client) Counts(ctx context.Context) ([]Count, error) {
	var list []Count
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		list, err = countJobs(ctx, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return list, nil
}

func countJobs(ctx context.Context, q db.Querier) ([]Count, error) {
	rows, err := q.CountJobs(ctx)
	if err != nil {
		return nil, err
	}
	sums := map[change]Count{}
	for _, row := range rows {
		key := change{row.Queue, row.Kind, row.Status}
		sum := sums[key]
		sums[key] = Count{row.Queue, row.Kind, Status(row.Status), sum.Jobs + row.Jobs, core.Time(row.Since)}
	}
	order := Statuses()
	maps.DeleteFunc(sums, func(_ change, sum Count) bool { return sum.Jobs == 0 })
	// A server may have an order of its own for texts.
	return slices.SortedFunc(maps.Values(sums), func(a, b Count) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind),
			cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)))
	}), nil
}

// Recount counts the jobs that ended by reading them all, and puts right what [Client.Counts] had wrong. It returns in how
// many counts that was. It is needed only after jobs were changed by SQL other than the library's. On SQLite nobody else
// can write while it reads.
func (c *Client) Recount(ctx context.Context) (int64, error) {
	var wrong int64
	err := c.write(ctx, 0, func(ctx context.Context, q db.Querier) error {
		var err error
		wrong, err = q.RecountJobs(ctx, core.Micros(c.store.Now()))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("recount jobs: %w", err)
	}
	return wrong, nil
}
