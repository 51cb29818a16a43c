package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// preciseSleep sleeps in the kernel, whose timers are finer than the timers of Go's idle scheduler.
func preciseSleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal may end the sleep early: the caller looks at the clock again
}
