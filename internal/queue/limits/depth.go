package limits

import (
	"context"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// OnFull returns the column of a limit that says what an enqueue beyond its depth does; empty without a depth.
func OnFull(v jobtype.LimitValues) string {
	switch {
	case v.Depth == 0:
		return ""
	case v.OnFull == "":
		return string(jobtype.OnFullRefuse)
	}
	return string(v.OnFull)
}

// Declared has the kinds and queues with bounded backlogs. The jobs of other ones cost no statement.
type Declared interface {
	IsBounded(kind string) bool       // a limit of the kind bounds the backlogs of its keys
	IsQueueBounded(queue string) bool // a limit of the queue bounds its backlog
}

// Inserter inserts jobs, some of them with limit keys, or of queues with bounded backlogs.
type Inserter struct {
	Declared Declared

	// WaitsFrom is the least number of jobs of one call of which the due ones with a limit key wait at once, with their lanes ready; 0: a
	// promotion makes them wait. See [WaitsFrom].
	WaitsFrom int
}

// listWaits is [WaitsFrom] where rows are locked one by one.
const listWaits = 100

// WaitsFrom returns the least number of jobs of one call whose due ones wait at once, in a short transaction of the client's own. A promotion
// takes longer than the insert. But the rows of the lanes are locked until the commit, and claims pass over them: where rows are locked one by
// one, only lists wait at once whose insert takes longer than their commit, so that the lanes are free for most of the time.
func WaitsFrom(locksRows bool) int {
	if locksRows {
		return listWaits
	}
	return 1
}

// Insert is [lifecycle.Insert] for a job whose limit key or queue may have a full backlog: it drops the job, or returns a [jobtype.FullError], as the
// limit says.
func (in Inserter) Insert(ctx context.Context, q db.Querier, row lifecycle.Row) (lifecycle.Inserted, error) {
	list, err := in.insert(ctx, q, []lifecycle.Row{row}, func(rows []lifecycle.Row) ([]lifecycle.Inserted, error) {
		inserted, err := lifecycle.Insert(ctx, q, rows[0])
		return []lifecycle.Inserted{inserted}, err
	})
	if err != nil {
		return lifecycle.Inserted{}, err
	}
	return list[0], nil
}

// InsertAll is [lifecycle.InsertAll] for jobs whose limit keys or queues may have a full backlog: see Insert. The error of a full one refuses them all.
func (in Inserter) InsertAll(ctx context.Context, q db.Querier, rows []lifecycle.Row) ([]lifecycle.Inserted, error) {
	return in.insert(ctx, q, rows, func(rows []lifecycle.Row) ([]lifecycle.Inserted, error) { return lifecycle.InsertAll(ctx, q, rows) })
}

// insert inserts the rows that are not dropped by a function, opens their lanes, and returns the results of all.
func (in Inserter) insert(
	ctx context.Context, q db.Querier, rows []lifecycle.Row, insert func([]lifecycle.Row) ([]lifecycle.Inserted, error),
) ([]lifecycle.Inserted, error) {
	dropped, err := admit(ctx, q, rows, in.Declared)
	if err != nil {
		return nil, err
	}
	left := make([]lifecycle.Row, 0, len(rows))
	for i, row := range rows {
		if !dropped[i] {
			row.Waiting = in.WaitsFrom > 0 && len(rows) >= in.WaitsFrom && row.LimitKey != nil && row.Status == string(jobtype.StatusPending)
			left = append(left, row)
		}
	}
	if len(left) == 0 {
		return slices.Repeat([]lifecycle.Inserted{{Dropped: true}}, len(rows)), nil
	}
	inserted, err := insert(left)
	if err != nil {
		return nil, err
	}
	if err := lifecycle.OpenLanesOf(ctx, q, left[0].Now, left, inserted, in.WaitsFrom == listWaits); err != nil {
		return nil, err
	}
	list := make([]lifecycle.Inserted, len(rows))
	for i := range rows {
		if dropped[i] {
			list[i].Dropped = true
			continue
		}
		list[i], inserted = inserted[0], inserted[1:]
	}
	return list, nil
}
