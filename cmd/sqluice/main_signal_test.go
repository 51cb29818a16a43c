package main

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestSignals(t *testing.T) {
	type got struct {
		signal os.Signal
		after  time.Duration
		want   stopAction
	}
	for name, list := range map[string][]got{
		"one stop that arrives twice": {{syscall.SIGTERM, 0, stopGently}, {syscall.SIGTERM, time.Millisecond, ignoreSignal}, {os.Interrupt, 900 * time.Millisecond, ignoreSignal}},
		"a manager that repeats":      {{syscall.SIGTERM, 0, stopGently}, {syscall.SIGTERM, 5 * time.Second, sayStopping}, {syscall.SIGTERM, time.Minute, sayStopping}},
		"a person who waits":          {{os.Interrupt, 0, stopGently}, {os.Interrupt, 2 * time.Second, endNow}},
		"a person who loses patience": {{syscall.SIGTERM, 0, stopGently}, {syscall.SIGTERM, 3 * time.Second, sayStopping}, {os.Interrupt, 4 * time.Second, endNow}},
	} {
		var s stopper
		began := time.Now()
		for i, one := range list {
			if have := s.on(one.signal, began.Add(one.after)); have != one.want {
				t.Errorf("%s: signal %d means %d, not %d", name, i+1, have, one.want)
			}
		}
	}
}
