package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs"
)

// KeptAttempts is the number of a job's latest attempts that always keep their rows. Earlier attempts keep them if they failed. A job may
// be snoozed any number of times.
const KeptAttempts = lifecycle.KeptAttempts

// AttemptPage is a page of a job's ended attempts: some that failed, and the others between them.
type AttemptPage struct {
	Failed     []AttemptEnd   // attempts that did not end well, in order
	Others     []AttemptEnd   // attempts that were snoozed, released or cancelled, in order
	Unrecorded []AttemptRange // attempts without a row, in order
	Next       int64          // the before of the next page, of earlier attempts; 0 if there is none
}

// AttemptRange is a range of consecutive attempts of a job.
type AttemptRange struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Ends returns the failed and the other attempts together, in order.
func (p AttemptPage) Ends() []AttemptEnd {
	list := slices.Concat(p.Failed, p.Others)
	slices.SortStableFunc(list, func(a, b AttemptEnd) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), a.EndedAt.Compare(b.EndedAt), cmp.Compare(a.expiry(), b.expiry()))
	})
	return list
}

// expiry returns 1 for the end of a job that expired, which comes after the end of its last attempt at the same time, and 0 otherwise.
func (e AttemptEnd) expiry() int {
	if e.Cause == jobs.CauseExpired {
		return 1
	}
	return 0
}

// Errors returns the attempts of a job that did not end well, in order; none for an unknown id.
func (in *Inspector) Errors(ctx context.Context, id int64) ([]AttemptEnd, error) {
	var all []AttemptEnd
	for before := int64(0); ; {
		page, err := in.Attempts(ctx, id, before, MaxPage)
		if err != nil {
			return nil, err
		}
		all = append(page.Failed, all...)
		if before = page.Next; before == 0 {
			return all, nil
		}
	}
}

// Attempts returns the latest attempts of a job, except one that runs or in which the job is done: at most limit that failed, and the
// others between these and after them. It returns none for an unknown id. 0 means a limit of 100. before is 0 for the first page, and then
// the previous page's Next.
func (in *Inspector) Attempts(ctx context.Context, id, before int64, limit int) (AttemptPage, error) {
	n, err := pageSize(limit)
	if err == nil {
		err = checkCursor("cursor", before)
	}
	var read attemptRows
	if err == nil {
		err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			read, err = readAttempts(ctx, q, db.ListJobErrorsParams{JobID: id, BeforeID: cmp.Or(before, math.MaxInt64), Failed: 1, N: n + 1})
			return err
		})
	}
	if err != nil {
		return AttemptPage{}, fmt.Errorf("list attempts of job %d: %w", id, err)
	}
	var page AttemptPage
	first, last := 1, int(read.job.Attempt) // the bounds of the page
	if read.job.WorkerID != 0 {
		last-- // the job's row holds this one
	}
	if rows := read.failed; int64(len(rows)) > n {
		page.Next, first = rows[n-1].ID, int(rows[n].Attempt)+1
		read.failed = rows[:n]
	}
	page.Failed, page.Others = in.attemptEnds(read.job.Kind, read.failed), in.attemptEnds(read.job.Kind, read.others)
	if before != 0 {
		if len(page.Failed) == 0 {
			return AttemptPage{Failed: page.Failed}, nil
		}
		last = min(last, page.Failed[len(page.Failed)-1].Attempt)
	}
	page.Others = slices.DeleteFunc(page.Others, func(e AttemptEnd) bool { return e.Attempt < first || before != 0 && e.Attempt > last })
	page.Unrecorded = unrecorded(first, last, page.Ends())
	return page, nil
}

// attemptRows holds rows of a job's attempts, the latest first.
type attemptRows struct {
	job            db.GetJobFenceRow
	failed, others []db.ListJobErrorsRow
}

func readAttempts(ctx context.Context, q db.Querier, params db.ListJobErrorsParams) (rows attemptRows, err error) {
	if rows.job, err = q.GetJobFence(ctx, params.JobID); err != nil {
		if errors.Is(core.NotFound(err), jobs.ErrNotFound) {
			err = nil
		}
		return rows, err
	}
	if rows.failed, err = q.ListJobErrors(ctx, params); err != nil {
		return rows, err
	}
	rows.others, err = q.ListJobErrors(ctx, db.ListJobErrorsParams{JobID: params.JobID, BeforeID: math.MaxInt64, N: MaxPage})
	return rows, err
}

// attemptEnds returns attempts in order.
func (in *Inspector) attemptEnds(kind string, rows []db.ListJobErrorsRow) []AttemptEnd {
	view, list := in.view(), make([]AttemptEnd, 0, len(rows))
	for _, r := range slices.Backward(rows) {
		list = append(list, AttemptEnd{
			Attempt: int(r.Attempt), Cause: jobs.Cause(r.Cause), Message: view.Text(kind, cipher.Error, r.Message),
			Stack: view.Text(kind, cipher.Stack, r.Stack), Worker: r.Worker, Host: r.Host,
			StartedAt: core.Time(r.StartedAt), EndedAt: core.Time(r.EndedAt),
		})
	}
	return list
}

// unrecorded returns the attempts from first to last that are not in ends, which are in order.
func unrecorded(first, last int, ends []AttemptEnd) []AttemptRange {
	var list []AttemptRange
	if first > last {
		return nil
	}
	for _, e := range ends {
		if e.Attempt > first {
			list = append(list, AttemptRange{first, min(e.Attempt-1, last)})
		}
		if first = max(first, e.Attempt+1); first > last {
			return list
		}
	}
	if first <= last {
		list = append(list, AttemptRange{first, last})
	}
	return list
}
