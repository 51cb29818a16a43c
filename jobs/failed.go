package jobs

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// MostReported is how many failed jobs [Client.FailedReport] groups: the core.Latest ones.
const MostReported = 2000

// FailedReport is what failed, grouped.
type FailedReport struct {
	Groups []FailedGroup `json:"groups"` // the most frequent first, then the one with the core.Latest failure
	Jobs   int64         `json:"jobs"`   // how many failed jobs are in all groups, also in those that the limit left out
	Older  bool          `json:"older"`  // there may be failed jobs before these, which are in no group: see [MostReported]
}

// FailedGroup is a line of the failed-job report: the jobs of one kind that failed with one error.
type FailedGroup struct {
	Kind      string    `json:"kind"`
	Error     string    `json:"error"`
	Jobs      int64     `json:"jobs"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	ExampleID int64     `json:"example_id"`
}

// FailedFilter says which failed jobs are meant. Zero values do not filter.
type FailedFilter struct {
	Kind  string
	Since time.Time
	Limit int // 100 when 0; at most MaxPage
}

// check returns how many rows are asked for.
func (f FailedFilter) check() (int64, error) {
	if err := validateFilter("kind", f.Kind, MaxNameLength); err != nil {
		return 0, err
	}
	return page(f.Limit)
}

// FailedReport groups the failed jobs by kind and error: the core.Latest [MostReported] that the filter means, since there is no
// bound to how many are kept. The limit is one of groups.
func (c *Client) FailedReport(ctx context.Context, f FailedFilter) (FailedReport, error) {
	n, err := f.check()
	if err != nil {
		return FailedReport{}, fmt.Errorf("report failed jobs: %w", err)
	}
	var rows []db.ReportFailedJobsRow
	err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = q.ReportFailedJobs(ctx, db.ReportFailedJobsParams{
			Since: since(f.Since), Kind: core.Optional(f.Kind), Most: MostReported, N: n,
		})
		return err
	})
	if err != nil {
		return FailedReport{}, fmt.Errorf("report failed jobs: %w", err)
	}
	report := FailedReport{Groups: make([]FailedGroup, len(rows))}
	for i, r := range rows {
		report.Jobs = r.LookedAt // the same in each row
		report.Groups[i] = FailedGroup{
			Kind: r.Kind, Error: r.Error, Jobs: r.Jobs, FirstSeen: core.Time(r.FirstSeen),
			LastSeen: core.Time(r.LastSeen), ExampleID: r.ExampleID,
		}
	}
	report.Older = report.Jobs == MostReported
	return report, nil
}

// Failure is a failed job at a glance.
type Failure struct {
	ID       int64     `json:"id"`
	Kind     string    `json:"kind"`
	Queue    string    `json:"queue"`
	Error    string    `json:"error"` // the first 1000 characters
	FailedAt time.Time `json:"failed_at"`
}

// Failures returns failed jobs at a glance, the core.Latest first. before is the last one of the page before; its zero value
// starts.
func (c *Client) Failures(ctx context.Context, f FailedFilter, before Failure) ([]Failure, error) {
	var rows []db.ListFailedJobsRow
	err := c.readFailed(ctx, f, before.FailedAt, before.ID, func(_ context.Context, _ db.Querier, list []db.ListFailedJobsRow) error {
		rows = list
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]Failure, len(rows))
	for i, r := range rows {
		list[i] = Failure{r.ID, r.Kind, r.Queue, r.Error, core.Time(r.FinishedAt)}
	}
	return list, nil
}

// ListFailed returns failed jobs, the core.Latest first. before is the last job of the page before; its zero value starts. A page
// is cut short where jobs are large, and only the one after the last is empty.
func (c *Client) ListFailed(ctx context.Context, f FailedFilter, before Job) ([]Job, error) {
	beforeTime, beforeID := before.FinishedAt, before.ID
	for {
		var list []Job
		var heads []db.ListFailedJobsRow
		err := c.readFailed(ctx, f, beforeTime, beforeID, func(ctx context.Context, q db.Querier, rows []db.ListFailedJobsRow) error {
			heads = rows
			var err error
			if list, err = failedJobs(ctx, q, heads); err != nil {
				return err
			}
			return c.hide(ctx, q, list)
		})
		if err != nil || len(list) > 0 || len(heads) == 0 {
			return list, err
		}
		// All of them have been changed since.
		last := heads[len(heads)-1]
		beforeTime, beforeID = core.Time(last.FinishedAt), last.ID
	}
}

// failedJobs reads the jobs of a page, as many as its bytes allow, but for those that do not stand there any more.
func failedJobs(ctx context.Context, q db.Querier, heads []db.ListFailedJobsRow) ([]Job, error) {
	n, bytes := 0, int64(0)
	for _, head := range heads {
		if bytes += head.Bytes; bytes > pageBytes && n > 0 {
			break
		}
		n++
	}
	heads = heads[:n]
	byID := make(map[int64]db.Job, n)
	for part := range portions(heads, func(head db.ListFailedJobsRow) int64 { return head.Bytes }) {
		ids := make([]int64, len(part))
		for i, head := range part {
			ids[i] = head.ID
		}
		rows, err := q.ListJobs(ctx, core.JSONIDs(ids))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			byID[row.ID] = row
		}
	}
	list := make([]Job, 0, n)
	for _, head := range heads {
		row := byID[head.ID]
		if row.Status == string(StatusFailed) && row.FinishedAt != nil && *row.FinishedAt == head.FinishedAt {
			list = append(list, jobFromRow(row))
		}
	}
	return list, nil
}

// readFailed reads a page of failed jobs at a glance for fn, which reads on.
func (c *Client) readFailed(
	ctx context.Context, f FailedFilter, beforeTime time.Time, beforeID int64,
	fn func(context.Context, db.Querier, []db.ListFailedJobsRow) error,
) error {
	params := db.ListFailedJobsParams{
		Since: since(f.Since), BeforeTime: math.MaxInt64, BeforeID: math.MaxInt64, Kind: core.Optional(f.Kind),
	}
	if !beforeTime.IsZero() {
		params.BeforeTime, params.BeforeID = core.Micros(beforeTime), beforeID
	}
	var err error
	if params.N, err = f.check(); err == nil {
		err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
			rows, err := q.ListFailedJobs(ctx, params)
			if err != nil {
				return err
			}
			return fn(ctx, q, rows)
		})
	}
	if err != nil {
		return fmt.Errorf("list failed jobs: %w", err)
	}
	return nil
}

func since(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return core.Micros(t)
}
