//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
)

// nightZone is the time zone whose clocks change in those nights.
const nightZone = "Europe/Berlin"

// nights are moments at which local clocks are set, or a year ends.
func nights() []time.Time {
	return []time.Time{
		time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC), time.Date(2027, 10, 31, 1, 0, 0, 0, time.UTC), time.Date(2027, 12, 31, 23, 0, 0, 0, time.UTC),
	}
}

// early is the largest time by which a job may begin before its due time: the test must only distinguish it from hours.
const early = time.Second

// night runs a worker and an enqueuer whose clocks show that moment shortly after they begin. Jobs due before and after
// it begin when they are due.
func (f *fleet) night(ctx context.Context, moment time.Time) error {
	last, err := f.lastJob(ctx)
	if err != nil {
		return err
	}
	offset := time.Until(moment.Add(-2 * time.Second))
	worker, err := f.start(role{
		Do: "work", Name: fmt.Sprint("night ", len(f.all)), Lease: 3 * time.Second, Grace: time.Second, Slots: 10, Longest: 20 * time.Millisecond,
		Settable: true, Offset: offset, Zone: nightZone,
	})
	if err != nil {
		return err
	}
	enqueuer, err := f.start(role{
		Do: "enqueue", Name: fmt.Sprint("night ", len(f.all)), Settable: true, Offset: offset, Zone: nightZone, Delay: 4 * time.Second,
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(enqueuer.stdin, max(20, f.trial.scaled(100))); err != nil {
		return err
	}
	if err := enqueuer.release(); err != nil {
		return err
	}
	if err := f.drained(ctx); err != nil {
		return err
	}
	if err := worker.release(); err != nil {
		return err
	}
	events, err := worker.events()
	if err != nil {
		return err
	}
	began := map[int64]time.Time{}
	for _, e := range events {
		if e.What == history.Start {
			began[e.Job] = e.Time()
		}
	}
	if f.trial.engine == onPostgres {
		offset = 0 // the server's clock counts
	}
	list, err := allJobs(ctx, f.client)
	after := 0
	for _, job := range list {
		if job.ID <= last {
			continue
		}
		f.uncharged(job)
		if due := job.RunAfter.Add(-offset); began[job.ID].Before(due.Add(-early)) {
			f.wrong("job %d, which was due at %s, began %s before", job.ID, job.RunAfter, due.Sub(began[job.ID]))
		}
		if job.RunAfter.Sub(job.CreatedAt) > 0 {
			after++
		}
	}
	if after == 0 {
		f.wrong("no job of that night was put off")
	}
	f.trial.count(0, 1)
	return err
}

// lastJob returns the highest id of all jobs so far.
func (f *fleet) lastJob(ctx context.Context) (int64, error) {
	list, err := allJobs(ctx, f.client)
	last := int64(0)
	for _, job := range list {
		last = max(last, job.ID)
	}
	return last, err
}
