// Package clock has the timer that a runner waits on for the next due job: it goes by the clock of due times, which may be
// another one than this process's, and is finer than the timers of an idle Go process.
package clock
