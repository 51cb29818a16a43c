package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// Count is the number of jobs of a queue and kind with one status.
type Count struct {
	Queue  string      `json:"queue"`
	Kind   string      `json:"kind"`
	Status jobs.Status `json:"status"`
	Jobs   int64       `json:"jobs"`

	// Since is, for pending and scheduled jobs, when the first of them fell or will fall due. Successors fall due at no known time.
	Since time.Time `json:"since,omitzero"`
}

// Counts returns the number of jobs of each queue, kind and status, in this order, without counts of 0. It does not read ended
// jobs, whatever their number: every write keeps their counts up to date. Programs that change rows by their own SQL may make
// the counts wrong: see [Inspector.Recount].
func (in *Inspector) Counts(ctx context.Context) ([]Count, error) {
	var list []Count
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		list, _, err = countJobs(ctx, q, in.scope.Now())
		return err
	})
	return core.Result(list, err, "count jobs")
}

// statusDue marks the counts of scheduled jobs that are due and not promoted yet, which are counted as scheduled too.
const statusDue jobs.Status = "due"

// countJobs returns the counts, and separately those of scheduled jobs that are due at a time.
func countJobs(ctx context.Context, q db.Querier, now time.Time) (counts, due []Count, err error) {
	rows, err := q.CountJobs(ctx, core.Micros(now))
	if err != nil {
		return nil, nil, err
	}
	type key struct{ queue, kind, status string }
	sums := map[key]Count{}
	for _, row := range rows {
		of := key{row.Queue, row.Kind, row.Status}
		sum := sums[of]
		since := core.Time(row.Since)
		if since.Equal(core.Latest) { // all of them are successors
			since = time.Time{}
		}
		sums[of] = Count{row.Queue, row.Kind, jobs.Status(row.Status), sum.Jobs + row.Jobs, since}
	}
	order := jobs.Statuses()
	maps.DeleteFunc(sums, func(_ key, sum Count) bool { return sum.Jobs == 0 })
	// The server may sort texts by a collation.
	sorted := slices.SortedFunc(maps.Values(sums), func(a, b Count) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind),
			cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)))
	})
	for _, n := range sorted {
		if n.Status == statusDue {
			due = append(due, n)
		} else {
			counts = append(counts, n)
		}
	}
	return counts, due, nil
}

// Recount counts the ended jobs by reading them all, and corrects the counts of [Inspector.Counts]. It returns the number of
// wrong counts. It is needed only after SQL other than the library's has changed jobs. It blocks no enqueue and no worker: it
// reads a snapshot, and writes the differences in a short transaction. Until it has read all jobs, SQLite's WAL and
// PostgreSQL's dead rows grow with the writes of others. In a caller's transaction on SQLite it blocks all writers until the
// transaction ends, and returns [jobs.ErrBusy] during another recount.
func (in *Inspector) Recount(ctx context.Context) (int64, error) {
	wrong, err := in.recount(ctx)
	return core.Result(wrong, err, "recount jobs")
}

func (in *Inspector) recount(ctx context.Context) (wrong int64, err error) {
	store := in.scope.Store
	if in.scope.Tx == nil {
		if err := in.scope.CheckOutside(ctx); err != nil {
			return 0, err
		}
		return store.Upkeep().Recount(ctx)
	}
	err = in.scope.Write(ctx, 0, func(ctx context.Context, q db.Querier) (err error) {
		wrong, err = store.Upkeep().RecountIn(ctx, q)
		return err
	})
	return wrong, err
}
