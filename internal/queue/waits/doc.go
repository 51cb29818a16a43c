// Package waits wakes the callers of jobs.Client.Wait. Thousands of them share one look at their jobs.
package waits
