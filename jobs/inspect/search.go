package inspect

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// The bounds of a search's time and memory, and of the time that each of its statements uses a processor.
const (
	// searchFirst is the number of jobs in a search's first step. Each further step reads twice as many, while steps are quick.
	searchFirst  = 500
	searchMost   = 10_000
	searchWithin = 30 * time.Millisecond

	// searchBytes is the number of bytes that one statement reads of large columns, unless a single job has more.
	searchBytes = 1 << 20

	// After a search that took longer than searchQuick the next one waits for as long as that took, so that searches use at most
	// half of one processor. It waits at most searchPauseMost, because the search may have waited for a lock.
	searchQuick     = 10 * time.Millisecond
	searchPauseMost = 250 * time.Millisecond

	// fewJobs is the largest number of jobs that a search takes from an index that is not in the order of ids.
	fewJobs = 10_000
)

// search finds the jobs of a page, step by step.
type search struct {
	filter    Filter
	params    db.FindJobsParams // the parameters of the filter, without ids
	before    int64
	fromIndex []int64 // if byIndex: the index's jobs for the filter, with ids below before, the highest first
	byIndex   bool
	began     time.Time

	found []db.FindJobsRow
	bytes int64 // size of found
	next  int64 // the id after which the next page continues; 0 at the end
}

// run sets found and next.
func (s *search) run(ctx context.Context, q db.Querier) error {
	if err := s.start(ctx, q); err != nil {
		return err
	}
	s.began = time.Now()
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
		if looked >= searchMost || now.Sub(s.began)+2*now.Sub(before) > searchWithin { // the next step would take twice as long as this one
			s.next = s.before
			return nil
		}
	}
}

// searchPause returns the wait of the next search after one that took this long.
func searchPause(took time.Duration) time.Duration {
	if took < searchQuick {
		return 0
	}
	return min(took, searchPauseMost)
}

// find adds the jobs among ids that match the filter. goesOn is false when the page ends with one of them. It reads the sizes
// first, which are at the beginning of a row: to read any column behind the payload SQLite reads the payload too.
func (s *search) find(ctx context.Context, q db.Querier, ids []int64) (goesOn bool, err error) {
	rows, err := q.FindJobs(ctx, db.FindJobsParams{Ids: core.JSONIDs(ids), N: int64(len(ids))})
	if err != nil {
		return false, err
	}
	if s.params == (db.FindJobsParams{N: s.params.N}) {
		return s.add(rows), nil
	}
	last := int64(0)
	for part := range portions(rows, bytesOf) {
		if last != 0 && time.Since(s.began) > searchWithin {
			s.next = last
			return false, nil
		}
		params := s.params
		params.Ids, params.N = jsonIDs(part, idOf), s.params.N-int64(len(s.found))
		matches, err := q.FindJobs(ctx, params)
		if err != nil || !s.add(matches) {
			return false, err
		}
		last = part[len(part)-1].ID
		runtime.Gosched() // SQLite computes in this process, so let other goroutines run
	}
	return true, nil
}

// add adds jobs to the page. goesOn is false when the page became full.
func (s *search) add(rows []db.FindJobsRow) (goesOn bool) {
	for _, r := range rows {
		if s.bytes += r.Bytes; s.bytes > pageBytes && len(s.found) > 0 {
			s.next = s.found[len(s.found)-1].ID
			return false
		}
		s.found = append(s.found, r)
		if int64(len(s.found)) == s.params.N {
			s.next = r.ID
			return false
		}
	}
	return true
}

// portions splits rows so that the large columns of each portion have at most searchBytes, unless it is one row.
func portions[T any](rows []T, bytesOf func(T) int64) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(rows) > 0 {
			n, bytes := 1, bytesOf(rows[0])
			for n < len(rows) && bytes+bytesOf(rows[n]) <= searchBytes {
				bytes += bytesOf(rows[n])
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

func bytesOf(r db.FindJobsRow) int64 { return r.Bytes }

func idOf(r db.FindJobsRow) int64 { return r.ID }

// jsonIDs returns the ids of rows as a JSON list, the form that statements take.
func jsonIDs[T any](rows []T, idOf func(T) int64) string {
	return core.JSONIDs(core.Map(rows, idOf))
}

// start reads the ids of all matching jobs from an index that serves the filter and is not in the order of ids, if they are
// few. Other jobs are found in the order of their ids.
func (s *search) start(ctx context.Context, q db.Querier) error {
	ids, complete, err := s.listFew(ctx, q)
	if err != nil || !complete {
		return err
	}
	s.byIndex = true
	for _, id := range ids {
		if id < s.before {
			s.fromIndex = append(s.fromIndex, id)
		}
	}
	slices.SortFunc(s.fromIndex, func(a, b int64) int { return cmp.Compare(b, a) })
	return nil
}

// listFew reads up to fewJobs ids from an index that serves the filter. complete reports that it exists and has no more.
func (s *search) listFew(ctx context.Context, q db.Querier) (ids []int64, complete bool, err error) {
	f := s.filter
	switch {
	case f.Queue != "" && (f.Status == jobs.StatusPending || f.Status == jobs.StatusScheduled), f.Kind != "" && f.Status == jobs.StatusFailed:
		ids, err = q.ListJobIDsByName(ctx, db.ListJobIDsByNameParams{Queue: f.Queue, Kind: f.Kind, Status: string(f.Status), N: fewJobs + 1})
	case f.Status != "" && !f.Status.Final():
		ids, err = q.ListJobIDsByStatus(ctx, db.ListJobIDsByStatusParams{Status: string(f.Status), N: fewJobs + 1})
	default:
		return nil, false, nil
	}
	return ids, len(ids) <= fewJobs, err
}

// step returns the next ids to search, fewer than n at the end.
func (s *search) step(ctx context.Context, q db.Querier, n int) ([]int64, error) {
	switch {
	case s.byIndex:
		ids := s.fromIndex[:min(n, len(s.fromIndex))]
		s.fromIndex = s.fromIndex[len(ids):]
		return ids, nil
	case s.filter.UserID != "":
		return q.ListJobIDsOfUser(ctx, db.ListJobIDsOfUserParams{UserID: s.filter.UserID, BeforeID: s.before, N: int64(n)})
	case s.filter.Status == jobs.StatusFailed, s.filter.Status == jobs.StatusCancelled:
		return q.ListEndedJobIDs(ctx, db.ListEndedJobIDsParams{Status: string(s.filter.Status), BeforeID: s.before, N: int64(n)})
	}
	return q.ListJobIDs(ctx, db.ListJobIDsParams{BeforeID: s.before, N: int64(n)})
}
