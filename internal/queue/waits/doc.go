// Package waits wakes the callers of jobs.Client.Wait, thousands of which share one look at their jobs.
package waits
