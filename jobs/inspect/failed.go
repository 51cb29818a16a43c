package inspect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/errorpattern"
	"github.com/sqluice/sqluice/jobs"
)

// MostReported is the largest number of failed jobs that [Inspector.FailedReport] groups: the latest ones.
const MostReported = 2000

// FailedReport groups failed jobs by kind, cause and the pattern of their errors.
type FailedReport struct {
	Groups []FailedGroup `json:"groups"` // the most frequent first, then the one with the latest failure
	Jobs   int64         `json:"jobs"`   // number of failed jobs in all groups, with those that the limit left out
	Older  bool          `json:"older"`  // there may be older failed jobs, which are in no group: see [MostReported]
}

// FailedGroup is a line of the failed-job report: the jobs of one kind that failed for one cause, with errors of one pattern.
type FailedGroup struct {
	Kind      string       `json:"kind"`
	Cause     jobs.Cause   `json:"cause,omitempty"` // empty when another program failed the jobs
	Pattern   string       `json:"pattern"`         // see [ErrorPattern]
	Error     string       `json:"error"`           // the error of the example
	Jobs      int64        `json:"jobs"`
	FirstSeen time.Time    `json:"first_seen"`
	LastSeen  time.Time    `json:"last_seen"`
	ExampleID int64        `json:"example_id"`
	Texts     []FailedText `json:"texts"` // the errors of the group, the most frequent first
}

