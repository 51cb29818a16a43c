package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

// ScheduleStats is how many schedules there are, and whether they are served.
type ScheduleStats struct {
	States  map[string]int64 `json:"states"`     // by [jobs.ScheduleInfo.State]: each state, also without a schedule
	Overdue time.Duration    `json:"overdue_ns"` // for how long the most overdue of the active ones has been due
}

// ScheduleStats counts the schedules. An active one that stays overdue for more than some seconds has no worker that serves it.
func (in *Inspector) ScheduleStats(ctx context.Context) (ScheduleStats, error) {
	var stats ScheduleStats
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		stats.States, stats.Overdue, err = schedule.States(ctx, q, in.scope.Now())
		return err
	})
	if err != nil {
		return ScheduleStats{}, fmt.Errorf("count schedules: %w", err)
	}
	return stats, nil
}
