package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// A drain beside a job that it sees and cannot claim, such as one that is pending before its time, tries less and less often.
func TestDrainBesideAJobBeforeItsTime(t *testing.T) {
	ahead, there := queue(t, WithClock(func() time.Time { return time.Now().Add(time.Hour) }))
	enqueue(t, there, "k")
	var commits atomic.Int64
	_, client := queueAt(t, ahead.path, WithObserver(&jobs.Observer{Committed: func(int, time.Duration) { commits.Add(1) }}))
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	jobs.Kind[map[string]any]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, map[string]any) error { return nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := runner.Drain(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	// About twenty; one each millisecond or two would be some hundreds.
	if n := commits.Load(); n > 100 {
		t.Errorf("it wrote %d times in a second", n)
	}
}
