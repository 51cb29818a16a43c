package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// mostIntervals is the largest number of intervals of a History.
const mostIntervals = 3000

// HistoryFilter selects what [Inspector.History] returns. The zero value means the last hour of all jobs by the minute.
type HistoryFilter struct {
	Queue string        // if not empty, only of this queue
	Kind  string        // if not empty, only of this kind
	Since time.Time     // an hour before Until if zero
	Until time.Time     // now if zero
	Step  time.Duration // whole minutes; 0 means a minute, or a quarter of an hour for times whose minutes are removed
}

// Latency summarises the times that jobs waited or ran. Its quantiles are estimates from buckets of durations, whose bounds
// are a factor of two apart. A zero Latency means no jobs.
type Latency struct {
	Jobs int64         `json:"jobs"`
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
}

// Interval counts the events of one step of time.
type Interval struct {
	Start     time.Time `json:"start"`
	Done      int64     `json:"done"`
	Failed    int64     `json:"failed"` // for good
	Cancelled int64     `json:"cancelled"`
	Retried   int64     `json:"retried"` // failed attempts of jobs with an attempt left
	Crashed   int64     `json:"crashed"` // attempts whose process ended or whose lease ran out
	Wait      Latency   `json:"wait"`    // from the due time of jobs until their handlers began
	Run       Latency   `json:"run"`     // time in the handlers
}

// History counts the events of jobs, in steps of time.
type History struct {
	Step      time.Duration `json:"step"`
	Intervals []Interval    `json:"intervals"` // the earliest first, without gaps
	Total     Interval      `json:"total"`
}

// History counts the events of jobs in steps of time: by the minute for the last 6 hours, by quarters of an hour for the last
// 30 days. The counts are exact and outlive the jobs. The times that jobs waited and ran are known up to some seconds ago,
// and not for the last seconds before a process was killed. The error is a [jobs.InvalidError] for an invalid filter.
func (in *Inspector) History(ctx context.Context, f HistoryFilter) (History, error) {
	list, err := in.histories(ctx, f, []string{f.Queue})
	if err != nil {
		return History{}, err
	}
	return list[0], nil
}

// Histories returns the [Inspector.History] of several queues, read at once. An empty name means all queues together. It
// ignores the filter's Queue. A name that no queue can have returns an empty history and no error: another program may have
// added a job under such a name, and [Inspector.Queues] returns it.
func (in *Inspector) Histories(ctx context.Context, f HistoryFilter, queues ...string) ([]History, error) {
	if len(queues) == 0 {
		return nil, nil
	}
	return in.histories(ctx, f, queues)
}

