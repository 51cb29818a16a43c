// Package schedule has the life of schedules, which enqueue jobs by the clock, as functions over a [db.Querier]: put, pause, resume,
// run at once, and fire what is due. It keeps no state and starts no goroutine; package maintenance has the service that calls it.
package schedule
