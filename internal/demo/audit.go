package main

import (
	"fmt"
	"io"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// audit compares the database with the enqueued jobs and with the workers' journals, and returns the differences.
func audit(ids []int64, all []jobs.Job, failures map[int64][]inspect.AttemptEnd, notes account) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }

	rows := map[int64]jobs.Job{}
	for _, job := range all {
		rows[job.ID] = job
	}
	for _, id := range ids {
		if _, ok := rows[id]; !ok {
			fault("job %d was enqueued and is not there", id)
		}
	}
	if len(rows) != len(ids) {
		fault("%d jobs were enqueued, %d are there", len(ids), len(rows))
	}
	for of, n := range notes.began {
		if n > 1 {
			fault("attempt %d of job %d began %d times", of.attempt, of.job, n)
		}
		if rows[of.job].Attempt < of.attempt {
			fault("attempt %d of job %d began, and the database knows of %d", of.attempt, of.job, rows[of.job].Attempt)
		}
	}
	for _, job := range all {
		if job.Status != jobs.StatusDone && job.Status != jobs.StatusFailed {
			fault("job %d is %s", job.ID, job.Status)
			continue
		}
		if n := notes.returned[attempt{job.ID, job.Attempt}]; n != 1 {
			fault("attempt %d of job %d ended the job, and its handler returned %d times", job.Attempt, job.ID, n)
		}
		// Every attempt that counts, except a last one that was done, has failed. So has one that does not count, if its process died before
		// the handler may have started. Others that do not count were handed back unstarted, and have no end.
		ended := len(failures[job.ID])
		if job.Status == jobs.StatusDone {
			ended++
		}
		if counted := job.Counted(); ended < counted || ended > job.Attempt {
			fault("job %d has %d attempts, %d of them count, and %d have an end", job.ID, job.Attempt, counted, ended)
		}
	}
	return faults
}

// repeated counts the jobs whose handler returned in two attempts: the process died between the handler's return and
// the commit of the job's end, so the database never recorded the first one as an end.
func repeated(notes account) int {
	returns := map[int64]int{}
	for of := range notes.returned {
		returns[of.job]++
	}
	n := 0
	for _, times := range returns {
		if times > 1 {
			n++
		}
	}
	return n
}

func printAudit(out io.Writer, enqueued int, all []jobs.Job, repeated int, faults []string) {
	byStatus := map[jobs.Status]int{}
	for _, job := range all {
		byStatus[job.Status]++
	}
	fmt.Fprintf(out, "\nAudit\n  %s enqueued = %s done + %s failed\n",
		count(enqueued), count(byStatus[jobs.StatusDone]), count(byStatus[jobs.StatusFailed]))
	if len(faults) == 0 {
		fmt.Fprintln(out, "  lost: 0; attempts begun twice: 0; jobs completed twice: 0")
	}
	if repeated > 0 {
		fmt.Fprintf(out, "  %s had finished the work when the process died, but not the commit, and so did it again:\n"+
			"  at least once is the promise; a handler that uses jobs.CompleteTx commits both together\n", plural(repeated, "attempt"))
	}
	for i, fault := range faults {
		if i == top {
			fmt.Fprintf(out, "  ... and %d more\n", len(faults)-top)
			break
		}
		fmt.Fprintf(out, "  FAULT: %s\n", fault)
	}
}
