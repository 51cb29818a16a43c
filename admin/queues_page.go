package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sqluice/sqluice/admin/chart"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The maximum numbers of queues on pages, and of queues with the last hour, which costs a read each.
const (
	maxBusiest   = 10 // on the overview
	maxHistories = 20
)

// queueLine is the row of a queue on pages.
type queueLine struct {
	inspect.QueueInfo
	Hour inspect.History // empty after the first maxHistories queues
}

// queueList holds the queues that a page shows.
type queueList struct {
	Lines []queueLine
	More  int    // the number of other queues
	Next  string // the name before the next page; empty if this is the last one
	First bool   // the page is the first one
	Rules []ruleLine
}

// pausedKind is a paused kind with its queue.
type pausedKind struct {
	Queue string
	inspect.KindPause
}

// PausedKinds returns the first paused kinds of the queues.
func (l queueList) PausedKinds() (list []pausedKind) {
	for _, q := range l.Lines {
		list = append(list, pausedKinds(q.QueueInfo)...)
	}
	return list[:min(len(list), maxPageSize)]
}

// pausedKinds returns the paused kinds of a queue.
func pausedKinds(q inspect.QueueInfo) (list []pausedKind) {
	for _, k := range q.PausedKinds {
		list = append(list, pausedKind{q.Name, k})
	}
	return list
}

// Spark returns the chart of the jobs that ended in the last hour.
func (q queueLine) Spark() chart.Chart {
	return chart.New("Jobs that ended in the last hour", "jobs", q.Hour,
		chart.CountSeries("ended", "running", true, func(i inspect.Interval) int64 { return i.Done + i.Failed + i.Cancelled }))
}

// Paused reports whether the queue is paused.
func (q queueLine) Paused() bool { return !q.PausedAt.IsZero() }

func (h *Handler) queuesPage(r *http.Request) (view, error) {
	q := queryOf(r, "after")
	if q.fault != nil {
		return view{}, q.fault
	}
	page, err := h.queuesAfter(r.Context(), q.text("after"), maxPageSize)
	if err != nil {
		return view{}, err
	}
	lines, _, err := h.queueLines(r.Context(), page.Queues)
	if err != nil {
		return view{}, err
	}
	rules, err := h.ruleLines(r.Context())
	return view{"queues", "Queues", queueList{Lines: lines, Next: page.Next, First: q.text("after") == "", Rules: rules}}, err
}

// busiest returns the queues with the most pending and running jobs, sorted by name.
func busiest(list []inspect.QueueInfo) []inspect.QueueInfo {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b inspect.QueueInfo) int { return cmp.Compare(b.Pending+b.Running, a.Pending+a.Running) })
	list = list[:min(len(list), maxBusiest)]
	slices.SortFunc(list, func(a, b inspect.QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// queueLines returns the queues with the last hour of the first ones, and the last hour of all queues together.
func (h *Handler) queueLines(ctx context.Context, list []inspect.QueueInfo) (lines []queueLine, all inspect.History, err error) {
	names := []string{""}
	for _, q := range list[:min(len(list), maxHistories)] {
		names = append(names, q.Name)
	}
	hours, err := h.inspector.Histories(ctx, lastHour(), names...)
	if err != nil {
		return nil, inspect.History{}, err
	}
	for i, q := range list {
		line := queueLine{QueueInfo: q}
		if i+1 < len(hours) {
			line.Hour = hours[i+1]
		}
		lines = append(lines, line)
	}
	return lines, hours[0], nil
}
