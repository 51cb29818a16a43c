package inspect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// Filter selects the jobs to list. Zero values do not filter.
type Filter struct {
	Status jobs.Status
	Kind   string
	Queue  string
	UserID string
	Tag    string

	// Text matches a part of the job's kind, payload, last error, request id, unique key or user id, or its whole id. The payload is
	// searched as JSON text, and not at all if the kind marks anything as sensitive. The case of ASCII letters is ignored.
	Text string

	After int64 // jobs enqueued before the one with this id: the last id of the previous page
	Limit int   // 100 when 0; at most MaxPage
}

// Page is a part of a list of jobs.
type Page struct {
	Jobs []jobs.Job
	Next int64 // the After of the next page; 0 on the last page
}

// pageBytes is the largest sum of the sizes of a page's large columns.
const pageBytes = 8 << 20

// List returns jobs, newest first: the filter's Limit of them if there are that many, however long the search takes.
func (in *Inspector) List(ctx context.Context, f Filter) ([]jobs.Job, error) {
	list := []jobs.Job{}
	for {
		p, err := in.ListPage(ctx, f)
		if err != nil {
			return nil, err
		}
		list = append(list, p.Jobs...)
		if f.Limit == 0 {
			f.Limit = defaultPage
		}
		f.After = p.Next
		f.Limit -= len(p.Jobs)
		if p.Next == 0 || f.Limit == 0 {
			return list, nil
		}
	}
}

// ListPage returns jobs, newest first. It bounds the work of one call: a page may have fewer jobs than the filter's Limit, or
// none, and still a Next, where the search continues. A page may also be shorter where jobs are large.
func (in *Inspector) ListPage(ctx context.Context, f Filter) (Page, error) {
	params, err := f.params()
	if err != nil {
		return Page{}, fmt.Errorf("list jobs: %w", err)
	}
	if in.scope.Tx == nil { // a caller's transaction may hold locks, so it does not wait for other searches
		release, err := in.scope.Searches.Take(ctx)
		if err != nil {
			return Page{}, fmt.Errorf("list jobs: %w", err)
		}
		began := time.Now()
		defer func() { release(searchPause(time.Since(began))) }()
	}
	var p Page
	err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		s := search{filter: f, params: params, before: cmp.Or(f.After, math.MaxInt64)}
		err := s.run(ctx, q)
		s.next = max(0, s.next) // no cursor is below the first id that the schema allows
		if err != nil {
			return err
		}
		p = Page{Next: s.next}
		var all []db.Job
		for part := range portions(s.found, bytesOf) {
			rows, err := q.ListJobs(ctx, jsonIDs(part, idOf))
			if err != nil {
				return err
			}
			all = append(all, rows...)
		}
		p.Jobs, err = in.show(ctx, q, all)
		return err
	})
	return core.Result(p, err, "list jobs")
}

// params returns the statement's parameters, and an InvalidError for a filter that cannot match any row.
func (f Filter) params() (db.FindJobsParams, error) {
	params := db.FindJobsParams{
		Status: core.Optional(string(f.Status)), Kind: core.Optional(f.Kind), Queue: core.Optional(f.Queue), UserID: core.Optional(f.UserID),
		Tag: core.Optional(f.Tag), Text: core.Optional(f.Text),
	}
	var err error
	if params.N, err = pageSize(f.Limit); err != nil {
		return params, err
	}
	if f.Status != "" {
		if _, err := jobs.ParseStatus(string(f.Status)); err != nil {
			return params, err
		}
	}
	for _, name := range []struct {
		field, value string
		most         int
	}{
		{"kind", f.Kind, jobs.MaxNameLength}, {"queue", f.Queue, jobs.MaxNameLength}, {"user id", f.UserID, jobs.MaxKeyLength},
		{"tag filter", f.Tag, jobs.MaxNameLength}, {"text", f.Text, jobs.MaxKeyLength},
	} {
		if err := checkFilter(name.field, name.value, name.most); err != nil {
			return params, err
		}
	}
	return params, checkCursor("cursor", f.After)
}
