package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// topFailures is how many of the latest failures are read.
const topFailures = 50

// topReadTimeout bounds a read of a database that does not answer.
const topReadTimeout = 10 * time.Second

// topFrame is the state of the queue at one time.
type topFrame struct {
	At       time.Time             `json:"at"` // by the clock to which ages are relative
	Jobs     map[jobs.Status]int64 `json:"jobs"`
	Oldest   time.Time             `json:"oldest_pending,omitzero"` // the due time of the job that waits longest for a worker, and that no pause holds
	Queues   []topQueue            `json:"queues"`
	Workers  []inspect.WorkerInfo  `json:"workers"`
	Failures []jobs.Job            `json:"failures"` // the latest first
	History  inspect.History       `json:"history"`  // of the last hour, by the minute
}

// topQueue is a queue with the number of its failed jobs.
type topQueue struct {
	inspect.QueueInfo
	Failed int64     `json:"failed"`
	Done   int64     `json:"done"`
	Oldest time.Time `json:"oldest_pending,omitzero"`
}

// topSource reads frames of a database, which may be unreachable. After an error it opens the database again, since a file may
// have been replaced. It does one thing at a time.
type topSource struct {
	database database

	mu     sync.Mutex
	store  jobs.Store
	closed bool
}

func (s *topSource) read(ctx context.Context) (topFrame, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, topReadTimeout, fmt.Errorf("no answer within %s", topReadTimeout))
	defer cancel()
	var frame topFrame
	err := s.do(ctx, func(c *jobs.Client) (err error) {
		frame, err = readFrame(ctx, c)
		return err
	})
	return frame, err
}

func readFrame(ctx context.Context, c *jobs.Client) (topFrame, error) {
	inspector := inspect.New(c)
	now, err := inspector.Snapshot(ctx)
	if err != nil {
		return topFrame{}, err
	}
	frame := frameOf(now.Counts, now.Queues)
	frame.Oldest, frame.Workers = now.Stats.OldestPending, now.Workers
	if frame.Failures, err = inspector.ListFailed(ctx, inspect.FailedFilter{Limit: topFailures}, jobs.Job{}); err != nil {
		return topFrame{}, err
	}
	if frame.History, err = inspector.History(ctx, inspect.HistoryFilter{}); err != nil {
		return topFrame{}, err
	}
	frame.At = inspect.New(c).Now()
	return frame, nil
}

// frameOf adds up the counts. A queue with only failed jobs is shown too.
func frameOf(counts []inspect.Count, queues []inspect.QueueInfo) topFrame {
	frame := topFrame{Jobs: map[jobs.Status]int64{}, Queues: []topQueue{}}
	for _, status := range jobs.Statuses() {
		frame.Jobs[status] = 0
	}
	byName := map[string]*topQueue{}
	for _, q := range queues {
		byName[q.Name] = &topQueue{QueueInfo: q}
	}
	for _, count := range counts {
		if count.Status == jobs.StatusFailed && byName[count.Queue] == nil {
			byName[count.Queue] = &topQueue{QueueInfo: inspect.QueueInfo{Name: count.Queue}}
		}
	}
	for _, count := range counts {
		frame.Jobs[count.Status] += count.Jobs
		q := byName[count.Queue]
		if q == nil {
			q = &topQueue{} // not shown
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

// change pauses or resumes a queue, and reports whether that changed its state.
func (s *topSource) change(ctx context.Context, queue string, pause bool) (changed bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, topReadTimeout, fmt.Errorf("no answer within %s", topReadTimeout))
	defer cancel()
	err = s.do(ctx, func(c *jobs.Client) (err error) {
		if pause {
			changed, err = c.PauseQueue(ctx, queue)
		} else {
			changed, err = c.ResumeQueue(ctx, queue)
		}
		return err
	})
	return changed, err
}

// do calls fn with the open database.
func (s *topSource) do(ctx context.Context, fn func(*jobs.Client) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return context.Canceled
	}
	if s.store == nil {
		store, err := openDatabase(ctx, s.database, nil)
		if err != nil {
			return hintMissing(err)
		}
		s.store = store
		if err := jobs.New(store).CheckSchema(ctx); err != nil {
			return s.forget(ctx, err)
		}
	}
	if err := fn(jobs.New(s.store)); err != nil {
		return s.forget(ctx, err)
	}
	return nil
}

// forget closes the database, so that the next read opens it again, and returns the error to show.
func (s *topSource) forget(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	closing := s.store
	s.store = nil
	if closeErr := closeStore(closing); closeErr != nil {
		return fmt.Errorf("%w; %w", err, closeErr)
	}
	return err
}

// close waits for the running call and closes the database.
func (s *topSource) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.store == nil {
		return nil
	}
	return closeStore(s.store)
}