func (in *Inspector) histories(ctx context.Context, f HistoryFilter, queues []string) ([]History, error) {
	now := in.scope.Now()
	if err := f.complete(now); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	kept := stats.FineStep
	if f.Step%stats.CoarseStep == 0 {
		kept = stats.CoarseStep
	}
	names, err := json.Marshal(slices.DeleteFunc(slices.Clone(queues), func(name string) bool { return core.CheckPortable("queue", name) != nil }))
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	rows, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.ListJobHistoryRow, error) {
		return q.ListJobHistory(ctx, db.ListJobHistoryParams{
			Step: kept.Microseconds(), Starts: f.starts(kept, now), Queues: string(names), Kind: f.Kind,
			Since: core.Micros(f.Since), Until: core.Micros(f.Until),
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	byQueue := map[string]*series{}
	for _, name := range queues {
		byQueue[name] = &series{steps: make([]step, (f.Until.Sub(f.Since)+f.Step-1)/f.Step)}
	}
	for _, row := range rows {
		at := (row.At - core.Micros(f.Since)) / f.Step.Microseconds()
		if s := byQueue[row.Queue]; s != nil {
			s.add(at, row)
		}
		// Rows that are not added up yet count for one queue each: there is none for the sum of all.
		if s := byQueue[""]; s != nil && row.Noted == 1 {
			s.add(at, row)
		}
	}
	return core.Map(queues, func(name string) History { return byQueue[name].history(f) }), nil
}

// complete sets the filter's defaults and truncates Since to the beginning of a step.
func (f *HistoryFilter) complete(now time.Time) error {
	if err := cmp.Or(checkFilter("queue", f.Queue, jobs.MaxNameLength), checkFilter("kind", f.Kind, jobs.MaxNameLength)); err != nil {
		return err
	}
	if f.Until.IsZero() {
		f.Until = now
	}
	if f.Since.IsZero() {
		f.Since = f.Until.Add(-time.Hour)
	}
	if f.Step == 0 {
		f.Step = stats.FineStep
		if f.Since.Before(now.Add(-stats.KeepFine)) || f.Until.Sub(f.Since) > stats.KeepFine {
			f.Step = stats.CoarseStep
		}
	}
	switch {
	case f.Step < 0 || f.Step%stats.FineStep != 0 || f.Step > stats.KeepCoarse:
		return jobtype.NewInvalidError("step", f.Step.String(), "be whole minutes, at most 30 days")
	case f.Since.Before(time.Unix(0, 0)) || f.Until.After(core.Latest):
		return jobtype.NewInvalidError("since", f.Since.UTC().Format(time.RFC3339), "be a time between the years 1970 and 9999")
	case !f.Since.Before(f.Until):
		return jobtype.NewInvalidError("since", f.Since.UTC().Format(time.RFC3339), "be before the end, "+f.Until.UTC().Format(time.RFC3339))
	case f.Until.Unix()-f.Since.Unix() >= mostIntervals*int64(f.Step/time.Second):
		return jobtype.NewInvalidError("step", f.Step.String(), fmt.Sprintf("make at most %d intervals", mostIntervals))
	}
	f.Since = f.Since.Truncate(f.Step)
	return nil
}

// starts returns the start times of the steps of a length, as a JSON list. It omits steps older than twice their retention:
// they exist only if no worker has removed anything.
func (f *HistoryFilter) starts(length time.Duration, now time.Time) string {
	keep := stats.KeepFine
	if length == stats.CoarseStep {
		keep = stats.KeepCoarse
	}
	first, last := f.Since, f.Until
	if oldest := now.Add(-2 * keep).Truncate(length); first.Before(oldest) {
		first = oldest
	}
	if end := now.Add(keep); last.After(end) { // clocks of other hosts may be ahead
		last = end
	}
	var list []int64
	for at := first; at.Before(last); at = at.Add(length) {
		list = append(list, core.Micros(at))
	}
	return core.JSONIDs(list)
}

// series adds up the events in a queue.
type series struct {
	steps []step
	total step
}

func (s *series) add(at int64, row db.ListJobHistoryRow) {
	s.steps[at].add(row)
	s.total.add(row)
}

func (s *series) history(f HistoryFilter) History {
	h := History{Step: f.Step, Intervals: make([]Interval, len(s.steps)), Total: s.total.interval(f.Since)}
	for i := range s.steps {
		h.Intervals[i] = s.steps[i].interval(f.Since.Add(time.Duration(i) * f.Step))
	}
	return h
}

// step adds up the events of one step of time.
type step struct {
	events    map[string]int64
	wait, run map[int64]int64 // number of durations by bucket
}

func (s *step) add(row db.ListJobHistoryRow) {
	if s.events == nil {
		s.events, s.wait, s.run = map[string]int64{}, map[int64]int64{}, map[int64]int64{}
	}
	switch row.Event {
	case stats.EventWait:
		s.wait[row.Bucket] += row.Times
	case stats.EventRun:
		s.run[row.Bucket] += row.Times
	default:
		s.events[row.Event] += row.Times
	}
}

func (s *step) interval(start time.Time) Interval {
	return Interval{
		Start: start, Done: s.events[string(jobs.StatusDone)], Failed: s.events[string(jobs.StatusFailed)],
		Cancelled: s.events[string(jobs.StatusCancelled)], Retried: s.events[stats.EventRetried], Crashed: s.events[stats.EventCrashed],
		Wait: latency(s.wait), Run: latency(s.run),
	}
}

func latency(counts map[int64]int64) Latency {
	l := Latency{P50: stats.Quantile(counts, 0.5), P90: stats.Quantile(counts, 0.9), P99: stats.Quantile(counts, 0.99)}
	for _, n := range counts {
		l.Jobs += n
	}
	return l
}
