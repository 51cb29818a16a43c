package limits

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// backlog is the room for further jobs of a limit key or of a queue, whose depth is bounded.
type backlog struct {
	depth, room int64
	drops       bool
}

// admit returns which rows must be dropped. A row for which a job exists already is neither dropped nor refused. Rows of other transactions
// do not count before their commit: it locks nothing. Nothing is dropped or refused in a database that is closed by a move.
func admit(ctx context.Context, q db.Querier, rows []lifecycle.Row, declared Declared) (dropped map[int]bool, err error) {
	ofKeys, err := backlogs(ctx, q, rows, declared)
	if err != nil {
		return nil, err
	}
	ofQueues, err := queueBacklogs(ctx, q, rows, declared)
	if err != nil || len(ofKeys)+len(ofQueues) == 0 {
		return nil, err
	}
	if err := lifecycle.CheckOpen(ctx, q); err != nil {
		return nil, err
	}
	dropped = map[int]bool{}
	admitted := names{}
	for i, row := range rows {
		concerned := []*backlog{ofQueues[row.Queue]}
		if row.LimitKey != nil {
			concerned = append(concerned, ofKeys[key{row.Kind, *row.LimitKey}])
		}
		concerned = slices.DeleteFunc(concerned, func(b *backlog) bool { return b == nil })
		if len(concerned) == 0 {
			continue
		}
		exists, err := row.Exists(ctx, q)
		if err != nil {
			return nil, err
		}
		if exists || admitted.has(row) {
			continue
		}
		full := slices.IndexFunc(concerned, func(b *backlog) bool { return b.room == 0 })
		switch {
		case full < 0:
			for _, b := range concerned {
				b.room--
			}
			admitted.add(row)
		case concerned[full].drops:
			dropped[i] = true
		case concerned[full] == ofQueues[row.Queue]:
			return nil, &jobtype.FullError{Queue: row.Queue, Depth: int(concerned[full].depth)}
		default:
			return nil, &jobtype.FullError{Kind: row.Kind, Key: *row.LimitKey, Depth: int(concerned[full].depth)}
		}
	}
	return dropped, nil
}

// names holds the unique keys and request ids of rows, with their kinds.
type names map[[3]string]bool

// of returns the names of a row.
func (names) of(row lifecycle.Row) (list [][3]string) {
	if row.UniqueKey != nil {
		list = append(list, [3]string{row.Kind, "unique key", *row.UniqueKey})
	}
	if row.RequestID != nil {
		list = append(list, [3]string{row.Kind, "request id", *row.RequestID})
	}
	return list
}

func (n names) add(row lifecycle.Row) {
	for _, name := range n.of(row) {
		n[name] = true
	}
}

// has reports whether a row has a name of an earlier one.
func (n names) has(row lifecycle.Row) bool {
	return slices.ContainsFunc(n.of(row), func(name [3]string) bool { return n[name] })
}

// queueBacklogs returns the backlogs of the rows' queues that are bounded.
func queueBacklogs(ctx context.Context, q db.Querier, rows []lifecycle.Row, declared Declared) (map[string]*backlog, error) {
	of := map[string]*backlog{}
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.Queue] || !declared.IsQueueBounded(row.Queue) {
			continue
		}
		seen[row.Queue] = true
		depths, err := q.GetQueueDepth(ctx, row.Queue)
		if err != nil {
			return nil, fmt.Errorf("read the depth of a queue: %w", err)
		}
		for _, d := range depths {
			jobs, err := q.CountQueueBacklog(ctx, db.CountQueueBacklogParams{Queue: row.Queue, N: d.Depth})
			if err != nil {
				return nil, fmt.Errorf("count the jobs of a queue that have not started: %w", err)
			}
			of[row.Queue] = &backlog{d.Depth, max(0, d.Depth-jobs), d.OnFull == string(jobtype.OnFullDrop)}
		}
	}
	return of, nil
}

// backlogs returns the backlogs of the rows' limit keys that are bounded.
func backlogs(ctx context.Context, q db.Querier, rows []lifecycle.Row, declared Declared) (map[key]*backlog, error) {
	seen := map[key]bool{}
	var list []key
	for _, row := range rows {
		if row.LimitKey == nil || !declared.IsBounded(row.Kind) {
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
