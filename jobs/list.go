package jobs

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Filter says which jobs are listed. Zero values do not filter.
type Filter struct {
	Status Status
	Kind   string
	Queue  string
	UserID string
	Tag    string

	// Text is in the job's kind, payload, last error, request id, unique key or user id, or is its id. The payload is
	// searched as the JSON text that it is, and not at all if the kind marks anything as sensitive. ASCII letters are the same in upper and lower case, and no others are.
	Text string

	After int64 // jobs enqueued before the one with this id: the last id of the page before
	Limit int   // 100 when 0; at most MaxPage
}

// Page is a part of a list.
type Page struct {
	Jobs []Job
	Next int64 // the After of the page that goes on; 0 when there are no more jobs
}

// pageBytes is how large the large columns of a page's jobs may be together.
const pageBytes = 8 << 20

// List returns jobs, newest first: as many as the filter's Limit if there are, however long it takes to find them.
func (c *Client) List(ctx context.Context, f Filter) ([]Job, error) {
	list := []Job{}
	for {
		p, err := c.ListPage(ctx, f)
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

// ListPage returns jobs, newest first, and does not look for them for long: a page may have fewer jobs than the filter's
// Limit, or none, and yet a Next, which is how far it has looked. It may also be cut because jobs are large.
func (c *Client) ListPage(ctx context.Context, f Filter) (Page, error) {
	params, err := f.params()
	if err != nil {
		return Page{}, fmt.Errorf("list jobs: %w", err)
	}
	if c.tx == nil { // else others may wait for the transaction
		release, err := c.store.Shared().searches.take(ctx)
		if err != nil {
			return Page{}, fmt.Errorf("list jobs: %w", err)
		}
		began := time.Now()
		defer func() { release(searchPause(time.Since(began))) }()
	}
	var p Page
	err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
		s := search{params: params, before: f.After, status: f.Status}
		if f.After == 0 {
			s.before = math.MaxInt64
		}
		err := s.run(ctx, q)
		s.next = max(0, s.next) // no cursor leads below the first id that the schema allows
		if err != nil {
			return err
		}
		p = Page{Next: s.next}
		for part := range portions(s.found, bytesOf) {
			rows, err := q.ListJobs(ctx, core.JSONIDs(idsOf(part)))
			if err != nil {
				return err
			}
			for _, row := range rows {
				p.Jobs = append(p.Jobs, jobFromRow(row))
			}
		}
		return c.hide(ctx, q, p.Jobs)
	})
	if err != nil {
		return Page{}, fmt.Errorf("list jobs: %w", err)
	}
	return p, nil
}

// params checks a filter.
func (f Filter) params() (db.FindJobsParams, error) {
	params := db.FindJobsParams{
		Status: core.Optional(string(f.Status)), Kind: core.Optional(f.Kind), Queue: core.Optional(f.Queue), UserID: core.Optional(f.UserID),
		Tag: core.Optional(f.Tag), Text: core.Optional(f.Text),
	}
	var err error
	if params.N, err = page(f.Limit); err != nil {
		return params, err
	}
	if f.Status != "" {
		if _, err := ParseStatus(string(f.Status)); err != nil {
			return params, err
		}
	}
	for _, name := range []struct {
		field, value string
		most         int
	}{
		{"kind", f.Kind, MaxNameLength}, {"queue", f.Queue, MaxNameLength}, {"user id", f.UserID, MaxKeyLength},
		{"tag filter", f.Tag, MaxNameLength}, {"text", f.Text, MaxKeyLength},
	} {
		if err := validateFilter(name.field, name.value, name.most); err != nil {
			return params, err
		}
	}
	if f.After < 0 {
		return params, jobtype.NewInvalidError("cursor", fmt.Sprint(f.After), "not be negative")
	}
	return params, nil
}
