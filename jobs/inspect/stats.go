package inspect

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
)

// Stats is an overview of the queue.
type Stats struct {
	Jobs          map[jobs.Status]int64 `json:"jobs"`                    // number of jobs with each status
	OldestPending time.Time             `json:"oldest_pending,omitzero"` // due time of the job that has waited longest for a worker
	OldestPaused  time.Time             `json:"oldest_paused,omitzero"`  // due time of the oldest job that a pause of its queue or kind blocks
	NextDue       time.Time             `json:"next_due,omitzero"`       // when the next scheduled job falls due
	Workers       int                   `json:"workers"`                 // live ones
	Unhandled     []UnhandledWork       `json:"unhandled,omitempty"`     // due jobs that no live worker takes, by queue and kind

	UnknownVersions []UnknownVersion `json:"unknown_versions,omitempty"` // ordered by kind
}

// UnhandledWork is a queue and kind of due jobs that no live worker takes.
type UnhandledWork struct {
	Queue string `json:"queue"`
	Kind  string `json:"kind"`
	Jobs  int64  `json:"jobs"`
}

// Stats returns the number of jobs by status, and the due times of waiting jobs.
func (in *Inspector) Stats(ctx context.Context) (Stats, error) {
	s, err := in.Snapshot(ctx)
	return s.Stats, err
}

// WorkerInfo is a live worker: a running [jobs.Runner] of some process.
type WorkerInfo struct {
	ID        int64          `json:"id"`
	Name      string         `json:"name"`
	Host      string         `json:"host"`
	PID       int            `json:"pid"`
	Version   string         `json:"version"`
	Queues    map[string]int `json:"queues"` // slots by queue: the number of its jobs that the worker runs at once
	Kinds     []string       `json:"kinds"`
	Versions  map[string]int `json:"versions,omitempty"`  // the newest declared payload version of each kind that it takes
	Schedules []string       `json:"schedules,omitempty"` // declared by its program
	Running   int64          `json:"running"`             // jobs that it holds now
	StartedAt time.Time      `json:"started_at"`
	Heartbeat time.Time      `json:"heartbeat_at"`
}

// Workers returns the workers that have not ended, oldest first. It returns a worker whose process died until another worker notices,
// which takes about a second, or for two leases if no other worker runs.
func (in *Inspector) Workers(ctx context.Context) ([]WorkerInfo, error) {
	workers, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]WorkerInfo, error) {
		return listWorkers(ctx, q, in.scope.Now())
	})
	return core.Result(workers, err, "list workers")
}

// QueueInfo is a queue that has live jobs, is paused or has a paused kind, or has a live worker.
type QueueInfo struct {
	Name      string    `json:"name"`
	Scheduled int64     `json:"scheduled"`
	Waiting   int64     `json:"waiting"` // due, and without room in their limits
	Pending   int64     `json:"pending"`
	Running   int64     `json:"running"`
	Oldest    time.Time `json:"oldest_pending,omitzero"` // due time of the job that has been due longest
	PausedAt  time.Time `json:"paused_at,omitzero"`

	PausedUntil time.Time   `json:"paused_until,omitzero"`  // not set for a pause that does not end by itself
	PausedBy    string      `json:"paused_by,omitempty"`    // the actor of the change (see [jobs.WithActor]), if any
	PauseReason string      `json:"pause_reason,omitempty"` // the text of [jobs.PauseReason], if given
	PausedKinds []KindPause `json:"paused_kinds,omitempty"` // the kinds that are paused in it, by name
	Slots       int         `json:"slots"`                  // number of jobs that the live workers can run at once
}

// KindPause is the pause of a kind in a queue.
type KindPause struct {
	Kind   string    `json:"kind"`
	At     time.Time `json:"paused_at"`
	Until  time.Time `json:"paused_until,omitzero"`  // not set for a pause that does not end by itself
	By     string    `json:"paused_by,omitempty"`    // the actor of the change, if any
	Reason string    `json:"pause_reason,omitempty"` // the text of [jobs.PauseReason], if given
}

// Queues returns the queues, ordered by name.
func (in *Inspector) Queues(ctx context.Context) ([]QueueInfo, error) {
	s, err := in.Snapshot(ctx)
	return s.Queues, err
}

// Refusals returns the number of jobs for which the database refuses an action, by action: promote, claim, conflict (one of these, beside
// another job), renew (their leases), end (their attempts), rescue, prune, expire (not started in time). Such jobs are set aside, and the
// action is tried again at growing intervals; [Inspector.Why] says why. It returns all of these actions, also with a count of 0. A job that
// has gone on is counted for up to a minute or so.
func (in *Inspector) Refusals(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	for _, action := range refusal.Actions() {
		counts[string(action)] = 0
	}
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		rows, err := q.CountRefusals(ctx)
		for _, row := range rows {
			counts[row.Action] = row.Jobs
		}
		return err
	})
	return core.Result(counts, err, "count refused jobs")
}
