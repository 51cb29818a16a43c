package limits

import (
	"context"
	"fmt"

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

// Insert is [lifecycle.Insert] for a job whose limit key may have a full backlog: it drops the job, or returns a [jobtype.FullError], as the
// limit says. isBounded reports whether a limit of a kind bounds backlogs: the jobs of other kinds cost no statement.
func Insert(ctx context.Context, q db.Querier, row lifecycle.Row, isBounded func(kind string) bool) (lifecycle.Inserted, error) {
	dropped, err := admit(ctx, q, []lifecycle.Row{row}, isBounded)
	if err != nil || dropped[0] {
		return lifecycle.Inserted{Dropped: err == nil}, err
	}
	return lifecycle.Insert(ctx, q, row)
}

// InsertAll is [lifecycle.InsertAll] for jobs whose limit keys may have a full backlog: see Insert. The error of a full one refuses them all.
func InsertAll(ctx context.Context, q db.Querier, rows []lifecycle.Row, isBounded func(kind string) bool) ([]lifecycle.Inserted, error) {
	dropped, err := admit(ctx, q, rows, isBounded)
	if err != nil || len(dropped) == 0 {
		if err == nil {
			return lifecycle.InsertAll(ctx, q, rows)
		}
		return nil, err
	}
	var left []lifecycle.Row
	for i, row := range rows {
		if !dropped[i] {
			left = append(left, row)
		}
	}
	inserted, err := lifecycle.InsertAll(ctx, q, left)
	if err != nil {
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
		if b.room > 0 {
			b.room--
			continue
		}
		exists, err := row.Exists(ctx, q)
		switch {
		case err != nil:
			return nil, err
		case exists:
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
