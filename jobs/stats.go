package jobs

import (
	"context"
	"fmt"
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
	s, err := c.Snapshot(ctx)
	return s.Stats, err
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
	var workers []WorkerInfo
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		workers, err = listWorkers(ctx, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	return workers, nil
}

// QueueInfo is a queue that holds unfinished jobs, is paused, or has a live worker.
type QueueInfo struct {
	Name      string    `json:"name"`
	Scheduled int64     `json:"scheduled"`
	Pending   int64     `json:"pending"`
	Running   int64     `json:"running"`
	Oldest    time.Time `json:"oldest_pending,omitzero"` // since when the job that waits longest has been due
	PausedAt  time.Time `json:"paused_at,omitzero"`
	Slots     int       `json:"slots"` // how many jobs the live workers can run at once
}

// Queues lists the queues by name.
func (c *Client) Queues(ctx context.Context) ([]QueueInfo, error) {
	s, err := c.Snapshot(ctx)
	return s.Queues, err
}
