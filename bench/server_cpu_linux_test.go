package main

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Where the kernel tells it to the nanosecond, it is no number of ticks.
func TestProcessorTimeIsPrecise(t *testing.T) {
	precise, ok := onProcessors("/proc/" + strconv.Itoa(os.Getpid()))
	if !ok {
		t.Skip("the kernel has no schedstat")
	}
	if got := (&server{process: os.Getpid()}).cpu(); got < precise || got%(time.Second/ticks) == 0 {
		t.Errorf("this process has used %s, and %s before", got, precise)
	}
}

func TestProcessorTimeInTicks(t *testing.T) {
	if got := ofTicks([]string{"3", "40"}); got != 430*time.Millisecond {
		t.Errorf("43 ticks are %s", got)
	}
	if _, ok := onProcessors(t.TempDir()); ok {
		t.Error("there is a time where there is no schedstat")
	}
}
