package main

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// conclude prints the run's results from the database, and fails when the audit does.
func (d *demo) conclude(ctx context.Context, ids []int64, lost *killedWorker) error {
	all, err := d.list(ctx)
	if err != nil {
		return err
	}
	parsed, err := results(all)
	if err != nil {
		return err
	}
	printThroughput(d.out, all)
	printResults(d.out, parsed)
	if err := d.printFailed(ctx, all); err != nil {
		return err
	}
	failures, err := d.attemptErrors(ctx, all)
	if err != nil {
		return err
	}
	printCrash(d.out, lost, all, failures)
	notes, err := readJournals(d.temp)
	if err != nil {
		return err
	}
	faults := audit(ids, all, failures, notes)
	printAudit(d.out, len(ids), all, repeated(notes), faults)
	if len(faults) > 0 {
		return fmt.Errorf("the audit found %s", plural(len(faults), "fault"))
	}
	return nil
}

// list reads all jobs, page by page.
func (d *demo) list(ctx context.Context) ([]jobs.Job, error) {
	var all []jobs.Job
	filter := inspect.Filter{Limit: inspect.MaxPage}
	for {
		page, err := inspect.New(d.client).List(ctx, filter)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return all, nil
		}
		all = append(all, page...)
		filter.After = page[len(page)-1].ID
	}
}

// attemptErrors reads the failed attempts of every job that did not succeed at its first one.
func (d *demo) attemptErrors(ctx context.Context, all []jobs.Job) (map[int64][]inspect.AttemptEnd, error) {
	failures := map[int64][]inspect.AttemptEnd{}
	for _, job := range all {
		if job.Attempt == 1 && job.Status == jobs.StatusDone {
			continue
		}
		list, err := inspect.New(d.client).Errors(ctx, job.ID)
		if err != nil {
			return nil, err
		}
		failures[job.ID] = list
	}
	return failures, nil
}
