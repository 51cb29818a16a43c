package main

import (
	"fmt"
	"io"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// printCrash prints, from the database alone, the fate of the killed worker's jobs.
func printCrash(out io.Writer, lost *killedWorker, all []jobs.Job, failures map[int64][]inspect.AttemptEnd) {
	fmt.Fprintln(out, "\nCrash")
	if lost == nil {
		fmt.Fprintln(out, "  no worker was caught holding jobs before all had ended; try a larger folder")
		return
	}
	crashed, restarted := 0, 0
	var noticed, fastest, slowest time.Duration
	for _, job := range all {
		for _, e := range failures[job.ID] {
			if e.Cause != jobs.CauseCrash {
				continue
			}
			crashed++
			noticed = max(noticed, e.EndedAt.Sub(lost.at))
			if job.Attempt != e.Attempt+1 {
				continue // the row has only the last attempt's start
			}
			again := job.StartedAt.Sub(lost.at)
			if restarted == 0 || again < fastest {
				fastest = again
			}
			slowest = max(slowest, again)
			restarted++
		}
	}
	fmt.Fprintf(out, "  %s was killed while it held %s; sqluice_job_errors has %s\n",
		lost.worker, plural(lost.runningJobs, "job"), plural(crashed, "crash row"))
	fmt.Fprintf(out, "  noticed %s after the kill, by the lock that the kernel had released\n", milliseconds(noticed))
	fmt.Fprintf(out, "  %s picked up: running again %s to %s after the kill\n",
		plural(restarted, "job"), milliseconds(fastest), milliseconds(slowest))
}

func milliseconds(d time.Duration) string { return d.Round(time.Millisecond).String() }
