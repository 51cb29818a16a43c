package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
)

// Stats is the queue at a glance.
type Stats struct {
	Jobs          map[Status]int64 `json:"jobs"`                    // how many jobs have each status
	OldestPending time.Time        `json:"oldest_pending,omitzero"` // since when the job that waits longest has been due
	NextDue       time.Time        `json:"next_due,omitzero"`       // when the next scheduled job falls due
	Workers       int              `json:"workers"`                 // live ones
	Unhandled     []UnhandledWork  `json:"unhandled,omitempty"`     // due jobs that no live worker takes, by queue and kind
}

// UnhandledWork are due jobs for whose queue and kind there is no live worker.
type UnhandledWork struct {
	Queue string `json:"queue"`
	Kind  string `json:"kind"`
	Jobs  int64  `json:"jobs"`
}

// Stats counts jobs by status and says what waits.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Jobs: map[Status]int64{}}
	var pending []db.CountPendingJobsPerKindRow
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		for _, status := range statuses {
			n, err := q.CountJobsByStatus(ctx, string(status))
			if err != nil {
				return err
			}
			stats.Jobs[status] = n
		}
		oldest, err := q.GetOldestPending(ctx)
		if err != nil {
			return err
		}
		next, err := q.GetNextRunAfter(ctx)
		if err != nil {
			return err
		}
		stats.OldestPending, stats.NextDue = fromMicros(oldest), fromMicros(next)
		pending, err = q.CountPendingJobsPerKind(ctx)
		return err
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count jobs: %w", err)
	}
	workers, err := c.Workers(ctx)
	if err != nil {
		return Stats{}, err
	}
	stats.Workers = len(workers)
	for _, p := range pending {
		takes := func(w WorkerInfo) bool { return w.Queues[p.Queue] > 0 && slices.Contains(w.Kinds, p.Kind) }
		if !slices.ContainsFunc(workers, takes) {
			stats.Unhandled = append(stats.Unhandled, UnhandledWork(p))
		}
	}
	// A server may have an order of its own for texts.
	slices.SortFunc(stats.Unhandled, func(a, b UnhandledWork) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind))
	})
	return stats, nil
}

// WorkerInfo is a live worker: a Runner that runs somewhere.
type WorkerInfo struct {
	ID        int64          `json:"id"`
	Name      string         `json:"name"`
	Host      string         `json:"host"`
	PID       int            `json:"pid"`
	Version   string         `json:"version"`
	Queues    map[string]int `json:"queues"` // how many jobs of each queue it runs at once
	Kinds     []string       `json:"kinds"`
	Running   int64          `json:"running"` // jobs it holds now
	StartedAt time.Time      `json:"started_at"`
	Heartbeat time.Time      `json:"heartbeat_at"`
}

// Workers lists the workers that have not ended, oldest first. One whose process died is listed for about a second.
func (c *Client) Workers(ctx context.Context) ([]WorkerInfo, error) {
	var rows []db.Worker
	running := map[int64]int64{}
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		if rows, err = q.ListLiveWorkers(ctx); err != nil {
			return err
		}
		counts, err := q.CountRunningJobsPerWorker(ctx)
		for _, r := range counts {
			running[r.WorkerID] = r.Jobs
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	workers := make([]WorkerInfo, len(rows))
	for i, r := range rows {
		w := WorkerInfo{
			ID: r.ID, Name: r.Name, Host: r.Host, PID: int(r.Pid), Version: r.Version, Running: running[r.ID],
			StartedAt: fromMicros(r.StartedAt), Heartbeat: fromMicros(r.HeartbeatAt),
		}
		if err := json.Unmarshal([]byte(r.Queues), &w.Queues); err != nil {
			return nil, fmt.Errorf("list workers: queues of worker %d: %w", r.ID, err)
		}
		if err := json.Unmarshal([]byte(r.Kinds), &w.Kinds); err != nil {
			return nil, fmt.Errorf("list workers: kinds of worker %d: %w", r.ID, err)
		}
		workers[i] = w
	}
	return workers, nil
}

// QueueInfo is a queue that holds unfinished jobs, is paused, or has a live worker.
type QueueInfo struct {
	Name      string    `json:"name"`
	Scheduled int64     `json:"scheduled"`
	Pending   int64     `json:"pending"`
	Running   int64     `json:"running"`
	PausedAt  time.Time `json:"paused_at,omitzero"`
	Slots     int       `json:"slots"` // how many jobs the live workers can run at once
}

// Queues lists the queues by name.
func (c *Client) Queues(ctx context.Context) ([]QueueInfo, error) {
	byName := map[string]*QueueInfo{}
	queue := func(name string) *QueueInfo {
		if byName[name] == nil {
			byName[name] = &QueueInfo{Name: name}
		}
		return byName[name]
	}
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		clear(byName)
		counts, err := q.CountLiveJobsPerQueue(ctx)
		if err != nil {
			return err
		}
		for _, r := range counts {
			switch info := queue(r.Queue); Status(r.Status) {
			case StatusScheduled:
				info.Scheduled = r.Jobs
			case StatusPending:
				info.Pending = r.Jobs
			case StatusRunning:
				info.Running = r.Jobs
			}
		}
		rows, err := q.ListQueueRows(ctx)
		for _, r := range rows {
			if r.PausedAt != nil {
				queue(r.Name).PausedAt = fromMicros(*r.PausedAt)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		for name, slots := range w.Queues {
			queue(name).Slots += slots
		}
	}
	list := make([]QueueInfo, 0, len(byName))
	for _, info := range byName {
		list = append(list, *info)
	}
	slices.SortFunc(list, func(a, b QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
