package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

// ScheduleStats counts the schedules, and says which of them no worker serves.
type ScheduleStats struct {
	States    map[string]int64    `json:"states"`              // by [jobs.ScheduleInfo.State]: each state, also without a schedule
	Overdue   time.Duration       `json:"overdue_ns"`          // time since the most overdue active one fell due
	Unhandled []UnhandledSchedule `json:"unhandled,omitempty"` // active ones whose kind no live worker takes from their queue
}

// UnhandledSchedule is a queue and kind of schedules that no live worker takes: the jobs that they enqueue wait.
type UnhandledSchedule struct {
	Queue     string `json:"queue"`
	Kind      string `json:"kind"`
	Schedules int64  `json:"schedules"`
}

// ScheduleStats counts the schedules. An active one that stays overdue for more than some seconds has no worker that serves it.
func (in *Inspector) ScheduleStats(ctx context.Context) (ScheduleStats, error) {
	var stats ScheduleStats
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		found, err := schedule.Survey(ctx, q, in.scope.Now())
		stats = ScheduleStats{States: found.States, Overdue: found.Overdue}
		for work, n := range found.Unhandled {
			stats.Unhandled = append(stats.Unhandled, UnhandledSchedule{work.Queue, work.Kind, n})
		}
		return err
	})
	if err != nil {
		return ScheduleStats{}, fmt.Errorf("count schedules: %w", err)
	}
	slices.SortFunc(stats.Unhandled, func(a, b UnhandledSchedule) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind))
	})
	return stats, nil
}
