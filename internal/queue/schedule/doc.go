// Package schedule implements schedules, which enqueue jobs by the clock, as functions over a [db.Querier]: put, pause, resume, run
// at once, and fire due ticks. It keeps no state and starts no goroutine; package maintenance has the service that calls it.
package schedule
