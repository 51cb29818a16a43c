package admin_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// TestPagesUseTheQueuesClock checks that pages show ages by the queue's clock if this machine's clock differs, and no live
// worker as late.
func TestPagesUseTheQueuesClock(t *testing.T) {
	begin := time.Now()
	wrong := func() time.Time { return time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC).Add(time.Since(begin)) }
	client := jobs.New(testdb.SQLite(t, sqlite.WithClock(wrong)))
	must(t, client.PutSchedule(t.Context(), jobs.Kind[string]{Name: "k"}.Cron("s", "0 0 * * *", "x")))
	started, release := make(chan struct{}), make(chan struct{})
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	jobs.Kind[json.RawMessage]{Name: "wait"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error {
		close(started)
		<-release
		return nil
	})
	_, err = client.Enqueue(t.Context(), "wait", []byte("{}"))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	<-started
	v := visit(t, client, admin.Config{})
	page := v.page("/workers")
	if strings.Contains(page, "no heartbeat since") || strings.Contains(page, "d ago") {
		t.Errorf("a worker that has just started is shown as late: %s", page)
	}
	if page := v.page("/schedules/s"); !strings.Contains(page, "Wed 1 May") {
		t.Errorf("the week of a schedule does not begin today: %s", page)
	}
	if fragment := v.fragment("/workers"); !strings.Contains(fragment, `<main id="main" data-now="2024-05-01T`) {
		t.Errorf("the script is not told the queue's time: %s", fragment)
	}
	close(release)
	stop()
	must(t, <-ended)
}
