// Package stats keeps count of what becomes of jobs.
//
//	transaction that changes jobs --Changes.Write--> sqluice_job_changes --AddUp--> sqluice_job_counts, sqluice_job_history
//	runner's memory: Durations -------------------------------------------^
//
// Each transaction that ends jobs appends what it did to sqluice_job_changes (Changes). That costs one statement and takes no
// lock that other writers wait for. Runners move the rows into sums every few seconds (AddUp), together with how long jobs
// waited and ran (Durations). Readers add what sqluice_job_changes still holds to the sums.
//
// The package knows rows and numbers, no job and no runner. It starts no transaction: callers give it a db.Querier.
package stats
