package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// preciseSleep sleeps in the kernel, whose timers are finer than those that Go's idle scheduler waits on.
func preciseSleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal may end it early: the caller looks at the clock again
}
