package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A worker whose server is frozen still stops within its limit. When the server continues, it learns that the worker has left, and
// the jobs run again without a counted attempt.
func TestStopOfAWorkerOfAFrozenServer(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, nil)
	_, client, url := newSite(t, cluster.Postgres).queue(t)
	store, own := open(t, url)
	const n = 5
	started, release := make(chan struct{}, n), make(chan struct{})
	var ids []int64
	for range n {
		ids = append(ids, enqueue(t, client, "k", jobs.MaxAttempts(1)))
	}
	runner := newRunner(t, own, jobs.Config{Grace: 100 * time.Millisecond, StopTimeout: time.Second}, handlers{
		"k": func(context.Context, jobs.Job) error {
			started <- struct{}{}
			<-release
			return nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := make(chan error, 1)
	go func() { end <- runner.Run(ctx) }()
	for range n {
		receive(t, "a start", started)
	}
	thaw := cluster.Freeze(t)
	close(release)
	began := time.Now()
	cancel()
	if err := receive(t, "the end of the run", end); err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("Run gives %v", err)
	}
	must(t, store.Close()) // pgx alone would wait 15 seconds for each connection
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %s", took)
	}
	thaw()
	stop := work(t, client, jobs.Config{}, handlers{"k": nothing})
	for _, id := range ids {
		job := ended(t, client, id)
		if job.Status != jobs.StatusDone || job.Crashes != 0 || job.Attempt-job.Uncounted > 1 {
			t.Errorf("the job is %s after attempt %d, of which %d do not count, with %d crashes", job.Status, job.Attempt, job.Uncounted, job.Crashes)
		}
		list, err := inspect.New(client).Errors(t.Context(), id)
		must(t, err)
		want(t, "errors", len(list), 0)
	}
	must(t, stop())
}

// The first enqueue of a program asks for the server's time, no longer than its context lasts.
func TestFirstEnqueueToAFrozenServer(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, nil)
	_, _, url := newSite(t, cluster.Postgres).queue(t)
	thaw := cluster.Freeze(t)
	_, client := open(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := client.Enqueue(ctx, "k", []byte("{}")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the enqueue gives %v", err)
	}
	if took := time.Since(began); took >= answerWithin {
		t.Errorf("the enqueue took %s", took)
	}
	thaw()
}
