// Package callback calls functions of the application from the library's own goroutines, so that no panic,
// runtime.Goexit or long wait in them reaches a lock, a transaction or a maintenance service.
//
// A [Queue] calls functions in the order in which they were added, one at a time, on a goroutine of its own. [Logger]
// puts a queue before a log handler. [Within] calls one function and waits for its answer for a bounded time; [Clock]
// is such a call for a clock. The package knows nothing of jobs.
package callback
