package top

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// maxFailures is the number of failed jobs that a frame holds.
const maxFailures = 50

// Frame is the state of the queue at one time, and the document of `sqluice top --json`.
type Frame struct {
	At       time.Time             `json:"at"` // the time of the frame, by the database's clock; ages are relative to it
	Jobs     map[jobs.Status]int64 `json:"jobs"`
	Oldest   time.Time             `json:"oldest_pending,omitzero"` // the due time of the pending job that waits longest, paused queues and kinds left out
	Queues   []Queue               `json:"queues"`
	Workers  []inspect.WorkerInfo  `json:"workers"`
	Failures []jobs.Job            `json:"failures"` // the latest first
	History  inspect.History       `json:"history"`  // the history of the last hour, by the minute
}

// Queue is a queue with its failed and done jobs and the due time of its oldest pending job.
type Queue struct {
	inspect.QueueInfo
	Failed int64     `json:"failed"`
	Done   int64     `json:"done"`
	Oldest time.Time `json:"oldest_pending,omitzero"`
}

// readFrame reads the state of the queue now. Its parts are of slightly different times.
func readFrame(ctx context.Context, c *jobs.Client) (Frame, error) {
	inspector := inspect.New(c)
	now, err := inspector.Snapshot(ctx)
	if err != nil {
		return Frame{}, err
	}
	frame := frameOf(now.Counts, now.Queues)
	frame.Oldest, frame.Workers = now.Stats.OldestPending, now.Workers
	if frame.Failures, err = inspector.ListFailed(ctx, inspect.FailedFilter{Limit: maxFailures}, jobs.Job{}); err != nil {
		return Frame{}, err
	}
	if frame.History, err = inspector.History(ctx, inspect.HistoryFilter{}); err != nil {
		return Frame{}, err
	}
	frame.At = inspector.Now()
	return frame, nil
}

// frameOf returns a frame with the sums of the counts. It adds the queues whose only jobs are failed ones to the given queues.
func frameOf(counts []inspect.Count, queues []inspect.QueueInfo) Frame {
	frame := Frame{Jobs: map[jobs.Status]int64{}, Queues: []Queue{}}
	for _, status := range jobs.Statuses() {
		frame.Jobs[status] = 0
	}
	byName := map[string]*Queue{}
	for _, q := range queues {
		byName[q.Name] = &Queue{QueueInfo: q}
	}
	for _, count := range counts {
		if count.Status == jobs.StatusFailed && byName[count.Queue] == nil {
			byName[count.Queue] = &Queue{QueueInfo: inspect.QueueInfo{Name: count.Queue}}
		}
	}
	for _, count := range counts {
		frame.Jobs[count.Status] += count.Jobs
		q := byName[count.Queue]
		if q == nil {
			q = &Queue{} // not shown
		}
		switch count.Status {
		case jobs.StatusDone:
			q.Done += count.Jobs
		case jobs.StatusFailed:
			q.Failed += count.Jobs
		case jobs.StatusPending:
			q.Oldest = core.Earlier(q.Oldest, count.Since)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		frame.Queues = append(frame.Queues, *byName[name])
	}
	return frame
}
