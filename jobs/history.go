package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// The two lengths of steps in which history is kept, and for how long.
const (
	fineStep   = time.Minute
	coarseStep = 15 * time.Minute

	keepFine   = 6 * time.Hour
	keepCoarse = 30 * 24 * time.Hour

	// mostIntervals bounds what History returns.
	mostIntervals = 3000
)

// HistoryFilter chooses what [Client.History] tells. The zero value means the last hour, minute by minute, of all jobs.
type HistoryFilter struct {
	Queue string        // only of this queue, if not empty
	Kind  string        // only of this kind, if not empty
	Since time.Time     // an hour before Until if zero
	Until time.Time     // now if zero
	Step  time.Duration // whole minutes; 0: a minute, or a quarter of an hour where minutes are not kept so long
}

// Latency tells how long jobs waited, or ran. Its quantiles are estimates from classes of durations, whose ends are a
// factor of two apart. A zero Latency means no jobs.
type Latency struct {
	Jobs int64         `json:"jobs"`
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
}

// Interval is what happened in one step of time.
type Interval struct {
	Start     time.Time `json:"start"`
	Done      int64     `json:"done"`
	Failed    int64     `json:"failed"` // for good
	Cancelled int64     `json:"cancelled"`
	Retried   int64     `json:"retried"` // attempts that failed, of jobs that got another one
	Crashed   int64     `json:"crashed"` // attempts whose process ended, or whose lease ran out
	Wait      Latency   `json:"wait"`    // from when jobs were due to when their handlers began
	Run       Latency   `json:"run"`     // what their handlers took
}

// History is a time series of what became of jobs.
type History struct {
	Step      time.Duration `json:"step"`
	Intervals []Interval    `json:"intervals"` // without gaps, the earliest first
	Total     Interval      `json:"total"`
}

// History tells what became of jobs in steps of time: by the minute for the last 6 hours, by quarters of an hour for the
// last 30 days. The events are exact, and outlive the jobs; how long jobs waited and ran is known up to some seconds ago,
// and not of the last seconds before a process was killed. The error is an [InvalidError] for a filter that means nothing.
func (c *Client) History(ctx context.Context, f HistoryFilter) (History, error) {
	list, err := c.histories(ctx, f, []string{f.Queue})
	if err != nil {
		return History{}, err
	}
	return list[0], nil
}

// Histories is [Client.History] of each of some queues, read at once. An empty name stands for all queues together. The
// filter's own Queue is not used. A name that no queue can have gives an empty history and no error: another program may
// have added a job under such a name, and [Client.Queues] returns it.
func (c *Client) Histories(ctx context.Context, f HistoryFilter, queues ...string) ([]History, error) {
	if len(queues) == 0 {
		return nil, nil
	}
	return c.histories(ctx, f, queues)
}

func (c *Client) histories(ctx context.Context, f HistoryFilter, queues []string) ([]History, error) {
	now := c.store.Now()
	if err := f.complete(now); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	kept := fineStep
	if f.Step%coarseStep == 0 {
		kept = coarseStep
	}
	names, err := json.Marshal(slices.DeleteFunc(slices.Clone(queues), func(name string) bool { return !portableText(name) }))
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	var rows []db.ListJobHistoryRow
	err = c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = q.ListJobHistory(ctx, db.ListJobHistoryParams{
			Step: kept.Microseconds(), Starts: f.starts(kept, now), Queues: string(names), Kind: f.Kind,
			Since: core.Micros(f.Since), Until: core.Micros(f.Until),
		})
		return err
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
		// What is in no step yet is told of each queue alone, and of all by no row of its own.
		if s := byQueue[""]; s != nil && row.Noted == 1 {
			s.add(at, row)
		}
	}
	list := make([]History, len(queues))
	for i, name := range queues {
		list[i] = byQueue[name].history(f)
	}
	return list, nil
}

// portableText reports whether every engine takes a text as a parameter.
func portableText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// complete puts the defaults into the filter, and its beginning where a step begins.
func (f *HistoryFilter) complete(now time.Time) error {
	if err := cmp.Or(validateFilter("queue", f.Queue, MaxNameLength), validateFilter("kind", f.Kind, MaxNameLength)); err != nil {
		return err
	}
	if f.Until.IsZero() {
		f.Until = now
	}
	if f.Since.IsZero() {
		f.Since = f.Until.Add(-time.Hour)
	}
	if f.Step == 0 {
		f.Step = fineStep
		if f.Since.Before(now.Add(-keepFine)) || f.Until.Sub(f.Since) > keepFine {
			f.Step = coarseStep
		}
	}
	switch {
	case f.Step < 0 || f.Step%fineStep != 0 || f.Step > keepCoarse:
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

// starts are the times at which the steps of a length begin that are kept, as a JSON list. Nothing is kept for longer than
// twice the time after which it is removed, unless no worker has removed anything.
func (f *HistoryFilter) starts(length time.Duration, now time.Time) string {
	keep := keepFine
	if length == coarseStep {
		keep = keepCoarse
	}
	first, last := f.Since, f.Until
	if oldest := now.Add(-2 * keep).Truncate(length); first.Before(oldest) {
		first = oldest
	}
	if end := now.Add(keep); last.After(end) { // the clocks of others
		last = end
	}
	var list []int64
	for at := first; at.Before(last); at = at.Add(length) {
		list = append(list, core.Micros(at))
	}
	return core.JSONIDs(list)
}

// series is what happened in a queue.
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

// step adds up what happened in a step of time.
type step struct {
	events    map[string]int64
	wait, run map[int64]int64 // how many durations of each class
}

func (s *step) add(row db.ListJobHistoryRow) {
	if s.events == nil {
		s.events, s.wait, s.run = map[string]int64{}, map[int64]int64{}, map[int64]int64{}
	}
	switch row.Event {
	case eventWait:
		s.wait[row.Bucket] += row.Times
	case eventRun:
		s.run[row.Bucket] += row.Times
	default:
		s.events[row.Event] += row.Times
	}
}

func (s *step) interval(start time.Time) Interval {
	return Interval{
		Start: start, Done: s.events[string(StatusDone)], Failed: s.events[string(StatusFailed)],
		Cancelled: s.events[string(StatusCancelled)], Retried: s.events[eventRetried], Crashed: s.events[eventCrashed],
		Wait: latency(s.wait), Run: latency(s.run),
	}
}

func latency(counts map[int64]int64) Latency {
	l := Latency{P50: quantile(counts, 0.5), P90: quantile(counts, 0.9), P99: quantile(counts, 0.99)}
	for _, n := range counts {
		l.Jobs += n
	}
	return l
}
