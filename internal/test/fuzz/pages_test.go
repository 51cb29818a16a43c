package fuzz

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// For every filter and cursor both engines return the same page, and pages joined together are all jobs, each once.
func FuzzPages(f *testing.F) {
	f.Add("failed", "k", "", "", int64(0), int64(0), 3)
	f.Add("", "", "default", "a", int64(5), int64(1), 1)
	f.Add("done", "bad", "\x00", "\xff", int64(-1), int64(-1), 1001)
	f.Add("nonsense", "", "", "", int64(1)<<62, int64(1)<<62, 0)
	f.Add("pending", "K", "q", "A", int64(9), int64(1_900_000_000_000_000), -5)
	both := engines(f)
	for _, e := range both {
		fill(f, e)
	}
	f.Fuzz(func(t *testing.T, status, kind, queue, tag string, after, micros int64, limit int) {
		filter := inspect.Filter{Status: jobs.Status(status), Kind: kind, Queue: queue, Tag: tag, After: after, Limit: limit}
		failed := inspect.FailedFilter{Kind: kind, Limit: limit}
		before := jobs.Job{ID: after}
		if micros != 0 {
			before.FinishedAt, failed.Since = time.UnixMicro(micros).UTC(), time.UnixMicro(after).UTC()
		}
		var pages []string
		for _, e := range both {
			page, err := inspect.New(e.client).List(t.Context(), filter)
			text := fmt.Sprint(refused(t, e, "list", err), idsOf(page))
			page, err = inspect.New(e.client).ListFailed(t.Context(), failed, before)
			text += fmt.Sprint(refused(t, e, "list failed", err), idsOf(page))
			report, err := inspect.New(e.client).FailedReport(t.Context(), failed)
			text += fmt.Sprint(refused(t, e, "report", err), len(report.Groups), report.Jobs)
			pages = append(pages, text)
			if limit > 0 && limit < 20 {
				walk(t, e, limit)
			}
		}
		if pages[0] != pages[1] {
			t.Errorf("%+v, %+v before %+v: SQLite gives %s, PostgreSQL %s", filter, failed, before, pages[0], pages[1])
		}
	})
}

const filled = 12

// fill adds jobs of several kinds, of which half fail, in the same order on both engines.
func fill(f *testing.F, e engine) {
	f.Helper()
	for i := range filled {
		kind, queue := []string{"k", "bad"}[i%2], []string{"default", "q"}[i/2%2]
		if _, err := e.client.Enqueue(f.Context(), kind, []byte("{}"), jobs.Queue(queue), jobs.Tags("a"), jobs.MaxAttempts(1)); err != nil {
			f.Fatal(err)
		}
	}
	runner, err := jobs.NewRunner(e.client, jobs.Config{Queues: map[string]int{"default": 1}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	jobs.Kind[json.RawMessage]{Name: "bad"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error {
		return fmt.Errorf("it is bad")
	})
	if err := runner.Drain(f.Context()); err != nil {
		f.Fatal(err)
	}
}

func idsOf(list []jobs.Job) (ids []int64) {
	for _, job := range list {
		ids = append(ids, job.ID)
	}
	return ids
}

// walk reads all jobs, and all failed ones, in pages of a size.
func walk(t *testing.T, e engine, limit int) {
	t.Helper()
	var all, failed []int64
	for after := int64(0); ; {
		page, err := inspect.New(e.client).List(t.Context(), inspect.Filter{After: after, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, idsOf(page)...)
		if len(page) < limit {
			break
		}
		after = page[len(page)-1].ID
	}
	for last := (jobs.Job{}); ; {
		page, err := inspect.New(e.client).ListFailed(t.Context(), inspect.FailedFilter{Limit: limit}, last)
		if err != nil {
			t.Fatal(err)
		}
		failed = append(failed, idsOf(page)...)
		if len(page) < limit {
			break
		}
		last = page[len(page)-1]
	}
	slices.Sort(failed)
	if len(all) != filled || !slices.IsSortedFunc(all, func(a, b int64) int { return int(b - a) }) || len(slices.Compact(all)) != filled {
		t.Errorf("%s: in pages of %d there are the jobs %v", e.name, limit, all)
	}
	if len(failed) != filled/4 || len(slices.Compact(failed)) != filled/4 {
		t.Errorf("%s: in pages of %d the failed jobs are %v", e.name, limit, failed)
	}
}
