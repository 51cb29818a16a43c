package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// jobsView is a page of the list of jobs.
type jobsView struct {
	jobList
	listFilter
	Queues []string // the choices of the filter: the first names of many
	Kinds  []string
	counts []inspect.Count
}

func (h *Handler) jobsPage(r *http.Request) (view, error) {
	a, err := h.listJobs(r)
	if err != nil {
		return view{}, err
	}
	v := jobsView{jobList: a.body.(jobList), listFilter: listFilterOf(r)}
	if v.counts, err = h.inspector.Counts(r.Context()); err != nil {
		return view{}, err
	}
	v.Queues = v.names(func(n inspect.Count) string { return n.Queue })
	v.Kinds = v.names(func(n inspect.Count) string { return n.Kind })
	return view{"jobs", "Jobs", v}, nil
}

// names returns the first names of the kinds or queues of jobs, sorted.
func (v jobsView) names(of func(inspect.Count) string) []string {
	var list []string
	for _, n := range v.counts {
		list = append(list, of(n))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), maxPageSize)]
}

// Count returns the number of jobs with a status and the filter's queue and kind.
func (v jobsView) Count(s jobs.Status) int64 {
	return total(v.counts, s, v.Get("queue"), v.Get("kind"))
}

// total returns the number of jobs with a status, a queue and a kind. An empty queue or kind means all.
func total(counts []inspect.Count, s jobs.Status, queue, kind string) (sum int64) {
	for _, n := range counts {
		if n.Status == s && (queue == "" || n.Queue == queue) && (kind == "" || n.Kind == kind) {
			sum += n.Jobs
		}
	}
	return sum
}

// Older returns the URL of the next page.
func (v jobsView) Older() string { return v.With("after", strconv.FormatInt(v.Next, 10)) }

// Filtered reports whether the filter has more than a status.
func (v jobsView) Filtered() bool {
	for name, list := range v.Filter {
		if name != "status" && name != "limit" && list[0] != "" {
			return true
		}
	}
	return false
}

// Changes returns the actions for the jobs of the list.
func (v jobsView) Changes() []jobAction { return jobActionsFor(jobs.Status(v.Get("status"))) }

// listFilter is the filter of a page with a list, and the position of the page.
type listFilter struct {
	path   string
	Filter url.Values // without the position
	First  bool       // the page is the newest one
}

func listFilterOf(r *http.Request) listFilter {
	n := listFilter{path: r.URL.Path, Filter: r.URL.Query()}
	n.First = n.Filter.Get("after") == ""
	n.Filter.Del("after")
	return n
}

// Get returns a field of the filter.
func (n listFilter) Get(name string) string { return n.Filter.Get(name) }

// With returns the URL of the list with one field of the filter changed. An empty value removes the field.
func (n listFilter) With(name, value string) string {
	values := url.Values{}
	for field, list := range n.Filter {
		if field != name && list[0] != "" {
			values.Set(field, list[0])
		}
	}
	if value != "" {
		values.Set(name, value)
	}
	if len(values) == 0 {
		return n.path
	}
	return n.path + "?" + values.Encode()
}
