package sql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// hang is the time after which a runner that does not end by itself is given up.
const hang = 2 * time.Minute

// A runner of today runs jobs that an old version left behind: waiting ones by themselves, running ones by rescue,
// ended ones when they are retried.
func TestJobsOfOldVersionsRun(t *testing.T) {
	waiting := map[int64]string{1: `{}`, 2: `{"a": [1, 2.50, "x'y"],  "a": null}`}
	dueSinceLong := maps.Clone(waiting)
	dueSinceLong[12] = `12`
	for from, old := range map[int64]struct {
		fill string
		runs map[int64]string
	}{1: {fillV1, waiting}, 2: {fillV2, dueSinceLong}} {
		t.Run(fmt.Sprintf("version %d", from), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			pool := testdb.PlainSQLite(t, path)
			migrateTo(t, testdb.Goose(t, goose.DialectSQLite3, pool), from)
			fill(t, sqliteEngine(), pool, old.fill)

			store := testdb.OpenSQLite(t, path)
			client := jobs.New(store)
			if _, err := client.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if seen := drain(t, client); !maps.Equal(seen, old.runs) {
				t.Errorf("ran %v, want %v", seen, old.runs)
			}
			rescued, err := client.Get(t.Context(), 2)
			if err != nil || rescued.Status != jobs.StatusDone || rescued.Attempt != 2 || rescued.Crashes != 1 {
				t.Errorf("the job that ran is %+v, want done at its second attempt after a crash: %v", rescued, err)
			}

			// The failed and the cancelled one, and the one of the year 9999 where there is one.
			again := map[int64]string{6: `0`, 9: `[]`}
			if from == 2 {
				again[13] = `13`
			}
			for id := range again {
				if err := client.Retry(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			if seen := drain(t, client); !maps.Equal(seen, again) {
				t.Errorf("ran %v after the retries, want %v", seen, again)
			}
			list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, job := range list {
				if job.Status != jobs.StatusDone {
					t.Errorf("job %d is %s", job.ID, job.Status)
				}
			}
			if want := len(old.runs) + len(again) + 1; len(list) != want {
				t.Errorf("%d jobs, want %d", len(list), want)
			}
		})
	}
}

// drain runs the jobs of kind report that can run, and returns the payloads by id.
func drain(t *testing.T, client *jobs.Client) map[int64]string {
	t.Helper()
	runner, err := jobs.NewRunner(client, jobs.Config{Retention: jobs.Retention{
		Done: jobs.Forever, Failed: jobs.Forever, Cancelled: jobs.Forever,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[int64]string{}
	jobs.Kind[json.RawMessage]{Name: "report"}.Handle(runner, func(_ context.Context, job jobs.Job, _ json.RawMessage) error {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := seen[job.ID]; twice {
			t.Errorf("job %d ran twice", job.ID)
		}
		seen[job.ID] = string(job.Payload)
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := runner.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if err := ctx.Err(); err != nil {
		t.Fatalf("the runner did not end by itself; it ran %v", slices.Sorted(maps.Keys(seen)))
	}
	return seen
}
