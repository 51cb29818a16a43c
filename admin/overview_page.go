package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sqluice/sqluice/admin/chart"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// latestFailures is the number of failed jobs on the overview.
const latestFailures = 6

// overview is the data of the overview page.
type overview struct {
	Stats    inspect.Stats
	Hour     inspect.History
	Day      inspect.History
	Range    string    // the time of the charts: "hour" or "day"
	Queues   queueList // the busiest queues
	Workers  []workerLine
	Failures []inspect.Failure

	paused []inspect.QueueInfo // queues with pending jobs come first
	kinds  []pausedKind        // sorted by queue
}

func (h *Handler) overviewPage(r *http.Request) (view, error) {
	q := queryOf(r, "range")
	if text := q.text("range"); text != "" && text != "hour" && text != "day" {
		q.fail(&jobs.InvalidError{Field: "range", Value: fmt.Sprintf("%.40q", text), Must: "be hour or day"})
	}
	if q.fault != nil {
		return view{}, q.fault
	}
	o, err := h.overview(r.Context())
	if o.Range = q.text("range"); o.Range == "" {
		o.Range = "hour"
	}
	return view{"overview", "Overview", o}, err
}

func (h *Handler) overview(ctx context.Context) (overview, error) {
	var o overview
	now, err := h.inspector.Snapshot(ctx)
	if err != nil {
		return o, err
	}
	o.Stats, o.Workers = now.Stats, h.workerLines(now.Workers)
	o.setPaused(now.Queues)
	busy := busiest(now.Queues)
	o.Queues.More = len(now.Queues) - len(busy)
	if o.Queues.Lines, o.Hour, err = h.queueLines(ctx, busy); err != nil {
		return o, err
	}
	if o.Day, err = h.inspector.History(ctx, h.lastDay()); err != nil {
		return o, err
	}
	o.Failures, err = h.inspector.Failures(ctx, inspect.FailedFilter{Limit: latestFailures}, inspect.Failure{})
	return o, err
}

// lastHour returns the filter of the last hour, by the minute.
func lastHour() inspect.HistoryFilter { return inspect.HistoryFilter{} }

func (h *Handler) lastDay() inspect.HistoryFilter {
	now := h.inspector.Now()
	return inspect.HistoryFilter{Since: now.Add(-24 * time.Hour), Until: now, Step: 15 * time.Minute}
}

// maxAlerts is the number of pairs of a queue and a kind without a worker that the overview names.
const maxAlerts = 5

// Unhandled returns the pairs of a queue and a kind without a worker, those with the most jobs.
func (o overview) Unhandled() []inspect.UnhandledWork {
	return mostUnhandled(o.Stats.Unhandled, maxAlerts)
}

// MoreUnhandled returns the number of jobs of the other pairs without a worker.
func (o overview) MoreUnhandled() (n int64) {
	n = o.UnhandledJobs()
	for _, u := range o.Unhandled() {
		n -= u.Jobs
	}
	return n
}

// UnhandledJobs returns the number of jobs of all pairs without a worker.
func (o overview) UnhandledJobs() (n int64) {
	for _, u := range o.Stats.Unhandled {
		n += u.Jobs
	}
	return n
}

// UnhandledPairs returns the number of pairs without a worker.
func (o overview) UnhandledPairs() int { return len(o.Stats.Unhandled) }

// setPaused sets the paused queues and kinds. A pair without a worker that is paused is no alarm.
func (o *overview) setPaused(queues []inspect.QueueInfo) {
	names, kinds := map[string]bool{}, map[[2]string]bool{}
	for _, q := range queues {
		for _, k := range pausedKinds(q) {
			kinds[[2]string{k.Queue, k.Kind}] = true
			o.kinds = append(o.kinds, k)
		}
		if !q.PausedAt.IsZero() {
			names[q.Name] = true
			o.paused = append(o.paused, q)
		}
	}
	slices.SortStableFunc(o.paused, func(a, b inspect.QueueInfo) int { return cmp.Compare(b.Pending, a.Pending) })
	o.Stats.Unhandled = slices.DeleteFunc(o.Stats.Unhandled, func(u inspect.UnhandledWork) bool {
		return names[u.Queue] || kinds[[2]string{u.Queue, u.Kind}]
	})
}

// PausedKinds returns the first pairs of a paused kind and its queue.
func (o overview) PausedKinds() []pausedKind { return o.kinds[:min(len(o.kinds), maxAlerts)] }

// MorePausedKinds returns the number of the other paused kinds.
func (o overview) MorePausedKinds() int { return len(o.kinds) - len(o.PausedKinds()) }

// Paused returns the paused queues with the most pending jobs.
func (o overview) Paused() []inspect.QueueInfo { return o.paused[:min(len(o.paused), maxAlerts)] }

// MorePaused returns the number of the other paused queues.
func (o overview) MorePaused() int { return len(o.paused) - len(o.Paused()) }

// Slots returns the number of jobs that all workers can run at the same time.
func (o overview) Slots() (n int) {
	for _, w := range o.Workers {
		n += w.Slots
	}
	return n
}

// Running returns the number of running jobs.
func (o overview) Running() int64 { return o.Stats.Jobs[jobs.StatusRunning] }

// Shown returns the history in the charts.
func (o overview) Shown() inspect.History {
	if o.Range == "day" {
		return o.Day
	}
	return o.Hour
}

// leastSteps is the minimum number of steps of a chart.
const leastSteps = 3

// Charted returns the part of the history from its first jobs on.
func (o overview) Charted() inspect.History { return chart.Begin(o.Shown(), leastSteps) }

// Each returns the length of a step of the charts in words.
func (o overview) Each() string {
	if o.Range == "day" {
		return "quarter of an hour"
	}
	return "minute"
}

// Throughput returns the chart of the jobs' outcomes.
func (o overview) Throughput() chart.Chart {
	return chart.New("Jobs that ended, by the "+o.Each(), "jobs", o.Charted(),
		chart.CountSeries("Done", "done", true, func(i inspect.Interval) int64 { return i.Done }),
		chart.CountSeries("Retried", "pending", false, func(i inspect.Interval) int64 { return i.Retried }),
		chart.CountSeries("Cancelled", "cancelled", false, func(i inspect.Interval) int64 { return i.Cancelled }),
		chart.CountSeries("Failed", "failed", true, func(i inspect.Interval) int64 { return i.Failed }))
}

// Wait returns the chart of the times that jobs waited for a worker.
func (o overview) Wait() chart.Chart {
	return chart.New("How long jobs waited, by the "+o.Each(), "ms", o.Charted(), chart.LatencySeries(func(i inspect.Interval) inspect.Latency { return i.Wait })...)
}

// Run returns the chart of the run times of jobs.
func (o overview) Run() chart.Chart {
	return chart.New("How long jobs ran, by the "+o.Each(), "ms", o.Charted(), chart.LatencySeries(func(i inspect.Interval) inspect.Latency { return i.Run })...)
}
