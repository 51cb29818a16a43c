// Package jobtype holds the types that package jobs shares with its engines and with package jobs/inspect: errors,
// statuses, causes and an observer's events. Package jobs has all of them under the same names; programs use those.
//
// The package imports nothing of this module except the queue that calls observers.
package jobtype
