package admin

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/sqluice/sqluice/jobs"
)

// jobsView is a page of the list of jobs.
type jobsView struct {
	jobList
	narrowing
	Queues []string // that can be chosen
	Kinds  []string // that can be chosen
	counts []jobs.Count
}

func (h *Handler) jobsPage(r *http.Request) (view, error) {
	a, err := h.listJobs(r)
	if err != nil {
		return view{}, err
	}
	v := jobsView{jobList: a.body.(jobList), narrowing: narrowingOf(r)}
	if v.counts, err = h.client.Counts(r.Context()); err != nil {
		return view{}, err
	}
	v.Queues = v.names("queue", func(n jobs.Count) string { return n.Queue })
	v.Kinds = v.names("kind", func(n jobs.Count) string { return n.Kind })
	return view{"jobs", "Jobs", v}, nil
}

// names are those that the jobs have, and the one that the filter has.
func (v jobsView) names(field string, of func(jobs.Count) string) []string {
	list := []string{v.Get(field)}
	for _, n := range v.counts {
		list = append(list, of(n))
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(name string) bool { return name == "" })
}

// Count is how many jobs of the filter's queue and kind have a status.
func (v jobsView) Count(s jobs.Status) int64 {
	return total(v.counts, s, v.Get("queue"), v.Get("kind"))
}

// total is how many jobs of a status there are, of a queue and a kind or, where one is empty, of all.
func total(counts []jobs.Count, s jobs.Status, queue, kind string) (sum int64) {
	for _, n := range counts {
		if n.Status == s && (queue == "" || n.Queue == queue) && (kind == "" || n.Kind == kind) {
			sum += n.Jobs
		}
	}
	return sum
}

// Older leads to the next page.
func (v jobsView) Older() string { return v.With("after", strconv.FormatInt(v.Next, 10)) }

// Narrowed reports whether the list is narrowed to more than a status.
func (v jobsView) Narrowed() bool {
	for name, list := range v.Filter {
		if name != "status" && name != "limit" && list[0] != "" {
			return true
		}
	}
	return false
}

// Changes are what can be done to jobs of the list.
func (v jobsView) Changes() []deed { return changesOf(jobs.Status(v.Get("status"))) }
