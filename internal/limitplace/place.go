// Package limitplace names the jobs of a limit, and what the next start of a key waits for, for the command line, the HTTP API and pages.
package limitplace

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Place names the jobs of a limit: those of a queue, or of a kind. At most one of Key and Total is set, and both only with a kind.
type Place struct {
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Queue string `json:"queue"`
	Total bool   `json:"total"` // all jobs of the kind together
}

// Of returns the place of a limit.
func Of(l jobs.LimitInfo) Place { return Place{l.Kind, l.Key, l.Queue, l.Total} }

// IsEach reports whether the limit is for each key of a kind by itself.
func (p Place) IsEach() bool { return p.Queue == "" && !p.Total && p.Key == "" }

// Set sets the limit of the place.
func (p Place) Set(ctx context.Context, c *jobs.Client, v jobs.LimitValues) error {
	switch {
	case p.Queue != "":
		return c.SetQueueLimit(ctx, p.Queue, v)
	case p.Total:
		return c.SetTotalLimit(ctx, p.Kind, v)
	}
	return c.SetLimit(ctx, p.Kind, p.Key, v)
}

// Delete deletes the limit of the place, and reports whether there was one.
func (p Place) Delete(ctx context.Context, c *jobs.Client) (bool, error) {
	switch {
	case p.Queue != "":
		return c.DeleteQueueLimit(ctx, p.Queue)
	case p.Total:
		return c.DeleteTotalLimit(ctx, p.Kind)
	}
	return c.DeleteLimit(ctx, p.Kind, p.Key)
}

// The conditions for which the next start of a key waits. Empty: no job waits.
const (
	Closed = "closed" // a handler has closed the key until a time
	Time   = "time"   // a token of the rate
	End    = "end"    // the end of a job of the key
	Slot   = "slot"   // a free slot
	Held   = "held"   // a failed job holds the sequence of the key
	First  = "first"  // the first job of the sequence is scheduled
)

// WaitsFor returns what the next start of a key waits for.
func WaitsFor(k inspect.LimitKeyInfo, now time.Time) string {
	switch {
	case k.ClosedUntil.After(now):
		return Closed
	case k.Queues == 0:
		return ""
	case k.HeldBy != 0:
		return Held
	case k.Next != 0 && k.Running == 0:
		return First
	case k.NextStart.IsZero():
		return End
	case k.NextStart.After(now):
		return Time
	}
	return Slot
}
