package main

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Where the kernel reports the time to the nanosecond, it is no multiple of a tick.
func TestProcessorTimeIsPrecise(t *testing.T) {
	precise, ok := onProcessors("/proc/" + strconv.Itoa(os.Getpid()))
	if !ok {
		t.Skip("the kernel has no schedstat")
	}
	if got := (&server{process: os.Getpid()}).cpu(); got < precise || got%(time.Second/ticks) == 0 {
		t.Errorf("this process has used %s, and %s before", got, precise)
	}
}

// The time of a process is not lost when it ends, however close to a reading.
func TestProcessorTimeOfEnded(t *testing.T) {
	s := &server{process: os.Getpid()}
	last := s.cpu()
	for range 20 {
		child := exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		for running := true; running; {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
			}
			// The kernel reports the time of ended processes in whole ticks, of the user and of the system.
			now := s.cpu()
			if now < last-2*time.Second/ticks {
				t.Fatalf("the processes have used %s, and %s before", now, last)
			}
			last = max(now, last)
		}
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
