package prune

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// Forever keeps jobs until a caller deletes them.
const Forever time.Duration = -1

// Retention holds the times for which ended jobs, the audit log and the history are kept: see jobs.Retention. Each is a duration or
// Forever, except those of the history.
type Retention struct {
	Done      time.Duration
	Cancelled time.Duration
	Failed    time.Duration
	Audit     time.Duration
	History   time.Duration
	Minutes   time.Duration
}

// ever is Forever in statements: no job ended that long ago.
var ever = core.Micros(core.Latest)

func keepMicros(d time.Duration) int64 {
	if d == Forever {
		return ever
	}
	return min(d.Microseconds(), ever)
}

// micros returns the times of jobs as parameters of statements.
func (r Retention) micros() (done, failed, cancelled int64) {
	return keepMicros(r.Done), keepMicros(r.Failed), keepMicros(r.Cancelled)
}
