// Package clock has the timer with which a runner waits for the next due job. It follows the clock of due times, which may
// differ from this process's clock, and is finer than the timers of an idle Go process.
package clock
