package stats

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// The events that are counted beside the final statuses, whose names are events too.
const (
	EventRetried = "retried"
	EventCrashed = "crashed"
	EventWait    = "wait" // the time that jobs were due before their handlers began, by bucket
	EventRun     = "run"  // the duration of their handlers, by bucket
)

// Changes holds the effects of one transaction on jobs, for the counts and the history. Live jobs are counted by their
// indexes, ended ones only by these rows.
type Changes map[series]change

// series identifies a count: an event in a queue, of a kind.
type series struct{ queue, kind, event string }

// change is the number of times that the event happened, and the change of the number of jobs with the status of this name.
type change struct{ times, jobs int64 }

// Add adds the number of times that an event happened, and the change of the number of jobs with the status of this name.
func (c Changes) Add(queue, kind, event string, times, jobs int64) {
	key := series{queue, kind, event}
	sum := c[key]
	c[key] = change{sum.times + times, sum.jobs + jobs}
}

// Reduce removes sums of zero.
func (c Changes) Reduce() {
	maps.DeleteFunc(c, func(_ series, sum change) bool { return sum == change{} })
}

// Write appends the changes to sqluice_job_changes. It must run in the transaction of the changes.
func (c Changes) Write(ctx context.Context, q db.Querier, now int64) error {
	if len(c) == 0 {
		return nil
	}
	return q.AddJobChanges(ctx, db.AddJobChangesParams{At: now, Items: c.Items()})
}

// Items returns the changes as AddJobChanges takes them; empty for none. They are written in the transaction of the changes.
func (c Changes) Items() string {
	if len(c) == 0 {
		return ""
	}
	items := make([]byte, 1, 80*len(c)+2)
	items[0] = '['
	for key, sum := range c {
		if len(items) > 1 {
			items = append(items, ',')
		}
		items = append(items, '[')
		for _, text := range []string{key.queue, key.kind, key.event} {
			items = append(core.AppendString(items, text), ',')
		}
		items = append(strconv.AppendInt(items, sum.times, 10), ',')
		items = append(strconv.AppendInt(items, sum.jobs, 10), ']')
	}
	return string(append(items, ']'))
}

// compare defines the order in which sums are written. It is the same in all processes, so that two of them do not deadlock.
func (s series) compare(other series) int {
	return cmp.Or(strings.Compare(s.queue, other.queue), strings.Compare(s.kind, other.kind), strings.Compare(s.event, other.event))
}
