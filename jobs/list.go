package jobs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
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

// The bounds of a page, so that none takes long or much memory whatever the table holds.
const (
	// searchFirst is how many jobs a search looks at first; the next step is twice as long, as long as steps are quick.
	searchFirst  = 500
	searchMost   = 10_000
	searchWithin = 30 * time.Millisecond

	// fewJobs of a status are found by its index, however many others there are.
	fewJobs = 10_000

	// pageBytes is how large the large columns of a page's jobs may be together.
	pageBytes = 8 << 20
)

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
	var p Page
	err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
		s := search{params: params, before: f.After, status: f.Status}
		if f.After == 0 {
			s.before = math.MaxInt64
		}
		p = Page{}
		if err := s.run(ctx, q); err != nil || len(s.found) == 0 {
			p.Next = s.next
			return err
		}
		rows, err := q.ListJobs(ctx, jsonIDs(s.found))
		if err != nil {
			return err
		}
		p = Page{Jobs: make([]Job, len(rows)), Next: s.next}
		for i, row := range rows {
			p.Jobs[i] = jobFromRow(row)
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
		Status: optional(string(f.Status)), Kind: optional(f.Kind), Queue: optional(f.Queue), UserID: optional(f.UserID),
		Tag: optional(f.Tag), Text: optional(f.Text),
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
		return params, invalid("cursor", fmt.Sprint(f.After), "not be negative")
	}
	return params, nil
}

// search looks for the jobs of a page, step by step.
type search struct {
	params  db.FindJobsParams
	status  Status
	before  int64
	few     []int64 // all jobs of the status below before, the highest id first, when byIndex
	byIndex bool

	found []int64
	next  int64
}

func (s *search) run(ctx context.Context, q db.Querier) error {
	if err := s.start(ctx, q); err != nil {
		return err
	}
	begun, most, bytes := time.Now(), int(s.params.N), int64(0)
	for looked, step := 0, max(searchFirst, most); ; step *= 2 {
		step = min(step, searchMost-looked)
		before := time.Now()
		ids, err := s.step(ctx, q, step)
		if err != nil || len(ids) == 0 {
			return err
		}
		s.params.Ids, s.params.N = jsonIDs(ids), int64(most-len(s.found))
		rows, err := q.FindJobs(ctx, s.params)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if bytes += r.Bytes; bytes > pageBytes && len(s.found) > 0 {
				s.next = s.found[len(s.found)-1]
				return nil
			}
			s.found = append(s.found, r.ID)
		}
		if len(s.found) == most {
			s.next = s.found[most-1]
			return nil
		}
		s.before = ids[len(ids)-1]
		if looked += len(ids); len(ids) < step {
			return nil
		}
		now := time.Now()
		if looked >= searchMost || now.Sub(begun)+2*now.Sub(before) > searchWithin { // the next step would take twice this one's time
			s.next = s.before
			return nil
		}
	}
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

// jsonIDs is a JSON list, as statements take it.
func jsonIDs(ids []int64) string {
	text := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, ']'))
}
