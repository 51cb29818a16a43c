package limits

import (
	"context"
	"fmt"
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

// backlog is the room for further jobs of a limit key, whose depth is bounded.
type backlog struct {
	depth, room int64
	drops       bool
}

// Inserter inserts jobs, some of them with limit keys.
type Inserter struct {
	// IsBounded reports whether a limit of a kind bounds backlogs: the jobs of other kinds cost no statement.
	IsBounded func(kind string) bool

	// Waits has a due job with a limit key wait at once, with its lane ready, as in a short transaction of the client's own. Otherwise a promotion
	// makes it wait. So it is on PostgreSQL: there the entries of started jobs stay at the front of the index of waiting ones until others are
	// added, or a vacuum comes. With a backlog of 60,000 jobs of one key that halved the rate.
	Waits bool
}

// Insert is [lifecycle.Insert] for a job whose limit key may have a full backlog: it drops the job, or returns a [jobtype.FullError], as the
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

// InsertAll is [lifecycle.InsertAll] for jobs whose limit keys may have a full backlog: see Insert. The error of a full one refuses them all.
func (in Inserter) InsertAll(ctx context.Context, q db.Querier, rows []lifecycle.Row) ([]lifecycle.Inserted, error) {
	return in.insert(ctx, q, rows, func(rows []lifecycle.Row) ([]lifecycle.Inserted, error) { return lifecycle.InsertAll(ctx, q, rows) })
}

// insert inserts the rows that are not dropped by a function, opens their lanes, and returns the results of all.
func (in Inserter) insert(
	ctx context.Context, q db.Querier, rows []lifecycle.Row, insert func([]lifecycle.Row) ([]lifecycle.Inserted, error),
) ([]lifecycle.Inserted, error) {
	dropped, err := admit(ctx, q, rows, in.IsBounded)
	if err != nil {
		return nil, err
	}
	left := make([]lifecycle.Row, 0, len(rows))
	for i, row := range rows {
		if !dropped[i] {
			row.Waiting = in.Waits && row.LimitKey != nil && row.Status == string(jobtype.StatusPending)
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
	if err := lifecycle.OpenLanesOf(ctx, q, left[0].Now, left, inserted); err != nil {
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

// admit returns which rows must be dropped. A row for which a job exists already is neither dropped nor refused. Rows of other transactions
// do not count before their commit: it locks nothing.
func admit(ctx context.Context, q db.Querier, rows []lifecycle.Row, isBounded func(kind string) bool) (dropped map[int]bool, err error) {
	of, err := backlogs(ctx, q, rows, isBounded)
	if err != nil || len(of) == 0 {
		return nil, err
	}
	dropped = map[int]bool{}
	for i, row := range rows {
		if row.LimitKey == nil {
			continue
		}
		b := of[key{row.Kind, *row.LimitKey}]
		if b == nil {
			continue
		}
		exists, err := row.Exists(ctx, q)
		switch {
		case err != nil:
			return nil, err
		case exists:
		case b.room > 0:
			b.room--
		case b.drops:
			dropped[i] = true
		default:
			return nil, &jobtype.FullError{Kind: row.Kind, Key: *row.LimitKey, Depth: int(b.depth)}
		}
	}
	return dropped, nil
}

// backlogs returns the backlogs of the rows' limit keys that are bounded.
func backlogs(ctx context.Context, q db.Querier, rows []lifecycle.Row, isBounded func(kind string) bool) (map[key]*backlog, error) {
	seen := map[key]bool{}
	var list []key
	for _, row := range rows {
		if row.LimitKey == nil || !isBounded(row.Kind) {
			continue
		}
		if k := (key{row.Kind, *row.LimitKey}); !seen[k] {
			seen[k], list = true, append(list, k)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	limits, err := q.ReadLimits(ctx, keys(list))
	if err != nil {
		return nil, fmt.Errorf("read limits: %w", err)
	}
	of := map[key]*backlog{}
	var most int64
	list = list[:0]
	for _, l := range limits {
		if k := (key{l.Kind, l.LimitKey}); l.Depth > 0 {
			of[k], list = &backlog{l.Depth, l.Depth, l.OnFull == string(jobtype.OnFullDrop)}, append(list, k)
			most = max(most, l.Depth)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	counts, err := q.CountBacklogs(ctx, db.CountBacklogsParams{Keys: keys(list), N: most})
	if err != nil {
		return nil, fmt.Errorf("count the jobs that have not started: %w", err)
	}
	for _, c := range counts {
		if b := of[key{c.Kind, c.LimitKey}]; b != nil {
			b.room = max(0, b.depth-c.Jobs)
		}
	}
	return of, nil
}
