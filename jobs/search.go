package jobs

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// The bounds of a search, so that none takes long or much memory whatever the table holds, and none of its statements keeps a
// processor for long.
const (
	// searchFirst is how many jobs a search looks at first; the next step is twice as long, as long as steps are quick.
	searchFirst  = 500
	searchMost   = 10_000
	searchWithin = 30 * time.Millisecond

	// searchBytes is how many bytes one statement reads of large columns, unless one job alone has more.
	searchBytes = 1 << 20

	// fewJobs of a status are found by its index, however many others there are.
	fewJobs = 10_000
)

// search looks for the jobs of a page, step by step.
type search struct {
	params  db.FindJobsParams
	status  Status
	before  int64
	few     []int64 // all jobs of the status below before, the highest id first, when byIndex
	byIndex bool
	begun   time.Time

	found []db.FindJobsRow
	bytes int64 // of found
	next  int64 // the id after which the next page goes on; 0 at the end
}

// run fills found and next.
func (s *search) run(ctx context.Context, q db.Querier) error {
	if err := s.start(ctx, q); err != nil {
		return err
	}
	s.begun = time.Now()
	for looked, step := 0, max(searchFirst, int(s.params.N)); ; step *= 2 {
		step = min(step, searchMost-looked)
		before := time.Now()
		ids, err := s.step(ctx, q, step)
		if err != nil || len(ids) == 0 {
			return err
		}
		if goesOn, err := s.find(ctx, q, ids); err != nil || !goesOn {
			return err
		}
		s.before = ids[len(ids)-1]
		if looked += len(ids); len(ids) < step {
			return nil
		}
		now := time.Now()
		if looked >= searchMost || now.Sub(s.begun)+2*now.Sub(before) > searchWithin { // the next step would take twice this one's time
			s.next = s.before
			return nil
		}
	}
}

// find adds those of the ids that the filter means to the page. goesOn is false when the page ends with one of them. A text is
// looked for only in jobs that all else in the filter means, in statements that read a bounded number of bytes.
func (s *search) find(ctx context.Context, q db.Querier, ids []int64) (goesOn bool, err error) {
	if s.params.Text == nil {
		return s.match(ctx, q, ids)
	}
	params := s.params
	params.Text, params.Ids, params.N = nil, core.JSONIDs(ids), int64(len(ids))
	rows, err := q.FindJobs(ctx, params)
	if err != nil {
		return false, err
	}
	last := int64(0)
	for part := range portions(rows) {
		if last != 0 && time.Since(s.begun) > searchWithin {
			s.next = last
			return false, nil
		}
		if goesOn, err := s.match(ctx, q, idsOf(part)); err != nil || !goesOn {
			return false, err
		}
		last = part[len(part)-1].ID
		runtime.Gosched() // SQLite computes in this process: let those go on who are ready
	}
	return true, nil
}

// match adds those of the ids that the filter means to the page, by one statement.
func (s *search) match(ctx context.Context, q db.Querier, ids []int64) (goesOn bool, err error) {
	params := s.params
	params.Ids, params.N = core.JSONIDs(ids), s.params.N-int64(len(s.found))
	rows, err := q.FindJobs(ctx, params)
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		if s.bytes += r.Bytes; s.bytes > pageBytes && len(s.found) > 0 {
			s.next = s.found[len(s.found)-1].ID
			return false, nil
		}
		s.found = append(s.found, r)
	}
	if int64(len(s.found)) == s.params.N {
		s.next = s.found[len(s.found)-1].ID
		return false, nil
	}
	return true, nil
}

// portions splits rows so that the large columns of each portion have at most searchBytes, unless it is one job.
func portions(rows []db.FindJobsRow) iter.Seq[[]db.FindJobsRow] {
	return func(yield func([]db.FindJobsRow) bool) {
		for len(rows) > 0 {
			n, bytes := 1, rows[0].Bytes
			for n < len(rows) && bytes+rows[n].Bytes <= searchBytes {
				bytes += rows[n].Bytes
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

func idsOf(rows []db.FindJobsRow) []int64 {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

// start finds the jobs of a status by its index when they are few, and alive: others are found in the order of their ids.
func (s *search) start(ctx context.Context, q db.Querier) error {
	if s.status == "" || s.status.Final() {
		return nil
	}
	ids, err := q.ListJobIDsByStatus(ctx, db.ListJobIDsByStatusParams{Status: string(s.status), N: fewJobs + 1})
	if err != nil || len(ids) > fewJobs {
		return err
	}
	s.byIndex = true
	for _, id := range ids {
		if id < s.before {
			s.few = append(s.few, id)
		}
	}
	slices.SortFunc(s.few, func(a, b int64) int { return cmp.Compare(b, a) })
	return nil
}

// step returns the next ids to look at, fewer than n at the end.
func (s *search) step(ctx context.Context, q db.Querier, n int) ([]int64, error) {
	switch {
	case s.byIndex:
		ids := s.few[:min(n, len(s.few))]
		s.few = s.few[len(ids):]
		return ids, nil
	case s.status == StatusFailed, s.status == StatusCancelled:
		return q.ListEndedJobIDs(ctx, db.ListEndedJobIDsParams{Status: string(s.status), BeforeID: s.before, N: int64(n)})
	}
	return q.ListJobIDs(ctx, db.ListJobIDsParams{BeforeID: s.before, N: int64(n)})
}
