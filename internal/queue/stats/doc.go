// Package stats counts the events of jobs.
//
//	transaction that changes jobs --Changes.Write--> sqluice_job_changes --AddUp--> sqluice_job_counts, sqluice_job_history
//	runner's memory: Durations -------------------------------------------^
//
// Each transaction that ends jobs appends its changes to sqluice_job_changes (Changes). That costs one statement and takes no
// lock that other writers wait for. Runners add the rows to sums every few seconds (AddUp), together with the times for which
// jobs waited and ran (Durations). Readers add the remaining rows of sqluice_job_changes to the sums.
//
// The package knows rows and numbers, no job and no runner. It starts no transaction: callers give it a db.Querier.
package stats