// FailedText is one error of a group with the jobs that failed with it.
type FailedText struct {
	Error     string    `json:"error"`
	Jobs      int64     `json:"jobs"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	ExampleID int64     `json:"example_id"`
}

// ErrorPattern returns the pattern of an error: "#" replaces a number, an id or hexadecimal digits, and "…" quoted words. It has at most
// 1000 characters. The pattern of an encrypted error is its replacement text, whose hash tells equal errors from others.
func ErrorPattern(text string) string {
	if strings.HasPrefix(text, strings.TrimSuffix(jobs.Encrypted, "]")+" ") && strings.HasSuffix(text, "]") && len(text) <= errorpattern.MaxLength {
		return text
	}
	return errorpattern.Of(text)
}

// FailedFilter selects the failed jobs that a method returns or changes. Zero values do not filter.
type FailedFilter struct {
	Kind  string
	Since time.Time
	Limit int // 100 when 0; at most MaxPage
}

// check returns the number of rows for the limit, and an InvalidError for an invalid filter.
func (f FailedFilter) check() (int64, error) {
	if err := checkFilter("kind", f.Kind, jobs.MaxNameLength); err != nil {
		return 0, err
	}
	return pageSize(f.Limit)
}

// FailedReport groups the latest [MostReported] failed jobs that match the filter by kind, cause and pattern of the error. The
// cause of a job is that of its last failed attempt. The filter's Limit bounds the number of groups.
func (in *Inspector) FailedReport(ctx context.Context, f FailedFilter) (FailedReport, error) {
	n, err := f.check()
	if err != nil {
		return FailedReport{}, fmt.Errorf("report failed jobs: %w", err)
	}
	rows, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.ReportFailedJobsRow, error) {
		return q.ReportFailedJobs(ctx, db.ReportFailedJobsParams{
			Since: since(f.Since), Kind: core.Optional(f.Kind), Most: MostReported, N: MostReported,
		})
	})
	if err != nil {
		return FailedReport{}, fmt.Errorf("report failed jobs: %w", err)
	}
	report := FailedReport{Groups: in.groupFailed(rows)}
	report.Groups = report.Groups[:min(int64(len(report.Groups)), n)]
	if len(rows) > 0 {
		report.Jobs = rows[0].LookedAt // the same in each row
	}
	report.Older = report.Jobs == MostReported
	return report, nil
}

// groupFailed groups errors by kind, cause and pattern.
func (in *Inspector) groupFailed(rows []db.ReportFailedJobsRow) []FailedGroup {
	type key struct {
		kind, cause, text string
	}
	texts, groups := map[key]*FailedText{}, map[key]*FailedGroup{}
	for _, r := range rows {
		text := in.view().Text(r.Kind, cipher.Error, r.Error) // many hidden errors have the same text
		one := FailedText{text, r.Jobs, core.Time(r.FirstSeen), core.Time(r.LastSeen), r.ExampleID}
		if same := texts[key{r.Kind, r.Cause, text}]; same != nil {
			same.add(one)
		} else {
			texts[key{r.Kind, r.Cause, text}] = &one
		}
	}
	for k, text := range texts {
		k.text = ErrorPattern(text.Error)
		g := groups[k]
		if g == nil {
			g = &FailedGroup{Kind: k.kind, Cause: jobs.Cause(k.cause), Pattern: k.text}
			groups[k] = g
		}
		g.Texts = append(g.Texts, *text)
	}
	list := make([]FailedGroup, 0, len(groups))
	for _, g := range groups {
		g.conclude()
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b FailedGroup) int { return frequent(a.sum(), b.sum()) })
	return list
}

// add adds the jobs of other, which has the same error.
func (t *FailedText) add(other FailedText) {
	t.Jobs += other.Jobs
	if other.FirstSeen.Before(t.FirstSeen) {
		t.FirstSeen = other.FirstSeen
	}
	if other.LastSeen.After(t.LastSeen) {
		t.LastSeen = other.LastSeen
	}
	if other.ExampleID > t.ExampleID {
		t.ExampleID, t.Error = other.ExampleID, other.Error
	}
}

// conclude sorts the texts and adds them up.
func (g *FailedGroup) conclude() {
	slices.SortFunc(g.Texts, frequent)
	all := g.Texts[0]
	for _, text := range g.Texts[1:] {
		all.add(text)
	}
	g.Error, g.Jobs, g.FirstSeen, g.LastSeen, g.ExampleID = all.Error, all.Jobs, all.FirstSeen, all.LastSeen, all.ExampleID
}

// sum returns the texts of the group as one.
func (g FailedGroup) sum() FailedText {
	return FailedText{g.Error, g.Jobs, g.FirstSeen, g.LastSeen, g.ExampleID}
}

// frequent compares texts in the order of the report.
func frequent(a, b FailedText) int {
	return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), b.LastSeen.Compare(a.LastSeen), cmp.Compare(b.ExampleID, a.ExampleID))
}

// Failure is a summary of a failed job.
type Failure struct {
	ID       int64     `json:"id"`
	Kind     string    `json:"kind"`
	Queue    string    `json:"queue"`
	Error    string    `json:"error"` // the first 1000 characters
	FailedAt time.Time `json:"failed_at"`
}

// Failures returns summaries of failed jobs, the latest first. before is the last one of the previous page, and the zero value
// for the first page.
func (in *Inspector) Failures(ctx context.Context, f FailedFilter, before Failure) ([]Failure, error) {
	var rows []db.ListFailedJobsRow
	err := in.readFailed(ctx, f, before.FailedAt, before.ID, func(_ context.Context, _ db.Querier, list []db.ListFailedJobsRow) error {
		rows = list
		return nil
	})
	if err != nil {
		return nil, err
	}
	return core.Map(rows, func(r db.ListFailedJobsRow) Failure {
		return Failure{r.ID, r.Kind, r.Queue, in.shortError(r), core.Time(r.FinishedAt)}
	}), nil
}

// shortError returns the beginning of a failed job's error. The statement returns an encrypted error whole.
func (in *Inspector) shortError(r db.ListFailedJobsRow) string {
	const most = 1000
	text := []rune(in.view().Text(r.Kind, cipher.Error, r.Error))
	return string(text[:min(most, len(text))])
}

// ListFailed returns failed jobs, the latest first. before is the last job of the previous page, and the zero value for the
// first page. A page may be shorter where jobs are large. It is empty only if no jobs are left.
func (in *Inspector) ListFailed(ctx context.Context, f FailedFilter, before jobs.Job) ([]jobs.Job, error) {
	beforeTime, beforeID := before.FinishedAt, before.ID
	for {
		var list []jobs.Job
		var heads []db.ListFailedJobsRow
		err := in.readFailed(ctx, f, beforeTime, beforeID, func(ctx context.Context, q db.Querier, rows []db.ListFailedJobsRow) error {
			heads = rows
			stillFailed, err := readStillFailed(ctx, q, heads)
			if err == nil {
				list, err = in.show(ctx, q, stillFailed)
			}
			return err
		})
		if err != nil || len(list) > 0 || len(heads) == 0 {
			return list, err
		}
		// All of them were changed after their summaries were read.
		last := heads[len(heads)-1]
		beforeTime, beforeID = core.Time(last.FinishedAt), last.ID
	}
}

// readStillFailed reads the jobs of a page, up to its limit of bytes, without the jobs that were changed since.
func readStillFailed(ctx context.Context, q db.Querier, heads []db.ListFailedJobsRow) ([]db.Job, error) {
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
		rows, err := q.ListJobs(ctx, jsonIDs(part, func(head db.ListFailedJobsRow) int64 { return head.ID }))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			byID[row.ID] = row
		}
	}
	list := make([]db.Job, 0, n)
	for _, head := range heads {
		row := byID[head.ID]
		if row.Status == string(jobs.StatusFailed) && row.FinishedAt != nil && *row.FinishedAt == head.FinishedAt {
			list = append(list, row)
		}
	}
	return list, nil
}

// readFailed reads a page of summaries, and calls fn in the same transaction or connection.
func (in *Inspector) readFailed(
	ctx context.Context, f FailedFilter, beforeTime time.Time, beforeID int64,
	fn func(context.Context, db.Querier, []db.ListFailedJobsRow) error,
) error {
	params := db.ListFailedJobsParams{
		Since: since(f.Since), BeforeTime: math.MaxInt64, BeforeID: math.MaxInt64, Kind: core.Optional(f.Kind),
	}
	if beforeID != 0 { // a plain UPDATE may have ended a job at time 0, the zero time
		params.BeforeTime, params.BeforeID = since(beforeTime), beforeID
	}
	var err error
	if params.N, err = f.check(); err == nil {
		err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
			rows, err := q.ListFailedJobs(ctx, params)
			if err != nil {
				return err
			}
			return fn(ctx, q, rows)
		})
	}
	return core.Wrap(err, "list failed jobs")
}
