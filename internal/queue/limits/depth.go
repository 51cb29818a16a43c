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

// backlog is the room for further jobs of a limit key or of a queue, whose depth is bounded.
type backlog struct {
	depth, room int64
	drops       bool
}

// Declared has the kinds and queues with bounded backlogs. The jobs of other ones cost no statement.
type Declared interface {
	IsBounded(kind string) bool       // a limit of the kind bounds the backlogs of its keys
	IsQueueBounded(queue string) bool // a limit of the queue bounds its backlog
}

// Inserter inserts jobs, some of them with limit keys, or of queues with bounded backlogs.
type Inserter struct {
	Declared Declared

	// Waits has a due job with a limit key wait at once, with its lane ready, as in a short transaction of the client's own. Otherwise a promotion
	// makes it wait. So it is on PostgreSQL: there the entries of started jobs stay at the front of the index of waiting ones until others are
	// added, or a vacuum comes. With a backlog of 60,000 jobs of one key that halved the rate.
	Waits bool
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
		of := []*backlog{ofQueues[row.Queue]}
		if row.LimitKey != nil {
			of = append(of, ofKeys[key{row.Kind, *row.LimitKey}])
		}
		of = slices.DeleteFunc(of, func(b *backlog) bool { return b == nil })
		if len(of) == 0 {
			continue
		}
		exists, err := row.Exists(ctx, q)
		if err != nil {
			return nil, err
		}
		if exists || admitted.has(row) {
			continue
		}
		full := slices.IndexFunc(of, func(b *backlog) bool { return b.room == 0 })
		switch {
		case full < 0:
			for _, b := range of {
				b.room--
			}
			admitted.add(row)
		case of[full].drops:
			dropped[i] = true
		case of[full] == ofQueues[row.Queue]:
			return nil, &jobtype.FullError{Queue: row.Queue, Depth: int(of[full].depth)}
		default:
			return nil, &jobtype.FullError{Kind: row.Kind, Key: *row.LimitKey, Depth: int(of[full].depth)}
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
